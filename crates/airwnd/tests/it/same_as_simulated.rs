//! The engine's TCP endpoints at the ends of a path are the simulated flow, to the packet.

use airwnd::{Datagram, Ecn, Endpoint, FlowOptions, Pair, Path, Protocol, Received, Scenario, Transmit};
use airwnd_tcp::{Config, EndpointSetup, Segment, Seq};
use airwnd_units::{Span, Time};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// End of the default warm-up.
const BEGIN: Time = Time(500_000_000);

/// An endpoint of the engine's TCP. Datagrams carry the index of their segment.
struct Tcp {
    endpoint: airwnd_tcp::Endpoint,
    segments: Rc<RefCell<Vec<Segment>>>,
    timer: Option<Time>,
}

impl Tcp {
    fn at(now: Duration) -> Time {
        BEGIN + Span(now.as_nanos() as u64)
    }
}

impl Endpoint for Tcp {
    fn poll_transmit(&mut self, now: Duration) -> Option<Transmit> {
        let Some(segment) = self.endpoint.poll_transmit(Tcp::at(now)) else {
            let due = self.endpoint.next_timeout();
            // A simulated flow keeps an earlier timer that has become superfluous.
            if let Some(due) = due.filter(|due| self.timer.is_none_or(|armed| *due < armed)) {
                self.timer = Some(due.max(Tcp::at(now)));
            }
            return None;
        };
        let mut segments = self.segments.borrow_mut();
        segments.push(segment);
        let size = segment.wire_bytes().0 as usize;
        let datagram = Datagram::of_size(size).with_tag(segments.len() as u64 - 1);
        Some(Transmit { datagram, ecn: segment.ecn })
    }

    fn handle(&mut self, now: Duration, received: Received) {
        let mut segment = self.segments.borrow()[received.datagram.tag() as usize];
        segment.ecn = received.ecn;
        self.endpoint.on_segment(Tcp::at(now), &segment);
    }

    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        self.timer.map(|timer| Duration::from_nanos(timer.since(BEGIN).0))
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.timer = None;
        self.endpoint.on_timeout(Tcp::at(now));
    }

    fn received(&self) -> u64 {
        self.endpoint.bytes_received().0
    }

    fn retransmissions(&self) -> u64 {
        self.endpoint.stats().retransmissions
    }
}

fn compare(text: &str) {
    let beside = "[[flow]]\nue = \"others\"\nid = \"beside\"\n";
    // The owner sends before the simulated flows that begin at the same time.
    let whole = format!("{text}[[flow]]\nue = \"phone\"\ncc = \"newreno\"\nrwnd = \"fixed\"\n{beside}");
    let checked =
        airwnd_lab::Scenario::from_node(&airwnd_catalog::Node::from_toml(&whole, "whole").unwrap()).unwrap();
    let spec = &checked.flow[0];
    let config: Arc<Config> = Arc::new(checked.tcp.for_flow(&spec.tcp, &spec.cc).unwrap());
    let plain = airwnd_rwnd::Spec::Fixed(Default::default());
    let idle = airwnd_tcp::cc::Spec::Newreno(Default::default());
    let segments = Rc::default();
    let tcp = |cc, rwnd, peer_rwnd| {
        let setup = EndpointSetup {
            config: &config,
            cc,
            rwnd,
            peer_rwnd,
            iss: Seq(0),
            seed: 0,
            identity: Default::default(),
        };
        Tcp { endpoint: airwnd_tcp::Endpoint::new(&setup), segments: Rc::clone(&segments), timer: None }
    };
    let (mut server, mut ue) = (tcp(&spec.cc, &plain, &spec.rwnd), tcp(&idle, &spec.rwnd, &plain));
    ue.endpoint.read_at_once(true);
    ue.endpoint.listen();
    server.endpoint.connect();
    server.endpoint.write_endlessly();

    let alone = Scenario::from_toml(&format!("{text}{beside}")).unwrap();
    let mut path = Path::new(&alone, 1).unwrap();
    let flow = path.open(path.ue("phone").unwrap(), FlowOptions::ip(Protocol::Tcp)).unwrap();
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], alone.duration()).unwrap();
    let owned = path.finish().unwrap();
    let simulated = Scenario::from_toml(&whole).unwrap().run(1).unwrap();

    let rows = |outcome: &airwnd::Outcome| {
        let (beside, own): (Vec<_>, _) =
            outcome.flows().iter().cloned().partition(|row| row.group == "beside");
        let [row]: [_; 1] = own.try_into().unwrap();
        let packets = [row.packets_sent, row.packets_received, row.packets_dropped, row.retransmissions];
        (format!("{beside:?}"), packets, row.goodput_kbps, row.delay_ms)
    };
    let [owned_rows, simulated_rows] = [&owned, &simulated].map(rows);
    assert!(owned_rows.1[0] > 500 && owned_rows.1[2] > 0, "{owned_rows:?}");
    assert_eq!(owned_rows, simulated_rows);
    assert_eq!(format!("{:?}", owned.cells()), format!("{:?}", simulated.cells()));
    assert_eq!(format!("{:?}", owned.links()), format!("{:?}", simulated.links()));
}

const UES: &str = "[[ue]]\nname = \"others\"\ncount = 2\n[[ue]]\nname = \"phone\"\n";

#[test]
fn tcp_over_a_path_through_a_cell_is_the_simulated_flow() {
    compare(&format!(
        "duration = \"8s\"\nrlc.queue = {{ kind = \"drop-tail\", buffer = \"60kB\" }}\n[[site]]\n{UES}"
    ));
}

#[test]
fn tcp_over_a_path_through_links_is_the_simulated_flow() {
    let link = "[[link]]\nrate = \"6Mbps\"\ndelay = \"15ms\"\nqueue = 20\nloss = { kind = \"packet-error\", rate = 0.001 }\n";
    compare(&format!("duration = \"8s\"\n{link}{UES}"));
}

/// The ECN field is marked on the way, and the marks reach the endpoint.
#[test]
fn marks_of_a_queue_reach_the_owner() {
    let scenario = Scenario::from_toml(
        "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\ndelay = \"5ms\"\naqm = { kind = \"codel\", ecn = true }\n[[ue]]\n",
    )
    .unwrap();
    let mut path = Path::new(&scenario, 1).unwrap();
    let flow = path.open(path.ue("ue").unwrap(), FlowOptions::udp()).unwrap();
    for _ in 0..100 {
        path.send(Duration::ZERO, flow.server(), Datagram::of_size(1200), Ecn::Ect0).unwrap();
    }
    let (end, mut marked) = (Duration::from_secs(2), 0);
    while path.advance(end).unwrap() < end {
        while let Some(event) = path.poll() {
            marked += u32::from(event.ecn == Ecn::Ce);
            assert_eq!(event.marked_at.is_some(), event.ecn == Ecn::Ce);
            // CoDel marks a packet that leaves the queue: transmission and propagation follow.
            let rest = Duration::from_millis(5) + Duration::from_nanos(1230 * 8000);
            assert!(event.marked_at.is_none_or(|marked_at| event.at - marked_at == rest), "{event:?}");
        }
    }
    assert!(marked > 0);
}

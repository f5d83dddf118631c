//! The loop that connects endpoints.

use airwnd::{
    Cbr, Datagram, Ecn, Endpoint, FlowOptions, Pair, Path, PathError, Received, Scenario, Transmit, Trial,
    TrialError, Ue,
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn wire() -> Scenario {
    Scenario::from_toml(
        "duration = \"2s\"\n[[link]]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n[[ue]]\nname = \"phone\"\ncount = 2\n",
    )
    .unwrap()
}

/// Flows of several UEs and several flows of a UE share the link, up and down.
#[test]
fn pairs_run_side_by_side() {
    let mut path = Path::new(&wire(), 1).unwrap();
    let flows = [0, 0, 1].map(|ue| path.open(Ue(ue), FlowOptions::udp()).unwrap());
    let mut receivers = [(); 3].map(|()| Cbr::receiver());
    let mut senders = [800, 400, 200].map(|rate| Cbr::sender(rate, 100));
    let [ref mut a, ref mut b, ref mut c] = receivers;
    let [ref mut d, ref mut e, ref mut f] = senders;
    let mut pairs = [
        Pair { flow: flows[0], ue: a, server: d },
        Pair { flow: flows[1], ue: b, server: e },
        Pair { flow: flows[2], ue: f, server: c },
    ];
    path.run(&mut pairs, SECOND).unwrap();
    assert_eq!(path.now(), SECOND);
    let outcome = path.finish().unwrap();
    let rows: Vec<(u32, u64)> = outcome.flows().iter().map(|row| (row.ue, row.packets_sent)).collect();
    // One packet at time 0, then one per interval, the last at the end.
    assert_eq!(rows, [(0, 1001), (0, 501), (1, 251)]);
    // The packets of the last 30 ms, of link and core network, and of 0.1 ms are inside.
    assert_eq!(receivers.map(|end| end.received() / 100), [970, 485, 243]);
}

#[test]
fn runs_continue() {
    let run = |steps: &[u64]| {
        let mut path = Path::new(&wire(), 1).unwrap();
        let flow = path.open(Ue(0), FlowOptions::udp()).unwrap();
        let (mut ue, mut server) = (Cbr::receiver(), Cbr::sender(9000, 1000));
        for step in steps {
            let end = Duration::from_millis(*step);
            path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], end).unwrap();
        }
        path.finish().unwrap().to_json()
    };
    assert_eq!(run(&[1500]), run(&[1, 2, 777, 1500]));
}

/// An endpoint that never ends what it does.
struct Endless {
    sends: bool,
}

impl Endpoint for Endless {
    fn poll_transmit(&mut self, _: Duration) -> Option<Transmit> {
        self.sends.then(|| Transmit { datagram: Datagram::of_size(1), ecn: Ecn::NotEct })
    }
    fn handle(&mut self, _: Duration, _: Received) {}
    fn timeout(&mut self, _: Duration) -> Option<Duration> {
        Some(Duration::ZERO)
    }
    fn handle_timeout(&mut self, _: Duration) {}
}

#[test]
fn an_endpoint_without_end_is_an_error() {
    for sends in [false, true] {
        let mut path = Path::new(&wire(), 1).unwrap();
        let flow = path.open(Ue(0), FlowOptions::udp()).unwrap();
        let (mut ue, mut server) = (Cbr::receiver(), Endless { sends });
        let error = path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], SECOND).unwrap_err();
        assert!(matches!(error, PathError::Stuck { at: Duration::ZERO, .. }), "{error}");
    }
}

#[test]
fn a_trial_measures_what_was_received_and_the_queue() {
    // 12 Mbit/s into 10: the queue of 100 packets is full, and a sixth is dropped.
    let scenario = wire().with("link[0].queue", "100").unwrap();
    let report =
        Trial::new(&scenario).seeds(1..=2).run(|_| (Cbr::receiver(), Cbr::sender(12_000, 972))).unwrap();
    // Payload share of packets with 28 bytes of headers and 2 bytes of framing.
    report.goodput_kbps().assert_at_most(10_000.0 * 972.0 / 1002.0);
    report.goodput_kbps().assert_at_least(9500.0);
    let full = 101.0 * 1002.0 * 8.0 / 10_000.0;
    report.queueing_delay_ms_p95().assert_at_least(0.97 * full);
    report.queueing_delay_ms_p95().assert_at_most(1.03 * full);
    report.loss_percent().assert_at_least(12.0);
    let error = report.goodput_kbps().is_at_least(10_000.0).unwrap_err();
    assert!(error.starts_with("goodput should be at least 10000 kbit/s, but is "), "{error}");
}

#[test]
fn a_trial_names_the_seed_and_the_unknown_ue() {
    let error = Trial::new(&wire()).ue("tablet").run(|_| (Cbr::receiver(), Cbr::receiver())).unwrap_err();
    assert_eq!(error.to_string(), "seed 1: there is no UE `tablet`; UEs: phone-0, phone-1");
    let error: TrialError = Scenario::from_toml("duration = 1").unwrap_err().into();
    assert!(error.to_string().starts_with("scenario:1: duration: "), "{error}");
}

#[test]
fn an_end_beyond_a_year_or_before_the_present_is_refused_at_once() {
    let mut path = Path::new(&wire(), 1).unwrap();
    let flow = path.open(Ue(0), FlowOptions::udp()).unwrap();
    path.advance(SECOND).unwrap();
    let mut run = |end| {
        let (mut ue, mut server) = (Cbr::receiver(), Cbr::sender(100, 100));
        path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], end)
    };
    assert_eq!(run(Duration::MAX), Err(PathError::TimeTooLarge(Duration::MAX)));
    assert_eq!(run(SECOND / 2), Err(PathError::TimeWentBack { to: SECOND / 2, now: SECOND }));
    let options = FlowOptions::udp().with_dscp(64);
    assert_eq!(path.open(Ue(0), options), Err(PathError::UnknownCodePoint(64)));
}

#[test]
fn counts_of_any_size_have_a_sum() {
    let mut path = Path::new(&wire(), 1).unwrap();
    for _ in 0..64 {
        let flow = path.open(Ue(0), FlowOptions::udp()).unwrap();
        for end in [flow.ue(), flow.server()] {
            path.set_received(end, u64::MAX).unwrap();
            path.set_retransmissions(end, u64::MAX).unwrap();
            path.record_rtt(end, Duration::MAX).unwrap();
        }
    }
    path.advance(SECOND).unwrap();
    assert!(path.finish().unwrap().totals().retransmissions > 1 << 44);
}

#[test]
fn a_sender_has_any_rate_and_size() {
    let mut slow = Cbr::sender(1, usize::MAX);
    assert!(slow.poll_transmit(Duration::ZERO).is_some());
    assert_eq!(slow.timeout(Duration::ZERO), Some(Duration::from_nanos(u64::MAX)));
}

//! A simulation in step with an outside clock, and the frames that it carries.

use airwnd_catalog::Node;
use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::{
    Exit, Fate, FlowRow, Frame, Live, Outcome, Protocol, RealUe, Records, Scenario, Signature, Socket, run,
};
use airwnd_units::{Bytes, Span, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CELL: &str = r#"
duration = "1s"
[[site]]
[[ue]]
count = 3
placement = {kind = "disc", radius = "500m"}
[[flow]]
id = "bulk"
[[flow]]
id = "pages"
traffic = {kind = "web"}
[[flow]]
id = "short"
traffic = {kind = "transfer", size = "20kB"}
arrivals = {kind = "poisson", rate = 4}
"#;

/// UEs sleep after a few milliseconds, and are released after some more.
const SLEEP: &str = r#"
mac.drx = {inactivity = "5ms", cycle = "80ms"}
rrc = {inactivity = "100ms", promotion = "20ms", paging_cycle = "50ms"}
"#;

const WIRE: &str = r#"
duration = "1s"
core = {server_rate = "0bps", server_delay = "0ms"}
[[link]]
rate = "10Mbps"
delay = "10ms"
queue = 20
[[ue]]
count = 2
[[flow]]
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(text, "test").unwrap()).unwrap()
}

fn records() -> Records {
    Records { series: Some(Span::from_millis(50)), ..Records::default() }
}

fn real(ue: u32) -> RealUe {
    RealUe { ue, keeps_flows: false }
}

/// Rows of the flows. A connection that has ended is limited by its application until the end of the run, which a live
/// simulation does not know in advance.
fn rows(outcome: &Outcome) -> String {
    let rows = outcome.flows().iter().map(|row| FlowRow { limited_s: None, ..row.clone() });
    format!("{:?}", rows.collect::<Vec<_>>())
}

fn open(live: &mut Live<'_>, now: Time, ue: u32, protocol: Protocol) -> u32 {
    live.open(now, ue, Direction::Up, &Signature::of(protocol), ["a".into(), "b".into()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Without frames a live simulation in steps of any size is the simulation.
    #[test]
    fn steps_do_not_change_the_simulated_flows(
        steps in proptest::collection::vec(1_u64..200_000_000, 1..40),
        sleeps in any::<bool>(),
    ) {
        let scenario = scenario(&if sleeps { format!("{SLEEP}{CELL}") } else { CELL.into() });
        let whole = run(&scenario, 3, records().series, &mut |_| true).unwrap();
        let mut live = Live::new(&scenario, 3, &records(), &[], None).unwrap();
        let end = live.begin() + scenario.duration();
        let mut now = Time::ZERO;
        for step in steps {
            now = (now + Span(step)).min(end);
            live.advance(now).unwrap();
        }
        live.advance(end).unwrap();
        let outcome = live.finish();
        prop_assert_eq!(rows(&outcome), rows(&whole));
        prop_assert_eq!(format!("{:?}", outcome.cells()), format!("{:?}", whole.cells()));
        prop_assert_eq!(format!("{:?}", outcome.series()), format!("{:?}", whole.series()));
    }

    /// Every frame leaves once or stays inside, with its number and flow, in both kinds of network.
    #[test]
    fn frames_are_delivered_dropped_or_inside(
        frames in proptest::collection::vec((0_u64..3_000_000, 20_u64..9000, any::<bool>(), 0_usize..2), 1..400),
        has_cells in any::<bool>(),
        sleeps in any::<bool>(),
        duplicates in any::<bool>(),
    ) {
        let sleep = if has_cells && sleeps { SLEEP } else { "" };
        let wire = match duplicates {
            true => WIRE.replace("[[link]]", "[[link]]\nduplicate = {probability = 0.5}\njitter = {time = \"3ms\"}"),
            false => WIRE.into(),
        };
        let scenario = scenario(&format!("{sleep}{}", if has_cells { CELL } else { &wire }));
        let ues = [real(0), real(1)];
        let mut live = Live::new(&scenario, 1, &Records::default(), &ues, None).unwrap();
        let mut now = live.begin();
        live.advance(now).unwrap();
        let flows = [0, 1].map(|ue| open(&mut live, now, ue, Protocol::Udp));
        let mut inside = BTreeMap::new();
        let settle = |live: &mut Live<'_>, inside: &mut BTreeMap<u32, (Frame, u32)>| {
            for exit in live.exits() {
                let (frame, copies) = inside.get_mut(&exit.number).expect("it entered and did not leave before");
                match exit.fate {
                    Fate::Copied => *copies += 1,
                    Fate::Delivered | Fate::Dropped(_) => *copies -= 1,
                }
                let (frame, copies) = (*frame, *copies);
                if copies == 0 {
                    inside.remove(&exit.number);
                }
                assert_eq!((exit.flow, exit.direction), (frame.flow, frame.direction));
                assert!(exit.sent_at <= exit.at);
            }
        };
        for (number, (wait, size, is_down, ue)) in frames.into_iter().enumerate() {
            now += Span(wait);
            live.advance(now).unwrap();
            settle(&mut live, &mut inside);
            let direction = if is_down { Direction::Down } else { Direction::Up };
            let ecn = Codepoint::NotEct;
            let frame = Frame { number: number as u32, flow: flows[ue], direction, size: Bytes(size), ecn };
            inside.insert(frame.number, (frame, 1));
            live.send(now, frame);
        }
        now += Span::from_millis(5);
        live.advance(now).unwrap();
        settle(&mut live, &mut inside);
        // Checks that what was offered or copied is delivered, dropped or inside.
        let outcome = live.finish();
        let left: u32 = inside.values().map(|(_, copies)| copies).sum();
        let bytes = outcome.to_json()["conservation"]["inside_bytes"].as_u64().unwrap();
        prop_assert_eq!(bytes == 0, left == 0);
    }
}

/// In a cell that is idle between frames, each frame to the UE leaves in one of its on-durations, 10 of 320 ms; a frame
/// from the UE does not wait.
#[test]
fn a_frame_waits_for_a_sleeping_ue() {
    let text = "duration = \"1s\"\nradio.fading = \"none\"\nmac.drx.short_cycle = \"none\"\n[[site]]\n[[ue]]\n\
                placement = {kind = \"ring\", radius = \"200m\"}\n";
    let scenario = scenario(text);
    let mut live = Live::new(&scenario, 1, &Records::default(), &[real(0)], None).unwrap();
    let mut now = live.begin();
    live.advance(now).unwrap();
    let flow = open(&mut live, now, 0, Protocol::Udp);
    let mut phases = Vec::new();
    for number in 0..40 {
        // The inactivity timer has expired by then.
        let direction = if number % 4 == 3 { Direction::Up } else { Direction::Down };
        live.send(now, Frame { number, flow, direction, size: Bytes(100), ecn: Codepoint::NotEct });
        now += Span::from_millis(601);
        live.advance(now).unwrap();
        let exits: Vec<Exit> = live.exits().collect();
        assert_eq!(exits.len(), 1, "frame {number}");
        let taken = exits[0].at - exits[0].sent_at;
        match direction {
            Direction::Up => assert!(taken < Span::from_millis(40), "{taken}"),
            Direction::Down => phases.push(exits[0].at.0 % 320_000_000),
        }
    }
    phases.sort_unstable();
    let wrapped = phases[0] + 320_000_000;
    let widest =
        phases.windows(2).map(|pair| pair[1] - pair[0]).chain([wrapped - phases[phases.len() - 1]]).max();
    assert!(widest.unwrap() >= 309_000_000, "{phases:?}");
}

#[test]
fn a_frame_takes_the_time_of_the_link_and_is_measured_in_both_directions() {
    let scenario = scenario(WIRE);
    let mut live = Live::new(&scenario, 1, &records(), &[real(0), real(1)], None).unwrap();
    let begin = live.begin();
    live.advance(begin).unwrap();
    let flow = open(&mut live, begin, 0, Protocol::Tcp);
    let frame =
        |number, direction, size| Frame { number, flow, direction, size: Bytes(size), ecn: Codepoint::Ect0 };
    live.send(begin, frame(7, Direction::Up, 40));
    live.send(begin, frame(8, Direction::Down, 1248));
    // 10 ms, and 42 or 1250 bytes with their framing at 10 Mbit/s.
    let expected = [(7, Span(10_033_600)), (8, Span(11_000_000))];
    for (number, at) in expected {
        let due = live.next_event().unwrap();
        live.advance(due.max(begin + at)).unwrap();
        let exits: Vec<Exit> = live.exits().collect();
        let Exit { at: left, fate, ecn, .. } = exits[0];
        assert_eq!((exits[0].number, left), (number, begin + at));
        assert_eq!((fate, ecn), (Fate::Delivered, Codepoint::Ect0));
    }
    live.set_payload(flow, Direction::Down, Bytes(1208));
    live.record_rtt(flow, Direction::Down, Span::from_millis(22));
    live.count_retransmission(flow, Direction::Down);
    let socket = Socket { cwnd: Bytes(14_480), srtt: Some(Span::from_millis(22)), ..Socket::default() };
    live.set_socket(begin + Span::from_millis(12), flow, Direction::Down, socket, Some("cubic"));
    live.advance(begin + Span::from_millis(100)).unwrap();
    live.set_socket(begin + Span::from_millis(100), flow, Direction::Down, socket, Some("cubic"));
    live.close(flow);
    let outcome = live.finish();
    let row = &outcome.flows()[flow as usize];
    assert_eq!((row.id.as_str(), row.kind.as_str(), row.cc.as_deref()), ("real-0", "tcp", Some("cubic")));
    // The data flows down, although the first packet went up.
    assert_eq!((row.packets_sent, row.packets_received, row.retransmissions), (1, 1, 1));
    assert_eq!(row.goodput_kbps, 1208.0 * 8.0 / 100.0);
    assert_eq!(row.rtt_ms.mean, Some(22.0));
    assert_eq!(outcome.connections().len(), 1);
    let (sockets, rows) = (&outcome.into_tables()[4], 2);
    assert_eq!(sockets.0, "sockets");
    let cwnd = &sockets.1.iter().find(|(name, _)| name == "cwnd_bytes").unwrap().1;
    assert_eq!(*cwnd, airwnd_lab::Column::F64(vec![14_480.0; rows]));
}

#[test]
fn flows_of_real_ues_are_left_out_unless_they_are_kept() {
    let scenario = scenario(WIRE);
    let flows = |real: &[RealUe]| {
        let live = Live::new(&scenario, 1, &Records::default(), real, None).unwrap();
        live.finish().flows().iter().map(|flow| flow.ue).collect::<Vec<_>>()
    };
    assert_eq!(flows(&[]), [0, 1]);
    assert_eq!(flows(&[real(0)]), [1]);
    assert_eq!(flows(&[RealUe { ue: 0, keeps_flows: true }]), [0, 1]);
}

#[test]
fn a_full_queue_drops_frames_with_their_cause() {
    let scenario = scenario(WIRE);
    let mut live = Live::new(&scenario, 1, &Records::default(), &[real(0), real(1)], None).unwrap();
    let now = live.begin();
    live.advance(now).unwrap();
    let flow = open(&mut live, now, 0, Protocol::Udp);
    for number in 0..30 {
        let (direction, ecn) = (Direction::Down, Codepoint::NotEct);
        live.send(now, Frame { number, flow, direction, size: Bytes(1500), ecn });
    }
    live.advance(now + Span::from_millis(100)).unwrap();
    let fates: Vec<Fate> = live.exits().map(|exit| exit.fate).collect();
    let dropped = fates.iter().filter(|fate| matches!(fate, Fate::Dropped(_))).count();
    // 20 wait and one is in transmission.
    assert_eq!((fates.len(), dropped), (30, 9));
}

#[test]
fn a_live_simulation_needs_no_flows_but_a_run_does() {
    let bare = WIRE.replace("[[flow]]\n", "");
    let scenario = scenario(&bare);
    let error = run(&scenario, 1, None, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("there are no flows; add [[flow]]"), "{error}");
    let mut live = Live::new(&scenario, 1, &Records::default(), &[real(0)], None).unwrap();
    live.advance(live.begin() + Span::from_secs(1)).unwrap();
    assert!(live.finish().flows().is_empty());
}

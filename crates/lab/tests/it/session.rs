//! A simulation that its owner advances, observes and steers.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Records, Scenario, Session, run};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// Handover, several kinds of traffic, and connections that end.
const CELLS: &str = r#"
duration = "2s"
warmup = "300ms"
mac.scheduler = "pf"
[[site]]
[[site]]
position = ["400m", "0m"]
[[ue]]
count = 4
placement = {kind = "disc", radius = "300m"}
[[flow]]
id = "bulk"
rwnd = "drwa"
[[flow]]
id = "pages"
traffic = {kind = "web"}
[[flow]]
id = "short"
traffic = {kind = "transfer", size = "20kB"}
arrivals = {kind = "poisson", rate = 4}
[[flow]]
id = "up"
direction = "up"
traffic = "cbr"
"#;

const WIRE: &str = r#"
duration = "4s"
core = {server_rate = "0bps", server_delay = "0ms"}
[[link]]
rate = "10Mbps"
delay = "10ms"
queue = 1000
[[ue]]
[[flow]]
id = "tcp"
cc = "fixed"
rwnd = "fixed"
[[flow]]
id = "udp"
traffic = {kind = "cbr", rate = "1Mbps"}
start = "3900ms"
"#;

/// Two UEs at the same place, with more to receive than the cell can carry.
const PAIR: &str = r#"
duration = "4s"
mac.scheduler = "pf"
[[site]]
[[ue]]
count = 2
placement = {kind = "ring", radius = "100m"}
[[flow]]
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::from_node(&Node::from_toml(text, "test").unwrap()).unwrap()
}

/// A session at the end of its warm-up.
fn session(text: &str) -> Session<'static> {
    let mut session = Session::new(scenario(text), 1, &Records::default()).unwrap();
    session.advance(session.begin()).unwrap();
    session
}

fn after(session: &mut Session<'_>, millis: u64) {
    session.advance(session.now() + Span::from_millis(millis)).unwrap();
}

/// All results as text: missing values of a series are NaN, which compares equal as text only.
fn all(outcome: Outcome) -> String {
    format!("{} {:?}", outcome.to_json(), outcome.into_tables())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    /// Steps of any length, and reading the state in between, change nothing.
    #[test]
    fn steps_have_the_results_of_a_run(steps in prop::collection::vec(1_u64..200_000_000, 5..40), seed in 1_u64..4) {
        let records = Records { series: Some(Span::from_millis(50)), ..Records::default() };
        let whole = run(&scenario(CELLS), seed, records.series, &mut |_| true).unwrap();
        let mut session = Session::new(scenario(CELLS), seed, &records).unwrap();
        for step in steps {
            session.advance(session.end().min(session.now() + Span(step))).unwrap();
            (0..session.flows()).for_each(|flow| assert!(session.flow(flow).packets[1] < 1 << 40));
            (0..session.ues()).for_each(|ue| assert!(session.ue(ue).cell.is_some()));
        }
        session.advance(session.end()).unwrap();
        prop_assert_eq!(all(session.finish()), all(whole));
    }
}

#[test]
fn views_agree_with_results() {
    let mut session = session(CELLS);
    session.advance(session.end()).unwrap();
    let views: Vec<_> =
        (0..session.flows()).map(|flow| (session.flow_id(flow), session.flow(flow))).collect();
    let begin = session.begin();
    let outcome = session.finish();
    assert_eq!(views.len(), outcome.flows().len());
    assert_eq!(begin, Time(300_000_000));
    for ((id, view), row) in views.iter().zip(outcome.flows()) {
        assert_eq!(
            (id, view.packets),
            (&row.id, [row.packets_sent, row.packets_received, row.packets_dropped])
        );
        assert_eq!(view.goodput.bits() as f64 / 2.0 / 1e3, row.goodput_kbps, "{id}");
        assert_eq!((view.retransmissions, view.timeouts), (row.retransmissions, row.timeouts), "{id}");
        let mean = row.delay_ms.mean.unwrap_or_default();
        let sum = view.delays.as_secs() * 1e3;
        assert!(
            (sum - mean * view.packets[1] as f64).abs() < 1e-3 * (1.0 + sum),
            "{id}: {sum} ms, mean {mean} ms"
        );
    }
}

#[test]
fn a_sender_follows_the_window_that_is_set() {
    let mut session = session(WIRE);
    session.set_cwnd(0, Bytes(10_000)).unwrap();
    after(&mut session, 1000);
    let before = session.flow(0);
    assert!(before.tcp.unwrap().in_flight <= Bytes(10_000));
    session.set_cwnd(0, Bytes(100_000)).unwrap();
    // It sends at once, not at the next ACK.
    assert!(session.flow(0).packets[0] > before.packets[0] + 50);
    after(&mut session, 1000);
    // Four times the BDP: the link is full, and the RTT that of the window.
    let after = session.flow(0);
    assert!(after.goodput.0 - before.goodput.0 > 1_100_000, "{after:?}");
    assert!((after.tcp.unwrap().srtt.unwrap().as_millis() - 83.0).abs() < 5.0, "{after:?}");
}

#[test]
fn a_pacing_rate_limits_a_fixed_window() {
    let mut session = session(WIRE);
    session.set_cwnd(0, Bytes(100_000)).unwrap();
    session.set_pacing_rate(0, Some(BitRate(4_000_000))).unwrap();
    after(&mut session, 1000);
    let before = session.flow(0).goodput;
    after(&mut session, 1000);
    let rate = (session.flow(0).goodput - before).bits();
    assert!(rate.abs_diff(4_000_000) < 40_000, "{rate}");
}

#[test]
fn a_receiver_offers_the_window_that_is_set() {
    let mut session = session(WIRE);
    session.set_cwnd(0, Bytes(1_000_000)).unwrap();
    session.set_rwnd(0, Bytes(20_000)).unwrap();
    after(&mut session, 500);
    assert!(session.flow(0).tcp.unwrap().in_flight <= Bytes(20_480), "{:?}", session.flow(0));
    session.set_rwnd(0, Bytes(60_000)).unwrap();
    after(&mut session, 15);
    // The larger window has been announced by an ACK of its own.
    assert!(session.flow(0).tcp.unwrap().rwnd > Bytes(55_000), "{:?}", session.flow(0));
    after(&mut session, 500);
    assert!(session.flow(0).tcp.unwrap().in_flight > Bytes(55_000));
    session.set_rwnd(0, Bytes(0)).unwrap();
    after(&mut session, 500);
    let (sent, in_flight) = (session.flow(0).packets[0], session.flow(0).tcp.unwrap().in_flight);
    assert_eq!(in_flight, Bytes(0), "nothing beyond what was offered");
    session.set_rwnd(0, Bytes(60_000)).unwrap();
    after(&mut session, 100);
    assert!(session.flow(0).packets[0] > sent + 30, "a closed window opens again");
}

#[test]
fn a_source_follows_the_rate_that_is_set() {
    let mut session = session(&WIRE.replace("3900ms", "0s"));
    session.set_cwnd(0, Bytes(3_000)).unwrap();
    after(&mut session, 1000);
    let first = session.flow(1).goodput;
    session.set_rate(1, BitRate(2_000_000)).unwrap();
    after(&mut session, 1000);
    let second = session.flow(1).goodput - first;
    assert!(first.0.abs_diff(125_000) < 5_000 && second.0.abs_diff(250_000) < 5_000, "{first:?} {second:?}");
}

#[test]
fn a_weight_is_a_share_of_the_cell() {
    for (sched, weighs) in [("pf", true), ("bet", true), ("rr", false), ("mt", false)] {
        let mut session = session(&PAIR.replace("\"pf\"", &format!("\"{sched}\"")));
        let set = session.set_weight(0, 3.0);
        assert_eq!(set.is_ok(), weighs, "{sched}: {set:?}");
        after(&mut session, 2000);
        let before = [0, 1].map(|flow| session.flow(flow).goodput.0);
        after(&mut session, 2000);
        let gained = [0, 1].map(|flow| (session.flow(flow).goodput.0 - before[flow as usize]) as f64);
        let ratio = gained[0] / gained[1];
        let expected = if weighs {
            3.0
        } else if sched == "mt" {
            return;
        } else {
            1.0
        };
        assert!((ratio / expected - 1.0).abs() < 0.15, "{sched}: {ratio}");
    }
}

#[test]
fn rates_of_shapers_apply_at_once() {
    let mut session = session(
        &WIRE.replace("[[ue]]", "[[ue]]\nshaper.rates = \"fixed\"").replace("start = \"3900ms\"\n", ""),
    );
    session.set_rate(1, BitRate(4_000_000)).unwrap();
    let gained = |session: &mut airwnd_lab::Session<'_>, rate: Option<u64>| {
        session.set_shaper(0, [rate.map(BitRate), None]).unwrap();
        let before = session.flow(1).goodput;
        after(session, 1000);
        (session.flow(1).goodput - before).bits() as f64 / 1e6
    };
    let free = gained(&mut session, None);
    assert!((free - 4.0).abs() < 0.2, "{free}");
    let limited = gained(&mut session, Some(1_000_000));
    assert!(limited < 1.0, "{limited}");
}

#[test]
fn what_takes_no_value_refuses_it_by_name() {
    let text = WIRE.replace("cc = \"fixed\"\nrwnd = \"fixed\"", "cc = \"cubic\"\nrwnd = \"drwa\"");
    let mut session = session(&text);
    let refusal = |result: Result<(), airwnd_catalog::Error>| result.unwrap_err().to_string();
    let rwnd = refusal(session.set_rwnd(0, Bytes(1)));
    assert!(
        rwnd.contains("flow tcp-0: its receive-window control") && rwnd.contains("set rwnd to fixed"),
        "{rwnd}"
    );
    assert!(refusal(session.set_pacing_rate(0, None)).contains("set cc to fixed"));
    assert!(refusal(session.set_rate(0, BitRate(1))).contains("flow tcp-0: its source has no rate"));
    assert!(refusal(session.set_cwnd(1, Bytes(1))).contains("flow udp-0 has no TCP connection"));
    assert!(refusal(session.set_weight(0, 1.0)).contains("set mac.scheduler to pf"));
    assert!(refusal(session.set_shaper(0, [None; 2])).contains("set its shaper.rates to fixed"));
    // Any congestion control goes on from a window that is set.
    after(&mut session, 1000);
    session.set_cwnd(0, Bytes(3_000)).unwrap();
    assert_eq!(session.flow(0).tcp.unwrap().cwnd, Bytes(3_000));
}

#[test]
fn a_session_without_flows_is_refused() {
    let empty = WIRE.split("[[flow]]").next().unwrap();
    assert!(Session::new(scenario(empty), 1, &Records::default()).is_err());
}

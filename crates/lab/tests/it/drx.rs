//! Sleep of UEs: discontinuous reception, and release to RRC idle or inactive.

use crate::support::threads::run_on;
use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// A packet every second to a UE, another UE without packets; no fading, so that no block is lost.
const SPARSE: &str = r#"
duration = "60s"
radio.fading = "none"
[[site]]
[[ue]]
name = "phone"
placement = {kind = "ring", radius = "200m"}
[[ue]]
name = "idle"
placement = {kind = "ring", radius = "200m"}
[[flow]]
ue = "phone"
traffic = {kind = "cbr", rate = "640bps", packet = "80B"}
start = "13ms"
"#;

const NR: [(&str, &str); 3] = [
    ("radio.access", r#"{kind = "nr", numerology = 1, pattern = "DDDSU"}"#),
    ("carrier.bandwidth", "20MHz"),
    ("carrier.downlink_frequency", "3.5GHz"),
];
const LTE: [(&str, &str); 0] = [];
const AGGREGATED: [(&str, &str); 1] = [("carrier.secondary", r#"[{downlink_frequency = "1.8GHz"}]"#)];
const LONG: (&str, &str) = ("mac.drx.short_cycle", "none");

fn scenario(toml: &str, changes: &[(&str, &str)], more: &[(&str, &str)]) -> Scenario {
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes.iter().chain(more) {
        node.set(key, value).unwrap();
    }
    Scenario::from_node(&node).unwrap()
}

fn simulate(changes: &[(&str, &str)], more: &[(&str, &str)]) -> Outcome {
    run(&scenario(SPARSE, changes, more), 1, None, &mut |_| true).unwrap()
}

fn mean_ms(outcome: &Outcome) -> f64 {
    outcome.flows()[0].delay_ms.mean.unwrap()
}

/// A packet waits until the next on-duration. In the long run it arrives in the sleeping part S - D of a cycle S and waits
/// (S - D) / 2 there: (S - D)^2 / 2S on average. With 998.4 ms between packets the phases differ.
#[test]
fn a_downlink_packet_waits_for_the_next_on_duration() {
    let sparse = [("flow[0].traffic.rate", "641bps"), ("duration", "300s")];
    for access in [&LTE[..], &NR[..], &AGGREGATED[..]] {
        for (cycle, on_duration) in [(320.0, 10.0), (160.0, 40.0), (40.0, 2.0)] {
            let [cycle_ms, on_ms] = [cycle, on_duration].map(|ms: f64| format!("{ms}ms"));
            let drx = [LONG, ("mac.drx.cycle", &cycle_ms), ("mac.drx.on_duration", &on_ms)];
            let [with, without] =
                [&[&drx[..], &sparse].concat()[..], &sparse].map(|more| simulate(access, more));
            let found = mean_ms(&with) - mean_ms(&without);
            let expected = (cycle - on_duration) * (cycle - on_duration) / (2.0 * cycle);
            assert!((found / expected - 1.0).abs() < 0.1, "{cycle_ms} {on_ms}: {found} {expected}");
        }
    }
}

/// A UE without data is awake in its on-durations: 10 of 320 ms, and in the 200 ms after the start.
#[test]
fn a_ue_without_data_sleeps() {
    for access in [&LTE[..], &NR[..], &AGGREGATED[..]] {
        let awake = |more| simulate(access, more).ues()[1].awake;
        assert_eq!(awake(&[]), 1.0);
        let expected = 10.0 / 320.0 + 0.2 / 60.0;
        let found = awake(&[LONG]);
        assert!((found - expected).abs() < 0.001, "{found} {expected}");
        // Four short cycles more, and 1 ms in a slot behind a TTI.
        let found = awake(&[("mac.drx.cycle", "320ms")]);
        assert!((found - expected - 3.5 * 0.01 / 60.0).abs() < 0.001, "{found}");
        // Connected for the first second only.
        let found = awake(&[("rrc.inactivity", "1s")]);
        assert!((found - 1.0 / 60.5).abs() < 0.001, "{found}");
        let found = awake(&[LONG, ("rrc.inactivity", "1s")]);
        assert!((found - (0.2 + 3.0 * 0.01) / 60.5).abs() < 0.0005, "{found}");
    }
}

/// Packets that follow one another within the inactivity timer are never delayed, nor is a download.
#[test]
fn a_ue_with_steady_data_stays_awake() {
    let steady = ("flow[0].traffic.rate", "6400bps");
    let from_start = ("warmup", "0s");
    let drx = [steady, from_start, LONG];
    for access in [&LTE[..], &NR[..], &AGGREGATED[..]] {
        let (with, without) = (simulate(access, &drx), simulate(access, &drx[..2]));
        assert_eq!(with.flows()[0].delay_ms, without.flows()[0].delay_ms);
        assert_eq!(with.ues()[0].awake, 1.0);
        let bulk = [("flow[0].traffic", "bulk"), from_start, ("duration", "10s")];
        let (with, without) = (simulate(access, &[&bulk[..], &[LONG]].concat()), simulate(access, &bulk));
        assert_eq!(with.flows()[0].goodput_kbps, without.flows()[0].goodput_kbps);
    }
}

/// The scheduling request wakes the UE. Its link adaptation follows from fewer soundings.
#[test]
fn an_uplink_packet_is_not_delayed_by_drx() {
    for access in [&LTE[..], &NR[..], &AGGREGATED[..]] {
        let up = ("flow[0].direction", "up");
        let [with, without] = [&[up, LONG][..], &[up]].map(|more| simulate(access, more));
        assert!((mean_ms(&with) - mean_ms(&without)).abs() < 1.0);
        assert!(with.ues()[0].awake < 0.3);
    }
}

/// Blocks are retransmitted to a UE with the shortest timers: each retransmission is awaited.
#[test]
fn retransmissions_are_served() {
    let lossy = [
        ("radio.fading", "epa"),
        ("ue[0].placement.radius", "900m"),
        ("flow[0].traffic.rate", "6410bps"),
        ("mac.olla", "none"),
        ("radio.amc", r#"{kind = "block-error-target", target = 0.5}"#),
    ];
    let short =
        [("mac.drx.inactivity", "0ms"), ("mac.drx.cycle", "40ms"), ("mac.drx.on_duration", "1ms"), LONG];
    // One cycle of 40 ms more than without DRX, and not another one for a retransmission. In NR, where the poll in the
    // first segment of an SDU is not answered, the UE sleeps before the second one: at times that is two cycles.
    for (access, more) in [(&LTE[..], 75.0), (&NR[..], 80.0), (&AGGREGATED[..], 75.0)] {
        let [with, without] = [&[&lossy[..], &short].concat()[..], &lossy].map(|more| simulate(access, more));
        let ue = &with.ues()[0];
        assert!(ue.bler.unwrap() > 0.02, "{:?}", ue.bler);
        let [with, without] = [with, without].map(|outcome| outcome.flows()[0].delay_ms.p99.unwrap());
        assert!(with < without + more, "{with} {without}");
    }
}

/// A released UE needs `promotion` in the uplink. In the downlink it waits for its paging occasion before that, half a
/// cycle on average.
#[test]
fn a_released_ue_is_promoted() {
    let slow = [
        ("flow[0].traffic.rate", "64bps"),
        ("duration", "3000s"),
        ("rrc.inactivity", "5s"),
        ("rrc.promotion", "100ms"),
        ("rrc.paging_cycle", "1.024s"),
    ];
    for access in [&LTE[..], &NR[..], &AGGREGATED[..]] {
        let up = ("flow[0].direction", "up");
        let extra = |more: &[(&str, &str)]| {
            let with = simulate(access, &[&slow[..], more].concat());
            let outcome = simulate(access, &[&slow[..2], more].concat());
            (mean_ms(&with) - mean_ms(&outcome), with.ues()[0].awake)
        };
        let (uplink, awake) = extra(&[up]);
        assert!((uplink - 100.0).abs() < 15.0, "{uplink}");
        assert!((awake - 5.1 / 10.0).abs() < 0.01, "{awake}");
        let (downlink, _) = extra(&[]);
        assert!((downlink - 100.0 - 512.0).abs() < 40.0, "{downlink}");
    }
}

/// Moving UEs of several regions, which sleep, are released and change cells.
const MOVING: &str = r#"
duration = "2s"
radio = {fading = "eva", position_period = "20ms"}
handover = {algorithm = "a3-rsrp", preparation = "30ms"}
core.x2_delay = "5ms"
mac.drx = {inactivity = "40ms", cycle = "160ms"}
rrc = {inactivity = "400ms", promotion = "50ms", paging_cycle = "320ms"}
[[site]]
rings = 1
sectors = 3
azimuth = "30deg"
antenna = {kind = "parabolic", beamwidth = "70deg"}
[[ue]]
count = 40
placement = {kind = "disc", radius = "700m"}
mobility = {kind = "random-waypoint", min_speed = "60m/s", max_speed = "90m/s", pause = "0s"}
[[flow]]
traffic = {kind = "web", reading = "1s"}
[[flow]]
id = "up"
direction = "up"
traffic = {kind = "cbr", rate = "1kbps", packet = "100B"}
"#;

#[test]
fn results_with_sleep_do_not_depend_on_threads() {
    let results = |threads: usize| {
        let outcome = run_on(threads, &scenario(MOVING, &[], &[]));
        let handovers: u64 = outcome.ues().iter().map(|ue| ue.handovers).sum();
        assert!(handovers > 10, "{handovers}");
        assert!(outcome.ues().iter().all(|ue| ue.awake < 0.9), "{:?}", outcome.ues());
        format!("{}{:?}", outcome.to_json(), outcome.into_tables())
    };
    assert!(results(3) == results(1));
}

/// A channel that has changed since the last report before a pause: more blocks fail than with a current report.
#[test]
fn the_first_block_after_a_pause_relies_on_an_old_report() {
    let changing = [
        ("radio.fading", r#"{kind = "epa", speed = "3km/h"}"#),
        ("carrier.bandwidth", "1.4MHz"),
        ("mac.olla", "none"),
        ("ue[0].placement.radius", "1000m"),
        ("flow[0].traffic", r#"{kind = "cbr", rate = "801bps", packet = "100B"}"#),
        ("duration", "300s"),
    ];
    let late = ("mac.drx.cycle", "2560ms");
    let bler = |more: &[(&str, &str)]| simulate(&[], &[&changing[..], more].concat()).ues()[0].bler.unwrap();
    let (with, without) = (bler(&[late, LONG]), bler(&[]));
    assert!(with > 2.0 * without, "{with} {without}");
}

//! Configured grants of the uplink in whole scenarios.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

/// Sensors that send a packet of 40 B every 20 ms, in changing phases to the occasions, and phones that upload.
const SENSORS: &str = r#"
duration = "20s"
radio = {fading = "none", shadowing = "none"}
rlc.mode = "um"
[[site]]
[[ue]]
name = "sensor"
count = 5
placement = {kind = "ring", radius = "150m"}
[[ue]]
name = "phone"
count = 8
placement = {kind = "ring", radius = "150m"}
[[flow]]
id = "packets"
ue = "sensor"
direction = "up"
traffic = {kind = "cbr", rate = "15990bps", packet = "40B"}
[[flow]]
id = "upload"
ue = "phone"
direction = "up"
"#;

const LTE: [(&str, &str); 0] = [];
const NR: [(&str, &str); 3] = [
    ("radio.access", r#"{kind = "nr", numerology = 1, pattern = "DDDSU"}"#),
    ("carrier.bandwidth", "20MHz"),
    ("carrier.downlink_frequency", "3.5GHz"),
];
const IDLE: (&str, &str) = ("flow[1].stop", "1ms");
const GRANT: (&str, &str) = ("ue[0].configured_grant.period", "10ms");

fn simulate(access: &[(&str, &str)], more: &[(&str, &str)]) -> Outcome {
    simulate_with("", access, more)
}

fn simulate_with(quirks: &str, access: &[(&str, &str)], more: &[(&str, &str)]) -> Outcome {
    let mut node = Node::from_toml(SENSORS, "test").unwrap();
    for (key, value) in access.iter().chain(more) {
        node.set(key, value).unwrap();
    }
    let mut scenario = Scenario::from_node(&node).unwrap();
    scenario.set_quirks(quirks).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// Mean delay of the sensors' packets in milliseconds; nearly all are delivered.
fn delay_ms(outcome: &Outcome) -> f64 {
    let flows = || outcome.flows().iter().filter(|flow| flow.group == "packets");
    assert!(flows().all(|flow| flow.pdf_percent.unwrap() > 98.0));
    flows().map(|flow| flow.delay_ms.mean.unwrap()).sum::<f64>() / flows().count() as f64
}

/// The request's 2 TTIs to the decision and the grant's 2 to the UE are saved; the wait for an occasion is as long as that
/// for the opportunity of a request of the same period. Ten times the period adds half of the rest.
#[test]
fn the_wait_for_a_grant_is_saved() {
    let request = [IDLE, ("mac.request_period", "10ms")];
    for (access, saved) in [(&LTE[..], 4.0), (&NR[..], 2.5)] {
        let without = delay_ms(&simulate(access, &request));
        let with = delay_ms(&simulate(access, &[IDLE, GRANT]));
        println!("10 ms: {without} without, {with} with configured grants");
        assert!(without - with > saved - 0.3, "{without} {with}");
        let often = delay_ms(&simulate(access, &[IDLE, ("ue[0].configured_grant.period", "5ms")]));
        assert!((with - often - 2.5).abs() < 0.6, "{with} {often}");
    }
}

/// A loaded cell delays packets that need grants, not those with configured ones.
#[test]
fn a_loaded_cell_does_not_delay_configured_grants() {
    for access in [&LTE[..], &NR[..]] {
        let [idle, loaded] = [&[GRANT, IDLE][..], &[GRANT]].map(|more| delay_ms(&simulate(access, more)));
        let without = delay_ms(&simulate(access, &[]));
        println!("{idle} idle, {loaded} loaded, {without} loaded without configured grants");
        assert!(loaded < idle + 0.5 && without > loaded + 2.0);
    }
}

/// Data that does not fit is reported in the block and granted, with the request masked or not.
#[test]
fn larger_packets_get_grants() {
    let large = [IDLE, ("flow[0].traffic.rate", "159900bps"), ("flow[0].traffic.packet", "400B")];
    for access in [&LTE[..], &NR[..]] {
        for masks in ["true", "false"] {
            for reports in ["requested", "ideal"] {
                let small = [
                    ("ue[0].configured_grant", r#"{prbs = 1, mcs = 2}"#),
                    ("ue[0].configured_grant.masks_requests", masks),
                ];
                let quirks = format!("mac.buffer_reports = \"{reports}\"");
                let delay = delay_ms(&simulate_with(&quirks, access, &[&large[..], &small].concat()));
                assert!(delay < 45.0, "{masks} {reports}: {delay}");
            }
        }
    }
}

/// On half of 15 PRBs the cell has places for 2 sensors in each of 2 TTIs. The others send requests.
#[test]
fn ues_without_a_place_send_requests() {
    let crowded = [
        ("carrier.bandwidth", "3MHz"),
        ("ue[0].count", "20"),
        ("ue[0].configured_grant.period", "2ms"),
        ("flow[0].traffic.rate", "1599bps"),
        IDLE,
    ];
    let outcome = simulate(&LTE, &crowded);
    let flows = outcome.flows().iter().filter(|flow| flow.group == "packets");
    let delays: Vec<f64> = flows.map(|flow| flow.delay_ms.mean.unwrap()).collect();
    assert_eq!(delays.iter().filter(|delay| **delay < 17.5).count(), 4, "{delays:?}");
    assert!(delays.iter().all(|delay| *delay < 40.0));
}

/// A UE with configured grants sleeps between them, and is not awake for requests.
#[test]
fn a_ue_sleeps_between_configured_grants() {
    let drx = [
        IDLE,
        ("mac.drx.short_cycle", "none"),
        ("mac.drx.inactivity", "10ms"),
        ("flow[0].traffic.rate", "3198bps"),
    ];
    for access in [&LTE[..], &NR[..]] {
        let [with, without] = [&[GRANT][..], &[]].map(|more| simulate(access, &[&drx[..], more].concat()));
        let awake = |outcome: &Outcome| outcome.ues()[0].awake;
        assert!(awake(&with) < 0.25 && awake(&without) > 1.5 * awake(&with));
        assert!(delay_ms(&with) < delay_ms(&without));
    }
}

/// A UE that changes its cell has a configured grant in the new one.
#[test]
fn a_new_cell_configures_the_grant_again() {
    let toml = r#"
        duration = "30s"
        rlc.mode = "am"
        handover.algorithm = "a3-rsrp"
        [[site]]
        [[site]]
        position = ["600m", "0m"]
        [[ue]]
        configured_grant = {period = "5ms"}
        placement = {kind = "list", points = [["20m", "30m"]]}
        mobility = {kind = "constant-velocity", speed = "20m/s", direction = "0deg"}
        [[flow]]
        direction = "up"
        traffic = {kind = "cbr", rate = "15990bps", packet = "40B"}
    "#;
    let outcome = |change: Option<(&str, &str)>| {
        let mut node = Node::from_toml(toml, "test").unwrap();
        change.iter().for_each(|(key, value)| node.set(key, value).unwrap());
        run(&Scenario::from_node(&node).unwrap(), 1, None, &mut |_| true).unwrap()
    };
    let (with, without) = (outcome(None), outcome(Some(("ue[0].configured_grant", "none"))));
    assert_eq!(with.ues()[0].handovers, 1);
    let median = |outcome: &Outcome| outcome.flows()[0].delay_ms.p50.unwrap();
    assert!(median(&with) + 4.0 < median(&without), "{} {}", median(&with), median(&without));
    assert_eq!(with.flows()[0].packets_dropped, 0);
}

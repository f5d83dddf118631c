//! The capacity of the PDCCH in whole scenarios.

use airwnd_catalog::Node;
use airwnd_lab::{Column, Outcome, Records, Scenario, run, run_tapped};
use airwnd_units::Span;
use std::collections::BTreeMap;

/// Forty calls in one cell, each with a packet of 40 B every 10 ms in both directions, all at the same SINR.
const CALLS: &str = r#"
duration = "4s"
warmup = "1s"
radio = {fading = "none", shadowing = "none"}
mac.scheduler = "rr"
rlc.mode = "um"
[[site]]
[[ue]]
name = "near"
count = 40
placement = {kind = "ring", radius = "150m"}
[[flow]]
id = "down"
traffic = {kind = "cbr", rate = "32kbps", packet = "40B"}
[[flow]]
id = "up"
traffic = {kind = "cbr", rate = "32kbps", packet = "40B"}
direction = "up"
"#;

const NR: [(&str, &str); 4] = [
    ("radio.access", r#"{kind = "nr", numerology = 1, pattern = "DDDSU"}"#),
    ("carrier.bandwidth", "20MHz"),
    ("carrier.downlink_frequency", "3.5GHz"),
    ("mac.request_period", "5ms"),
];

fn scenario(toml: &str, changes: &[(&str, &str)]) -> Scenario {
    let mut node = Node::from_toml(toml, "test").unwrap();
    for (key, value) in changes {
        node.set(key, value).unwrap();
    }
    Scenario::from_node(&node).unwrap()
}

fn simulate(toml: &str, changes: &[(&str, &str)]) -> Outcome {
    run(&scenario(toml, changes), 1, None, &mut |_| true).unwrap()
}

/// Delivered packets in percent, and their mean delay in milliseconds, of the calls in a direction.
fn calls(outcome: &Outcome, group: &str) -> (f64, f64) {
    let flows = || outcome.flows().iter().filter(|flow| flow.group == group);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    (
        mean(flows().map(|flow| flow.pdf_percent.unwrap_or(0.0)).collect()),
        mean(flows().filter_map(|flow| flow.delay_ms.mean).collect()),
    )
}

/// A carrier with room for all has the results of one without the limit.
#[test]
fn ample_room_changes_nothing() {
    let few = [("ue[0].count", "3"), ("carrier.bandwidth", "20MHz")];
    let [limited, free] = [&[("mac.pdcch.symbols", "3")][..], &[]].map(|more| {
        let outcome = simulate(CALLS, &[&few[..], more].concat());
        outcome.flows().iter().map(|flow| (flow.goodput_kbps, flow.delay_ms)).collect::<Vec<_>>()
    });
    assert_eq!(limited, free);
}

/// Of a hundred and more UEs with a packet in each TTI, each TTI serves at most as many as there are CCEs, and nearly as
/// many as that: UEs near the site need one.
#[test]
fn a_slot_serves_as_many_ues_as_it_has_cces() {
    for (access, symbols, cces) in [(&[][..], "1", 8), (&[], "2", 25), (&NR[..], "1", 8)] {
        let busy = [
            ("ue[0].count", "100"),
            ("flow[1].stop", "1ms"),
            ("flow[0].traffic.rate", "320kbps"),
            ("mac.pdcch.symbols", symbols),
            ("duration", "2s"),
        ];
        let records =
            Records { allocations: Some(Span::from_secs(1)..Span::from_secs(2)), ..Records::default() };
        let scenario = scenario(CALLS, &[access, &busy].concat());
        let outcome = run_tapped(&scenario, 1, &records, None, &mut |_| true).unwrap();
        let table = outcome.allocations();
        let Column::F64(times) = &table.iter().find(|(name, _)| name == "time_s").unwrap().1 else {
            panic!("times are numbers")
        };
        let mut by_slot = BTreeMap::new();
        times.iter().for_each(|time| *by_slot.entry(time.to_bits()).or_insert(0) += 1);
        let max = by_slot.values().max().unwrap();
        let mean = times.len() as f64 / by_slot.len() as f64;
        assert!(*max <= cces, "{max} of {cces}");
        assert!(mean > 0.85 * f64::from(cces.min(17)), "{mean} of {cces}");
    }
}

/// At 3 dB each assignment and grant takes four of eight CCEs: packets wait in both directions, and no UE is left out.
#[test]
fn calls_wait_for_cces() {
    for (access, power) in [(&[][..], "6dBm"), (&NR[..], "13dBm")] {
        let run = |more: &[(&str, &str)]| simulate(CALLS, &[access, more].concat());
        let (one, edge) = (("mac.pdcch.symbols", "1"), ("site[0].power", power));
        let [near, far, free] = [run(&[one]), run(&[one, edge]), run(&[edge])];
        for direction in ["down", "up"] {
            let [near, far, free] = [&near, &far, &free].map(|outcome| calls(outcome, direction));
            println!("{direction}: near {near:?}, edge {far:?}, edge without limit {free:?}");
            assert!(near.0 > 99.0 && free.0 > 99.0 && near.1 < 1.1 * free.1 + 1.0);
            // NR's PDCCH is overloaded by the grants, and packets wait at the end.
            assert!(far.0 > 90.0 && far.1 > 1.5 * free.1);
        }
        let min = far.flows().iter().filter_map(|flow| flow.pdf_percent).fold(100.0, f64::min);
        assert!(min > 80.0, "{min}");
    }
}

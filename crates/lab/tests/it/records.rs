//! Time series and events agree with the results of the run.

use airwnd_catalog::Node;
use airwnd_lab::{Column, NOTHING, Outcome, Scenario, Table, run};
use airwnd_units::Span;
use serde_json::Value as Json;

/// Drops of several causes: a full link to the cell, full bearers, and blocks that are not retransmitted.
const LOSSY: &str = r#"
preset = "airwnd-0.1"
duration = "4s"
core = {s1u_rate = "30Mbps", s1u_queue = 32, server_loss = "packet-error"}
rlc.queue = {kind = "drop-tail", buffer = "20KiB"}
tcp.min_rto = "200ms"
radio.amc = {kind = "piro-ew2010", ber = 0.03}
mac.harq_transmissions = 1
[[site]]
power = "13dBm"
[[ue]]
count = 4
placement = {kind = "ring", radius = "300m"}
[[ue]]
name = "far"
count = 2
placement = {kind = "ring", radius = "2km"}
[[flow]]
id = "bulk"
[[flow]]
id = "call"
traffic = {kind = "cbr", rate = "1Mbps"}
"#;

/// Other causes are tested elsewhere: policers and the Wi-Fi retry limit in tests/links.rs, handovers in tests/handover.rs, early
/// drops and PDCP discards in separate tests.
const SHOWN_ELSEWHERE: [&str; 7] = [
    "link_policed",
    "retry_limit",
    "rlc_queue_early",
    "link_queue_early",
    "pdcp_discard",
    "handover",
    "radio_link_failure",
];

fn simulate(toml: &str, series: Option<Span>) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, series, &mut |_| true).unwrap()
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("there is no {name}")).1
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let Column::F64(values) = column(table, name) else { panic!("{name} holds no numbers") };
    values
}

/// Words of a column; empty where there is no value.
fn words<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    let Column::Words(places, words) = column(table, name) else { panic!("{name} holds no words") };
    places.iter().map(|place| if *place == NOTHING { "" } else { &words[*place as usize] }).collect()
}

#[test]
fn events_match_the_counts_of_the_results() {
    let outcome = simulate(LOSSY, Some(Span::from_millis(10)));
    let events = outcome.events();
    let (kinds, causes, flows) = (words(events, "event"), words(events, "cause"), words(events, "flow"));
    let Column::U32(bytes) = column(events, "bytes") else { panic!("bytes are whole") };
    let json = outcome.to_json();
    let count = |value: &Json| value.as_u64().unwrap();
    let totals = json["totals"].as_object().unwrap().iter();
    for (cause, packets) in totals.filter_map(|(name, value)| Some((name.strip_prefix("drops_")?, value))) {
        let of_cause: Vec<usize> = (0..causes.len()).filter(|row| causes[*row] == cause).collect();
        let is_shown = !SHOWN_ELSEWHERE.contains(&cause);
        assert!(count(packets) > 0 || !is_shown, "the scenario has no {cause}");
        assert_eq!(of_cause.len() as u64, count(packets), "{cause}");
        let sum: u64 = of_cause.iter().map(|row| u64::from(bytes[*row])).sum();
        assert_eq!(sum, count(&json["conservation"][format!("dropped_bytes_{cause}")]), "{cause}");
    }
    for row in 0..kinds.len() {
        assert_eq!(kinds[row] == "drop", !causes[row].is_empty());
        assert_eq!(kinds[row] == "drop", bytes[row] != NOTHING);
    }
    for flow in outcome.flows() {
        let of_kind =
            |kind| (0..kinds.len()).filter(|row| flows[*row] == flow.id && kinds[*row] == kind).count();
        assert_eq!(of_kind("timeout") as u64, flow.timeouts, "{}", flow.id);
        assert!(of_kind("recovery") as u64 <= flow.retransmissions, "{}", flow.id);
    }
    for kind in ["drop", "timeout", "recovery"] {
        assert!(kinds.contains(&kind), "the scenario has no {kind}");
    }
    assert!(numbers(events, "time_s").is_sorted());
}

#[test]
fn recording_does_not_change_results() {
    let figures = |series| {
        let mut json = simulate(LOSSY, series).to_json();
        json["events"].take();
        json
    };
    assert!(simulate(LOSSY, None).series().is_empty() && simulate(LOSSY, None).events().is_empty());
    assert_eq!(figures(None), figures(Some(Span::from_millis(7))));
}

#[test]
fn samples_add_up_to_the_results() {
    let outcome = simulate(LOSSY, Some(Span::from_millis(10)));
    let series = outcome.series();
    let flows = words(series, "flow");
    for flow in outcome.flows() {
        let of_flow = |name: &str| -> Vec<f64> {
            let values = numbers(series, name).iter().zip(&flows);
            values.filter(|(value, id)| **id == flow.id && !value.is_nan()).map(|(value, _)| *value).collect()
        };
        let mean = of_flow("rate_kbps").iter().sum::<f64>() / 400.0;
        assert!((mean - flow.goodput_kbps).abs() <= 1e-6 * flow.goodput_kbps, "{}: {mean}", flow.id);
        let mean = of_flow("throughput_kbps").iter().sum::<f64>() / 400.0;
        assert!((mean - flow.throughput_kbps).abs() <= 1e-6 * flow.throughput_kbps, "{}: {mean}", flow.id);
        let delays = of_flow("delay_ms");
        let (min, max) = delays.iter().fold((f64::MAX, 0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        assert!(flow.delay_ms.mean.is_some_and(|mean| min <= mean && mean <= max), "{}", flow.id);
        let in_flight = of_flow("in_flight_bytes");
        assert_eq!(in_flight.is_empty(), flow.cc.is_none(), "{}", flow.id);
        let ue = outcome.ues()[flow.ue as usize];
        // Without fading the reports of a single cell depend only on its transmissions.
        assert!(
            of_flow("sinr_db").iter().all(|sinr| (sinr - ue.sinr_db.unwrap()).abs() < 1e-9),
            "{}",
            flow.id
        );
    }
    let Column::U32(cells) = column(series, "cell") else { panic!("cells are whole") };
    assert!(cells.iter().all(|cell| *cell == 0));
}

#[test]
fn a_sample_has_the_delay_since_the_previous_one() {
    // 1500 bytes and 2 of framing take 12.016 ms at 1 Mbps, and the propagation 20 ms. A datagram every 100 ms has no
    // queueing delay.
    let outcome = simulate(
        r#"
        duration = "1s"
        core = {server_rate = "1000Gbps", server_delay = "0s"}
        link = [{rate = "1Mbps", delay = "20ms", queue = 10}]
        [[ue]]
        [[flow]]
        traffic = {kind = "cbr", rate = "117760bps", packet = "1472B"}
        "#,
        Some(Span::from_millis(10)),
    );
    let delays = numbers(outcome.series(), "delay_ms");
    let (known, unknown): (Vec<f64>, Vec<f64>) = delays.iter().partition(|delay| !delay.is_nan());
    assert_eq!((known.len(), unknown.len()), (10, 90));
    assert!(known.iter().all(|delay| (delay - 32.016).abs() < 1e-3), "{known:?}");
}

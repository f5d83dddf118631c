//! Networks whose UEs have neighbours: throughput and delay against those with interference from every cell.

use airwnd_catalog::Node;
use airwnd_lab::{FlowRow, Scenario, run};
use std::ops::Range;

/// Downloads of still UEs and of as many driving ones in 57 cells.
fn flows(threshold: &str, seed: u64, seconds: u32, ues: u32) -> Vec<FlowRow> {
    let toml = format!(
        r#"
        duration = "{seconds}s"
        warmup = "1s"
        handover.algorithm = "a3-rsrp"
        radio.neighbour_threshold = {threshold}
        [[site]]
        rings = 2
        spacing = "500m"
        sectors = 3
        azimuth = "30deg"
        power = "46dBm"
        antenna = {{kind = "parabolic", beamwidth = "70deg", max_gain = "14dB"}}
        [[ue]]
        name = "still"
        count = {ues}
        placement = {{kind = "disc", radius = "1100m"}}
        [[ue]]
        name = "driving"
        count = {ues}
        placement = {{kind = "disc", radius = "1100m"}}
        mobility = {{kind = "random-waypoint", min_speed = "10m/s", max_speed = "20m/s", pause = "0s"}}
        [[flow]]
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    run(&scenario, seed, None, &mut |_| true).unwrap().flows().to_vec()
}

/// Goodput and median RTT with neighbours, relative to those with all cells.
fn compare(seeds: Range<u64>, seconds: u32, ues: u32) -> (f64, f64) {
    let all =
        |threshold| seeds.clone().flat_map(|seed| flows(threshold, seed, seconds, ues)).collect::<Vec<_>>();
    let (exact, near) = (all("0"), all("0.0002"));
    let goodput = |flows: &[FlowRow]| flows.iter().map(|flow| flow.goodput_kbps).sum::<f64>();
    let median = |flows: &[FlowRow]| {
        let mut rtts: Vec<f64> = flows.iter().filter_map(|flow| flow.rtt_ms.mean).collect();
        rtts.sort_by(f64::total_cmp);
        rtts[rtts.len() / 2]
    };
    let (goodput, rtt) = (goodput(&near) / goodput(&exact), median(&near) / median(&exact));
    println!("goodput {goodput:.4}, median RTT {rtt:.4} of those with all cells");
    (goodput, rtt)
}

// Runs with different interference diverge: tolerances cover the spread of that many short downloads.

#[test]
fn neighbours_give_throughput_and_delay_of_all_cells() {
    let (goodput, rtt) = compare(1..3, 2, 25);
    assert!((goodput - 1.0).abs() < 0.05 && (rtt - 1.0).abs() < 0.12, "{goodput} {rtt}");
}

#[test]
#[ignore = "nightly: two minutes"]
fn neighbours_give_throughput_and_delay_of_all_cells_within_a_few_percent() {
    let (goodput, rtt) = compare(1..7, 4, 57);
    assert!((goodput - 1.0).abs() < 0.02 && (rtt - 1.0).abs() < 0.05, "{goodput} {rtt}");
}

//! Networks whose UEs have neighbours: throughput and delay against those with interference from every cell.

use airwnd_catalog::Node;
use airwnd_lab::{FlowRow, Scenario, run};

/// Downloads of still UEs and of as many driving ones in 57 cells.
fn flows(threshold: &str, seed: u64) -> Vec<FlowRow> {
    let toml = format!(
        r#"
        duration = "4s"
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
        count = 57
        placement = {{kind = "disc", radius = "1100m"}}
        [[ue]]
        name = "driving"
        count = 57
        placement = {{kind = "disc", radius = "1100m"}}
        mobility = {{kind = "random-waypoint", min_speed = "10m/s", max_speed = "20m/s", pause = "0s"}}
        [[flow]]
        "#
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    run(&scenario, seed, None, &mut |_| true).unwrap().flows().to_vec()
}

#[test]
#[ignore = "nightly: two minutes; the SINR and the reports of neighbours are tested in the cell"]
fn neighbours_give_throughput_and_delay_of_all_cells_within_a_few_percent() {
    let all = |threshold| (1..7).flat_map(|seed| flows(threshold, seed)).collect::<Vec<_>>();
    let (exact, near) = (all("0"), all("0.0002"));
    let goodput = |flows: &[FlowRow]| flows.iter().map(|flow| flow.goodput_kbps).sum::<f64>();
    let median = |flows: &[FlowRow]| {
        let mut rtts: Vec<f64> = flows.iter().filter_map(|flow| flow.rtt_ms.mean).collect();
        rtts.sort_by(f64::total_cmp);
        rtts[rtts.len() / 2]
    };
    let (goodput, rtt) = (goodput(&near) / goodput(&exact), median(&near) / median(&exact));
    // Runs with different interference diverge: tolerances cover the spread of that many short downloads.
    assert!((goodput - 1.0).abs() < 0.02 && (rtt - 1.0).abs() < 0.05, "{goodput} {rtt}");
}

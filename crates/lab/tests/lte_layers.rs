//! LTE cells with several layers and 256QAM.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str) -> Outcome {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "test").unwrap()).unwrap();
    run(&scenario, 1, None, &mut |_| true).unwrap()
}

/// Part of a run of 1 s before the first packet is received: 10 ms to the cell and 3.07 ms over the air.
const FIRST_PACKET: f64 = 0.013_07;

const SQUARE: &str = "mimo = {cell_antennas = 4, ue_antennas = 4}";

/// One UE at a distance from a cell of 20 MHz with more data than the cell carries.
fn alone(access: &str, distance: u32) -> Outcome {
    simulate(&format!(
        r#"
        duration = "1s"
        warmup = "100ms"
        carrier.bandwidth = "20MHz"
        mac = {{scheduler = "mt", olla = "none"}}
        rlc = {{mode = "um", queue = {{kind = "drop-tail", buffer = "2000000B"}}}}
        core = {{server_rate = "0bps", s1u_rate = "0bps"}}
        [radio]
        access = {{kind = "lte", {access}}}
        propagation = "friis"
        shadowing = "none"
        fading = "none"
        [[site]]
        power = "46dBm"
        height = "10m"
        [[ue]]
        placement = {{kind = "list", points = [["{distance}m", "0m"]]}}
        [[flow]]
        traffic = {{kind = "cbr", rate = "500Mbps", packet = "1400B"}}
        "#
    ))
}

/// Peak rates by TS 36.213: I_TBS 26 on 100 PRBs is 75376 bits, translated to 149776 on two layers; I_TBS 33 is 97896 and
/// 195816. A codeword has one layer with rank 2, and two with rank 4.
#[test]
fn peak_rates_are_those_of_the_block_sizes() {
    let cases = [
        ("mimo = \"none\"", 75_376, 28.0),
        ("mimo = {}", 2 * 75_376, 28.0),
        (SQUARE, 2 * 149_776, 28.0),
        ("mcs_table = \"256qam\"", 97_896, 27.0),
        ("mcs_table = \"256qam\", mimo = {}", 2 * 97_896, 27.0),
        (&format!("mcs_table = \"256qam\", {SQUARE}"), 2 * 195_816, 27.0),
    ];
    for (access, bits, mcs) in cases {
        let outcome = alone(access, 20);
        let (ue, flow) = (&outcome.ues()[0], &outcome.flows()[0]);
        assert_eq!((ue.mcs, ue.bler), (Some(mcs), Some(0.0)), "{access}");
        assert!((ue.block_bytes.unwrap() * 8.0 / f64::from(bits) - 1.0).abs() < 1e-4, "{access}");
        // 1400 B of 1428 B, less the headers of PDCP and RLC: 2 B and 1.5 B per packet
        let payload = flow.goodput_kbps / 1e3 / (1.0 - FIRST_PACKET);
        let expected = f64::from(bits) / 1e3 * 1400.0 / 1431.5;
        println!("{access}: {payload:.1} of {expected:.1} Mbit/s");
        assert!((payload / expected - 1.0).abs() < 0.005, "{access}: {payload} {expected}");
    }
}

/// With distance the rank falls to one, where the UE's antennas add their gain; correlated antennas have the lower rank
/// near the cell, and the gain of an array far from it.
#[test]
fn the_rank_follows_the_channel() {
    let distances = [20, 2000, 20_000, 60_000];
    let goodput = |access: &str| distances.map(|at| alone(access, at).totals().goodput_kbps / 1e3);
    let high = "mimo = {cell_antennas = 4, ue_antennas = 4, correlation = \"high\"}";
    let [one, two, four, correlated] = ["mimo = \"none\"", "mimo = {}", SQUARE, high].map(goodput);
    println!("Mbit/s at {distances:?} m: {one:.1?} {two:.1?} {four:.1?} {correlated:.1?}");
    for place in 0..distances.len() {
        assert!(two[place] > 1.1 * one[place] && four[place] > 1.1 * two[place], "{one:?} {two:?} {four:?}");
        assert!(two[place] < 2.01 * one[0] && four[place] < 4.01 * one[0]);
    }
    assert!(correlated[0] < 0.8 * four[0], "{correlated:?} {four:?}");
    assert!(correlated[3] > 1.2 * four[3], "{correlated:?} {four:?}");
}

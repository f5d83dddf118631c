//! LTE cells with several layers and 256QAM.

use crate::support::saturated;
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
    let access = format!("kind = \"lte\", {access}");
    saturated::alone("bandwidth = \"20MHz\"", &access, distance, "500Mbps")
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

/// Goodput of ten downloads in a cell of 20 MHz with the defaults of all else, in Mbit/s.
fn crowd(access: &str) -> f64 {
    let outcome = simulate(&format!(
        r#"
        duration = "3s"
        warmup = "1s"
        carrier.bandwidth = "20MHz"
        radio.access = {{kind = "lte", {access}}}
        [[site]]
        [[ue]]
        count = 10
        placement = {{kind = "disc", radius = "400m"}}
        [[flow]]
        "#
    ));
    outcome.totals().goodput_kbps / 1e3
}

#[test]
fn a_cell_of_ten_ues_gains_by_layers_and_loses_by_correlation() {
    let cases = [
        "mimo = \"none\"",
        "mimo = {}",
        "mimo = {correlation = \"medium\"}",
        SQUARE,
        "mcs_table = \"256qam\", mimo = {}",
        "mcs_table = \"256qam\", mimo = {cell_antennas = 4, ue_antennas = 4}",
    ];
    let [one, two, medium, four, two_256, four_256] = cases.map(crowd);
    println!(
        "Mbit/s: {one:.1}, {two:.1}, medium {medium:.1}, {four:.1}, 256QAM {two_256:.1} and {four_256:.1}"
    );
    assert!(one < medium && medium < two && two < four);
    assert!((1.3..2.0).contains(&(two / one)) && (1.3..2.0).contains(&(four / two)));
    assert!(two_256 > two && four_256 > four);
}

/// With both error models a UE between near and far loses as many first transmissions as the outer loop permits, and both
/// adapt to nearly the same rate.
#[test]
fn both_error_models_decode_256qam_on_two_layers() {
    let [theory, curves] = ["mutual-information", "block-error-curves"].map(|errors| {
        let outcome = simulate(&format!(
            r#"
            duration = "3s"
            warmup = "1s"
            [radio]
            access = {{kind = "lte", mcs_table = "256qam", mimo = {{}}}}
            error_model = "{errors}"
            shadowing = "none"
            [[site]]
            [[ue]]
            count = 2
            placement = {{kind = "ring", radius = "350m"}}
            [[flow]]
            "#
        ));
        for ue in outcome.ues() {
            println!("{errors}: MCS {:?}, BLER {:?}, {:?} dB", ue.mcs, ue.bler, ue.sinr_db);
            assert!(ue.mcs.unwrap() > 15.0 && (0.03..0.13).contains(&ue.bler.unwrap()));
        }
        outcome.totals().goodput_kbps
    });
    assert!((theory / curves - 1.0).abs() < 0.1, "{theory} {curves}");
}

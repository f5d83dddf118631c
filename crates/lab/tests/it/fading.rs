//! Fading channels: comparison with ns-3, and standard deviation of shadowing.
//!
//! `cargo test -p airwnd-lab --test it fading:: -- --nocapture` prints every comparison.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str, changes: &[(&str, &str)]) -> Outcome {
    let mut node = Node::from_toml(toml, "fading").unwrap();
    changes.iter().for_each(|(key, value)| node.set(key, value).unwrap());
    let scenario = Scenario::from_node(&node).unwrap();
    run(&scenario, scenario.seed, None, &mut |_| true).unwrap()
}

/// One UE at 500 m and 15 dB with the channel of a car at 60 km/h.
const CAR: &str = r#"
    preset = "airwnd-0.1"
    duration = "10s"
    radio.fading = {kind = "eva", speed = "60km/h"}
    mac = {scheduler = "rr", olla = "none"}
    [[site]]
    power = "13dBm"
    [[ue]]
    placement = {kind = "list", points = [["500m", "0m"]]}
    [[flow]]
    traffic = {kind = "cbr", rate = "40Mbps", packet = "1000B"}
"#;

/// Throughput of one UE over distance. The fading processes differ, so means are compared: those of ns-3 over its
/// traces, those here over seeds, with more seeds at 3 km/h, since ten seconds contain few fades.
///
/// EVA at 60 km/h: within 7 % under RR and 9 % under PF. Most of the difference is due to the SINR thresholds of the
/// MCS: at 1000 m ns-3 sends 55 % of the blocks with MCS 14, here 38 %. At 3 km/h: within 10 %, with standard errors of
/// 2 to 3 % in ns-3's means.
#[test]
fn throughput_over_distance_agrees_with_ns3() {
    let mut lines = include_str!("../data/fading.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut compared = 0;
    for line in &mut lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |column: usize| cells[column].parse::<f64>().unwrap();
        let (profile, speed, scheduler, distance) = (cells[0], cells[1], cells[2], cells[3]);
        let seeds = if profile == "eva" { 1..=2 } else { 1..=8 };
        let count = seeds.clone().count() as f64;
        let (mut sinr, mut throughput) = (0.0, 0.0);
        for seed in seeds {
            let outcome = simulate(
                CAR,
                &[
                    ("seed", &format!("{seed}")),
                    ("radio.fading", &format!("{{kind = \"{profile}\", speed = \"{speed}km/h\"}}")),
                    ("preset", "ns3.44"),
                    ("carrier.bandwidth", "10MHz"),
                    ("mac.scheduler", scheduler),
                    (
                        "ue[0].placement",
                        &format!("{{kind = \"list\", points = [[\"{distance}m\", \"0m\"]]}}"),
                    ),
                ],
            );
            sinr += outcome.ues()[0].sinr_db.unwrap() / count;
            throughput += outcome.flows()[0].throughput_kbps / count;
        }
        let deviation = throughput / number(8) - 1.0;
        let name = format!("{profile} {speed} km/h, {scheduler}, {distance} m");
        println!("{name}: {throughput:.0} / {} kbit/s ({:+.1} %)", number(8), 100.0 * deviation);
        let (decibels, tolerance) = match (profile, scheduler) {
            ("eva", "rr") => (0.15, 0.07),
            ("eva", _) => (0.15, 0.09),
            _ => (0.5, 0.10),
        };
        assert!((sinr - number(5)).abs() < decibels, "{name}: {sinr} dB");
        assert!(deviation.abs() < tolerance, "{name}: {throughput}");
        compared += 1;
    }
    assert_eq!(compared, 14);
}

#[test]
fn shadowing_has_its_standard_deviation() {
    let rsrp = |shadowing: &str| -> Vec<f64> {
        let toml = "duration = \"1ms\"\n[[site]]\n[[ue]]\ncount = 300\n\
                    placement = {kind = \"ring\", radius = \"300m\"}\n[[flow]]\n";
        let outcome = simulate(toml, &[("radio.shadowing", shadowing)]);
        outcome.ues().iter().map(|ue| ue.rsrp_dbm).collect()
    };
    let median = rsrp("none");
    assert_eq!(rsrp("{sigma = \"0dB\"}"), median);
    let losses = rsrp("{sigma = \"8dB\"}").into_iter().zip(&median).map(|(rsrp, median)| median - rsrp);
    let sigma = (losses.map(|loss| loss * loss).sum::<f64>() / 300.0).sqrt();
    // The standard error of 300 draws is 8 / sqrt(600) = 0.33 dB.
    assert!((sigma - 8.0).abs() < 1.0, "{sigma}");
}

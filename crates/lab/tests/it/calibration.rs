//! Calibration of 3GPP: distributions of coupling loss and geometry in hexagonal networks with wrap-around.

use airwnd_catalog::Node;
use airwnd_kernel::Stream;
use airwnd_lab::{Column, Scenario};

/// Positions that are uniform in the hexagon of a site at the origin, whose neighbours are at this distance, and at least
/// `min` from the site. With wrap-around all hexagons are alike.
fn in_hexagon(count: usize, spacing: f64, min: f64, seed: u64) -> String {
    let draws = Stream::new(seed, "calibration");
    let mut points = Vec::new();
    for number in 0.. {
        let at = |axis: u64| spacing * (1.2 * draws.at(2 * number + axis) - 0.6);
        let (x, y) = (at(0), at(1));
        // The neighbours are in the directions of multiples of 60 degrees.
        let inside = (0..6).all(|direction| {
            let angle = f64::from(60 * direction).to_radians();
            x * angle.cos() + y * angle.sin() <= spacing / 2.0
        });
        if inside && x.hypot(y) >= min {
            points.push(format!("[\"{x:.2}m\", \"{y:.2}m\"]"));
        }
        if points.len() == count {
            break;
        }
    }
    points.join(", ")
}

/// Received power in dBm of each UE and its SINR in dB while all cells send.
fn budgets(toml: &str, seed: u64) -> Vec<(f64, f64)> {
    let scenario = Scenario::from_node(&Node::from_toml(toml, "calibration").unwrap()).unwrap();
    let table = scenario.link_budgets(seed).unwrap().unwrap();
    let numbers = |name: &str| match &table.iter().find(|(column, _)| column == name).unwrap().1 {
        Column::F64(values) => values.clone(),
        other => panic!("{name} is {other:?}"),
    };
    numbers("rsrp_dbm").into_iter().zip(numbers("downlink_full_load_sinr_db")).collect()
}

fn quantiles<const N: usize>(mut values: Vec<f64>, percents: [f64; N]) -> [f64; N] {
    values.sort_unstable_by(f64::total_cmp);
    percents.map(|percent| values[((values.len() as f64 * percent / 100.0) as usize).min(values.len() - 1)])
}

/// Power of a resource element of 1 W in dBm: 106 PRBs of twelve subcarriers.
fn per_element(power_dbm: f64) -> f64 {
    power_dbm - 10.0 * (106.0f64 * 12.0).log10()
}

/// TR 38.901 Table 7.8-1, configuration 1: medians over 20 and 21 companies (R1-165974) at 6 GHz.
#[test]
#[ignore = "nightly: three seconds, of models that change rarely"]
fn large_scale_calibration_of_tr_38_901() {
    for (kind, spacing, height, min, coupling, sir) in [
        ("uma", 500.0, 25, 35.0, [-150.1, -133.5, -119.9, -105.8, -86.0], [-1.0, 3.0, 8.6, 16.4, 25.6]),
        ("umi", 200.0, 10, 10.0, [-141.9, -125.0, -111.5, -95.7, -74.7], [-1.7, 2.1, 7.4, 15.0, 24.9]),
    ] {
        let (mut losses, mut ratios) = (Vec::new(), Vec::new());
        for (seed, penetration) in (1..=30).map(|seed| (seed, if seed % 2 == 0 { "low" } else { "high" })) {
            let toml = format!(
                r#"
                duration = "20ms"
                [carrier]
                bandwidth = "20MHz"
                downlink_frequency = "6GHz"
                uplink_frequency = "5.9GHz"
                [radio]
                access = {{kind = "nr"}}
                fading = "none"
                propagation = {{kind = "tr38901", scenario = "{kind}", indoor = 0.8, penetration = "{penetration}"}}
                shadowing = {{sectors = "shared", correlation = 0.0}}
                neighbour_threshold = 0.0
                [[site]]
                rings = 2
                wrap_around = true
                spacing = "{spacing}m"
                height = "{height}m"
                sectors = 3
                azimuth = "30deg"
                power = "80dBm"
                antenna = "panel"
                [[ue]]
                count = 600
                noise_figure = "0dB"
                floors = [4, 8]
                placement = {{kind = "list", points = [{}]}}
                [[flow]]
                "#,
                in_hexagon(600, spacing, min, seed)
            );
            for (power, ratio) in budgets(&toml, seed) {
                losses.push(power - per_element(80.0));
                ratios.push(ratio);
            }
        }
        let percents = [5.0, 25.0, 50.0, 75.0, 95.0];
        let (losses, ratios) = (quantiles(losses, percents), quantiles(ratios, percents));
        for (found, expected) in losses.iter().zip(coupling).chain(ratios.iter().zip(sir)) {
            assert!(
                (found - expected).abs() < 1.0,
                "{kind}: {losses:.2?} {coupling:?}, {ratios:.2?} {sir:?}"
            );
        }
        println!("{kind}: coupling loss {losses:.1?} / {coupling:?} dB, SIR {ratios:.1?} / {sir:?} dB");
    }
}

/// TR 36.814 Table A.2.1.1-2, case 1 (19 sites 500 m apart, 3D antennas with 15 degrees of downtilt).
#[test]
fn geometry_of_tr_36_814_case_1() {
    let geometry = |vertical: &str| {
        let mut ratios = Vec::new();
        for seed in 1..=5 {
            let toml = format!(
                r#"
                duration = "20ms"
                [carrier]
                bandwidth = "10MHz"
                downlink_frequency = "2GHz"
                [radio]
                fading = "none"
                propagation = "urban-macro"
                shadowing = {{sigma = "8dB", sectors = "shared", correlation = 0.5}}
                neighbour_threshold = 0.0
                [[site]]
                rings = 2
                wrap_around = true
                spacing = "500m"
                height = "32m"
                sectors = 3
                azimuth = "30deg"
                power = "46dBm"
                antenna = {{kind = "parabolic", beamwidth = "70deg", max_attenuation = "25dB", max_gain = "14dB"{vertical}}}
                [[ue]]
                count = 600
                placement = {{kind = "list", points = [{}]}}
                [[flow]]
                "#,
                in_hexagon(600, 500.0, 35.0, seed)
            );
            ratios.extend(budgets(&toml, seed).into_iter().map(|(_, ratio)| ratio));
        }
        quantiles(ratios, [5.0, 50.0, 95.0])
    };
    let tilted = geometry(", vertical_beamwidth = \"10deg\"");
    let level = geometry("");
    println!("case 1: {tilted:.2?} dB; without vertical pattern {level:.2?} dB");
    // The downtilt keeps the interference of distant cells below the main lobe.
    for (tilted, level) in tilted.iter().zip(level) {
        assert!((1.0..4.0).contains(&(tilted - level)), "{tilted} {level}");
    }
}

/// With wrap-around, cells of the border have the interference of those in the middle.
#[test]
fn a_grid_with_wrap_around_has_no_border() {
    let means = |wrap: bool| {
        let at = |x: f64, y: f64| {
            let toml = format!(
                r#"
                duration = "20ms"
                radio = {{fading = "none", propagation = "urban-macro", shadowing = "none"}}
                [[site]]
                rings = 1
                wrap_around = {wrap}
                spacing = "500m"
                sectors = 3
                antenna = "parabolic"
                [[ue]]
                placement = {{kind = "list", points = [["{x}m", "{y}m"]]}}
                [[flow]]
                "#
            );
            budgets(&toml, 1)[0].1
        };
        // The same place at the site in the middle and at the others, which are 500 m from it.
        let sites = (0..6).map(|direction| f64::from(60 * direction).to_radians());
        let sites = sites.map(|angle| [500.0 * angle.cos(), 500.0 * angle.sin()]);
        let others: Vec<f64> = sites.map(|[x, y]| at(x + 90.0, y + 130.0)).collect();
        (at(90.0, 130.0), others)
    };
    let (middle, border) = means(true);
    assert!(border.iter().all(|sinr| (sinr - middle).abs() < 1e-6), "{middle} {border:?}");
    let (middle, border) = means(false);
    assert!(border.iter().any(|sinr| sinr - middle > 1.0), "{middle} {border:?}");
}

//! Channels that fade: against ns-3, and what they do to link adaptation and scheduling.
//!
//! `cargo test -p airwnd-lab --test fading -- --nocapture` prints every comparison.

use airwnd_catalog::Node;
use airwnd_lab::{Outcome, Scenario, run};

fn simulate(toml: &str, changes: &[(&str, &str)]) -> Outcome {
    let mut node = Node::from_toml(toml, "fading").unwrap();
    changes.iter().for_each(|(key, value)| node.set(key, value).unwrap());
    run(&Scenario::from_node(&node).unwrap(), 1, None, &mut |_| true).unwrap()
}

/// One user at 500 m and 15 dB whose channel is that of a car at 60 km/h.
const CAR: &str = r#"
    duration = "10s"
    radio.fading = {kind = "eva", speed = "60km/h"}
    mac.scheduler = "rr"
    [[site]]
    power = "13dBm"
    [[ue]]
    placement = {kind = "list", points = [["500m", "0m"]]}
    [[flow]]
    traffic = {kind = "cbr", rate = "40Mbps", packet = "1000B"}
"#;

#[test]
fn the_channel_is_the_same_for_every_algorithm() {
    // A saturated cell works in each TTI from the start of its traffic on, so the same ones are sampled.
    let sinr = |changes: &[(&str, &str)]| simulate(CAR, changes).ues()[0].sinr_db.unwrap();
    let reference = sinr(&[]);
    for change in [
        ("mac.scheduler", "pf"),
        ("mac.scheduler", "pss"),
        ("mac.olla", "{target = 0.2}"),
        ("rlc.queue", "{kind = \"drop-tail\", buffer = \"100KiB\"}"),
        ("radio.amc", "piro-ew2010"),
    ] {
        assert_eq!(sinr(&[change]), reference, "{change:?}");
    }
    assert_ne!(sinr(&[("radio.fading.speed", "61km/h")]), reference);
}

/// Reports are 5 to 6 ms old, in which a car's channel becomes another one: the reports' own target of 10 % is
/// missed by far. The outer loop brings it back.
#[test]
fn the_outer_loop_keeps_its_target_where_reports_are_old() {
    let share = |changes: &[(&str, &str)]| simulate(CAR, changes).ues()[0].bler.unwrap();
    let without = share(&[]);
    assert!(without > 0.2, "{without}");
    for target in [0.05, 0.1, 0.2] {
        let with = share(&[("mac.olla", &format!("{{target = {target}}}"))]);
        println!("target {target}: {with}");
        assert!((with - target).abs() < 0.01, "{target}: {with}");
    }
}

/// Eight pedestrians at one distance. Round robin takes each channel as it is; proportional fair waits for the good ones,
/// in time and in frequency.
#[test]
fn proportional_fair_gains_from_users_who_fade_apart() {
    let goodput = |scheduler: &str, fading: &str| {
        let toml = format!(
            r#"
            duration = "4s"
            radio.fading = {fading}
            mac.scheduler = "{scheduler}"
            [[site]]
            power = "13dBm"
            [[ue]]
            count = 8
            placement = {{kind = "ring", radius = "1km"}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "4Mbps", packet = "1000B"}}
            "#
        );
        simulate(&toml, &[]).totals().goodput_kbps
    };
    let gain = |fading: &str| goodput("pf", fading) / goodput("rr", fading);
    let (flat, faded) = (gain("\"none\""), gain("{kind = \"epa\", speed = \"3km/h\"}"));
    println!("PF over RR: {flat} flat, {faded} faded");
    assert!((flat - 1.0).abs() < 0.1, "{flat}");
    assert!(faded > 1.4 * flat, "{faded}");
}

/// A terminal near the middle between two cells that both send all the time. Its mean SINR over the carrier is taken by
/// TTI, and fading brings moments in which hardly anything disturbs.
#[test]
fn interference_fades_unless_told_otherwise() {
    let sinr = |interference: bool| {
        let toml = format!(
            r#"
            duration = "4s"
            [radio]
            fading = {{kind = "etu", doppler = "70Hz", interference = {interference}}}
            amc = {{kind = "fixed", cqi = 1}}
            control_errors = false
            [[site]]
            [[site]]
            position = ["1km", "0m"]
            [[ue]]
            count = 2
            placement = {{kind = "list", points = [["450m", "0m"], ["550m", "0m"]]}}
            [[flow]]
            traffic = {{kind = "cbr", rate = "40Mbps", packet = "1000B"}}
            "#
        );
        simulate(&toml, &[]).ues()[0].sinr_db.unwrap()
    };
    let (steady, faded) = (sinr(false), sinr(true));
    println!("steady interference {steady} dB, faded {faded} dB");
    // 20 log10(550 / 450) = 1.74 dB; the mean over the PRBs in decibels is lower by at most 2.51 dB, which fading of
    // the whole carrier alike would make of it (Euler's constant times 10 / ln 10).
    assert!((1.74 - 2.51..1.74).contains(&steady), "{steady}");
    assert!(faded > steady + 1.0, "{steady} {faded}");
}

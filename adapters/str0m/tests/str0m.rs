//! str0m's video in a cell.

use airwnd::{FlowOptions, Pair, Path, Scenario, Trial};
use airwnd_str0m::video;
use std::time::Duration;

fn scenario() -> Scenario {
    Scenario::builder()
        .set("duration", "20s")
        .set("rlc.queue", "{ kind = \"drop-tail\", buffer = \"1MB\" }")
        .add("site", [])
        .add("ue", [("name", "phone"), ("placement.kind", "ring"), ("placement.radius", "300m")])
        .build()
        .unwrap()
}

#[test]
fn a_video_reaches_its_rate_in_an_idle_cell_without_a_queue() {
    let report = Trial::new(&scenario()).seeds(1..=3).run(|seed| video(2500, seed)).unwrap();
    println!("{}, {}", report.goodput_kbps(), report.queueing_delay_ms_p95());
    report.goodput_kbps().assert_at_least(1200.0);
    report.goodput_kbps().assert_at_most(2500.0);
    report.queueing_delay_ms_p95().assert_at_most(60.0);
}

#[test]
fn the_estimate_stays_near_the_rate_of_a_link() {
    let link = "duration = \"20s\"\n[[link]]\nrate = \"1Mbps\"\ndelay = \"20ms\"\nqueue = 100\n[[ue]]\n";
    let mut path = Path::new(&Scenario::from_toml(link).unwrap(), 1).unwrap();
    let flow = path.open(path.ue("ue").unwrap(), FlowOptions::udp()).unwrap();
    let (mut ue, mut server) = video(5000, 1);
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], Duration::from_secs(20)).unwrap();
    let estimate = server.estimate_kbps().unwrap();
    println!("{estimate} kbit/s, {} frames", ue.frames());
    assert!((500.0..1500.0).contains(&estimate), "{estimate} kbit/s");
    assert!(ue.frames() > 300, "{} frames", ue.frames());
}

/// The handshake alone differs between runs with the same seed: its signatures vary by a few bytes.
#[test]
fn the_same_seed_gives_nearly_the_same_video() {
    let goodput = || {
        let report = Trial::new(&scenario()).seeds(1..=1).run(|seed| video(2500, seed)).unwrap();
        report.goodput_kbps().mean()
    };
    let (first, second) = (goodput(), goodput());
    println!("{first} and {second} kbit/s");
    assert!((first / second - 1.0).abs() < 0.02, "{first} and {second} kbit/s");
}

//! smoltcp in a cell.

use airwnd::{Scenario, Trial};
use airwnd_smoltcp::{Control, OPTIONS, download, upload};

fn scenario(queue: &str) -> Scenario {
    Scenario::builder()
        .set("duration", "10s")
        .set("rlc.queue", queue)
        .add("site", [])
        .add("ue", [("name", "phone"), ("placement.kind", "ring"), ("placement.radius", "300m")])
        .build()
        .unwrap()
}

#[test]
fn both_controls_use_a_cell() {
    let scenario = scenario("{ kind = \"drop-tail\", buffer = \"300kB\" }");
    for control in Control::ALL {
        let report = Trial::new(&scenario).options(OPTIONS).run(|seed| download(control, seed)).unwrap();
        println!(
            "{control:?}: {}, {}, {}, {}",
            report.goodput_kbps(),
            report.queueing_delay_ms_p95(),
            report.retransmissions(),
            report.loss_percent()
        );
        report.goodput_kbps().assert_at_least(1000.0);
    }
}

#[test]
fn an_upload_arrives_and_losses_are_repeated() {
    let scenario = scenario("drop-tail")
        .with("core.server_loss_up", "{ kind = \"packet-error\", rate = 0.01 }")
        .unwrap();
    let report = Trial::new(&scenario).options(OPTIONS).run(|seed| upload(Control::Reno, seed)).unwrap();
    report.goodput_kbps().assert_at_least(100.0);
    report.retransmissions().assert_at_least(1.0);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scenario = scenario("drop-tail");
    let results = || {
        let report =
            Trial::new(&scenario).seeds(3..=3).options(OPTIONS).run(|seed| download(Control::Cubic, seed));
        report.unwrap().outcomes().map(|(_, outcome)| outcome.to_json().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(results(), results());
}

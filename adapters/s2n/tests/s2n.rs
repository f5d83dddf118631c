//! s2n-quic in a cell.

use airwnd::{FlowOptions, Pair, Path, Scenario, Trial};
use airwnd_s2n::{Control, download, upload};
use std::time::Duration;

const LOADED: &str = include_str!("../../loaded.toml");

fn loaded() -> Scenario {
    Scenario::from_toml(LOADED).unwrap()
}

fn results(control: Control, seed: u64) -> String {
    let mut path = Path::new(&loaded(), 1).unwrap();
    let flow = path.open(path.ue("phone").unwrap(), FlowOptions::udp()).unwrap();
    let (mut ue, mut server) = download(control, seed);
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], Duration::from_secs(10)).unwrap();
    path.finish().unwrap().to_json().to_string()
}

#[test]
fn both_controls_keep_their_share_of_a_loaded_cell() {
    for control in Control::ALL {
        let report = Trial::new(&loaded()).ue("phone").run(|seed| download(control, seed)).unwrap();
        report.goodput_kbps().assert_at_least(2000.0);
        report.loss_percent().assert_at_most(20.0);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for control in Control::ALL {
        let first = results(control, 1);
        assert_eq!(results(control, 1), first, "{control:?}");
    }
}

#[test]
fn an_upload_arrives() {
    let report = Trial::new(&loaded()).seeds(1..=4).run(|seed| upload(Control::Cubic, seed)).unwrap();
    report.goodput_kbps().assert_at_least(1000.0);
}

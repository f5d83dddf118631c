//! The transport in a loaded cell.

use airwnd::{Scenario, Trial};
use transport_test::{Receiver, Sender};

#[test]
fn a_download_gets_its_share_of_a_loaded_cell() {
    let scenario = Scenario::read("cell.toml").unwrap();
    let report = Trial::new(&scenario).run(|_| (Receiver::default(), Sender::default())).unwrap();
    report.goodput_kbps().assert_at_least(6000.0);
    report.queueing_delay_ms_p95().assert_at_most(150.0);
    report.retransmissions().assert_at_most(0.0);
}

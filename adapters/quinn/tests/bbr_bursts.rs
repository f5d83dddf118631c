//! A defect of quinn's BBR on two links of the same rate: one delivers packets one by one, the other, a cell, several in
//! each TTI.
//!
//! BBR's bandwidth samples lie between two packets acknowledged one after the other. On the link they are its rate; in the
//! cell they are the rate within a burst, and BBR sends twice what the cell carries.

use airwnd::{Scenario, Trial};
use airwnd_quinn::{Control, download};

const LINK: &str = r#"
    duration = "20s"
    [[link]]
    rate = "12Mbps"
    delay = "10ms"
    aqm = { kind = "drop-tail", buffer = "1MB" }
    [[ue]]
"#;
const CELL: &str = r#"
    duration = "20s"
    carrier.bandwidth = "5MHz"
    radio.fading = "none"
    rlc.queue = { kind = "drop-tail", buffer = "1MB" }
    [[site]]
    [[ue]]
    placement = { kind = "ring", radius = "300m" }
"#;

#[test]
fn bbr_loses_every_second_packet_in_a_cell_and_few_on_a_link() {
    let [link, cell] = [LINK, CELL].map(|text| {
        let trial = Trial::new(&Scenario::from_toml(text).unwrap()).seeds(1..=3);
        let report = trial.run(|seed| download(Control::Bbr.transport(), seed)).unwrap();
        println!("{}, losses {}", report.goodput_kbps(), report.loss_percent());
        report.loss_percent()
    });
    link.assert_at_most(1.0);
    cell.assert_at_least(30.0);
}

//! quinn's BBR on two links of the same rate: one delivers packets one by one, the other, a cell, several in each TTI.
//!
//! BBR's bandwidth samples lie between two packets acknowledged one after the other. On the link they are its rate; in the
//! cell they are the rate within a burst, and BBR sends twice what the cell carries.

use airwnd::{Scenario, Trial, TrialError};
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

fn main() -> Result<(), TrialError> {
    for (name, text) in [("link", LINK), ("cell", CELL)] {
        let scenario = Scenario::from_toml(text)?;
        let report =
            Trial::new(&scenario).seeds(1..=3).run(|seed| download(Control::Bbr.transport(), seed))?;
        println!("{name}: {}, losses {}", report.goodput_kbps(), report.loss_percent());
    }
    Ok(())
}

//! smoltcp after one lost packet, and after two of the same window. The first ACK of new data ends its fast recovery, so
//! the second loss waits for the retransmission timer (RFC 6582 §3.2: a partial ACK is answered with the next segment).

use airwnd::{Scenario, Trial};
use airwnd_smoltcp::{Control, OPTIONS, download};
use std::error::Error;

const LINK: &str = r#"
    duration = "8s"
    core = { server_delay = "0ms", server_rate = "0bps" }
    [[link]]
    rate = "20Mbps"
    delay = "25ms"
    queue = 3000
    [[ue]]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    for instants in [r#"["5s"]"#, r#"["5s", "5002ms"]"#] {
        let loss = format!("{{ kind = \"scripted\", instants = {instants} }}");
        let scenario = Scenario::from_toml(LINK)?.with("link[0].loss", &loss)?;
        for control in Control::ALL {
            let trial = Trial::new(&scenario).seeds(1..=1).options(OPTIONS);
            let report = trial.run(|seed| download(control, seed))?;
            println!("lost at {instants}: smoltcp's {}: {}", control.name(), report.goodput_kbps());
        }
        let simulated = Scenario::from_toml(&format!("{LINK}\n[[flow]]\ncc = \"cubic\"\n"))?;
        let outcome = simulated.with("link[0].loss", &loss)?.run(1)?;
        println!("lost at {instants}: airwnd's CUBIC: {:.0} kbit/s", outcome.flows()[0].goodput_kbps);
    }
    Ok(())
}

//! smoltcp after one lost packet, and after five of the same window: the first ACK of new data ends its fast recovery,
//! so that each lost packet of a window reduces the window again (RFC 6582 §3.2, RFC 9438 §4.6: once per window).

use airwnd::{Scenario, Trial};
use airwnd_smoltcp::{Control, OPTIONS, download};
use std::error::Error;

const LINK: &str = r#"
    duration = "20s"
    core = { server_delay = "0ms", server_rate = "0bps" }
    [[link]]
    rate = "20Mbps"
    delay = "25ms"
    [[ue]]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    for lost in [0, 1, 5] {
        let instants: Vec<String> = (0..lost).map(|each| format!("\"{}ms\"", 2000 + 2 * each)).collect();
        let loss = format!("{{ kind = \"scripted\", instants = [{}] }}", instants.join(", "));
        let scenario = Scenario::from_toml(LINK)?.with("link[0].loss", &loss)?;
        for control in Control::ALL {
            let trial = Trial::new(&scenario).seeds(1..=1).options(OPTIONS);
            let report = trial.run(|seed| download(control, seed))?;
            println!("{lost} lost, smoltcp's {}: {}", control.name(), report.goodput_kbps());
        }
        let simulated = Scenario::from_toml(&format!("{LINK}\n[[flow]]\ncc = \"cubic\"\n"))?;
        let outcome = simulated.with("link[0].loss", &loss)?.run(1)?;
        println!("{lost} lost, airwnd's CUBIC: {:.0} kbit/s", outcome.flows()[0].goodput_kbps);
    }
    Ok(())
}

//! Runs a scenario file that may use the plug-in `gentle`, and prints the results as JSON.

mod gentle;

use airwnd_catalog::{Error, Node};
use airwnd_lab::{Outcome, Plugins, Scenario, run};

fn main() {
    let file = std::env::args().nth(1).unwrap_or_else(|| "scenario.toml".into());
    match simulate(&file) {
        Ok(outcome) => println!("{:#}", outcome.to_json()),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

fn simulate(file: &str) -> Result<Outcome, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| Error::new(file, None, error.to_string()))?;
    let mut plugins = Plugins::default();
    gentle::register(&mut plugins);
    let scenario = Scenario::with_plugins(&Node::from_toml(&text, file)?, &plugins)?;
    run(&scenario, scenario.seed, None, &mut |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queueing_delay_stays_near_the_target() {
        let outcome = simulate(concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.toml")).unwrap();
        // Less than the path's 13 ms plus 50 ms of queue: the ACKs' wait for uplink grants counts as queueing delay.
        // CUBIC in the same cell: 651 ms.
        let delay = outcome.totals().delay_ms_mean.unwrap();
        assert!((30.0..60.0).contains(&delay), "{delay} ms");
        assert!(outcome.totals().goodput_kbps > 27_000.0);
    }

    #[test]
    fn a_missing_file_is_named() {
        assert!(simulate("nowhere.toml").unwrap_err().to_string().starts_with("nowhere.toml: "));
    }
}

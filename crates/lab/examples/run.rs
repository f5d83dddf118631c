//! Runs a scenario file without Python: `cargo run --release -p airwnd-lab --example run FILE [KEY=VALUE]...`
//!
//! The environment variable `AIRWND_THREADS` sets the number of threads.

use airwnd_catalog::{Error, Node};
use airwnd_lab::{Outcome, Records, Scenario, run_tapped};

fn main() {
    match simulate() {
        // As one text: parts of it would be searched for the ends of lines.
        Ok(outcome) => {
            println!("{}", serde_json::to_string_pretty(&outcome).expect("figures are values of JSON"));
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

fn simulate() -> Result<Outcome, Error> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_default();
    let text = std::fs::read_to_string(&file).map_err(|error| Error::new(&file, None, error.to_string()))?;
    let mut node = Node::from_toml(&text, &file)?;
    for argument in arguments {
        let (key, value) = argument.split_once('=').unwrap_or((&argument, ""));
        node.set(key, value)?;
    }
    let scenario = Scenario::from_node(&node)?;
    let threads = std::env::var("AIRWND_THREADS").ok();
    let number = |text: String| {
        text.parse().map_err(|error| Error::new("AIRWND_THREADS", None, format!("{text}: {error}")))
    };
    let records = Records { threads: threads.map(number).transpose()?, ..Records::default() };
    run_tapped(&scenario, scenario.seed, &records, None, &mut |_| true)
}

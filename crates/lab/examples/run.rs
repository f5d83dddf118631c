//! Runs a scenario file without Python: `cargo run --release -p airwnd-lab --example run FILE [KEY=VALUE]...`

use airwnd_catalog::{Error, Node};
use airwnd_lab::{Outcome, Scenario, run};

fn main() {
    match simulate() {
        Ok(outcome) => println!("{:#}", outcome.to_json()),
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
    run(&scenario, scenario.seed, None, &mut |_| true)
}

//! Measures transport stacks in the scenarios of `experiments/stacks-in-cell`, and writes its tables.
//!
//! ```sh
//! cargo run --release -p airwnd-compare -- experiments/stacks-in-cell 5
//! ```

use airwnd::{Cbr, Measure, Report, Scenario, Trial};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path as FilePath;
use std::time::Instant;

const USAGE: &str = "usage: airwnd-compare FOLDER SEEDS";
/// Congestion controls of the simulated TCP, whose stack is Linux's.
const SIMULATED: [&str; 3] = ["cubic", "bbr", "bbr3"];
/// Scenarios in the order of the table.
const SCENARIOS: [&str; 6] = ["walking", "driving", "loaded", "blockage", "recording", "leo"];
/// Columns of the file: name, decimals.
const COLUMNS: [(&str, usize); 4] =
    [("goodput_kbps", 0), ("queueing_delay_ms_p95", 1), ("loss_percent", 2), ("retransmissions", 0)];

/// Values of a seed, in the order of [`COLUMNS`].
type Values = [f64; COLUMNS.len()];

/// A stack in a scenario.
struct Row {
    scenario: String,
    stack: String,
    values: Vec<(u64, Values)>,
    /// Simulated seconds per second.
    speed: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seeds] = arguments.as_slice() else { return Err(USAGE.into()) };
    let (folder, seeds) = (FilePath::new(folder), seeds.parse()?);
    let mut rows = Vec::new();
    for name in SCENARIOS {
        let text = fs::read_to_string(folder.join("scenarios").join(format!("{name}.toml")))?;
        measure(&text, seeds, &mut rows)?;
    }
    fs::write(folder.join("results.csv"), csv(&rows)?)?;
    fs::write(folder.join("table.md"), markdown(&rows)?)?;
    Ok(())
}

fn measure(text: &str, seeds: u64, rows: &mut Vec<Row>) -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::from_toml(text)?;
    let trial = Trial::new(&scenario).seeds(1..=seeds);
    let tcp = trial.clone().options(airwnd_smoltcp::OPTIONS);
    // The delay of an idle path, from which the queueing delays of all stacks are counted.
    let probe = trial.run(|_| (Cbr::receiver(), Cbr::sender(100, 1200)))?;
    let floors = probe.delay_ms_min();
    let name = name_of(text)?;
    let mut add = |stack: String, began: Instant, values: Vec<(u64, Values)>| {
        let simulated = scenario.duration().as_secs_f64() * seeds as f64;
        let speed = simulated / began.elapsed().as_secs_f64();
        eprintln!("{name}: {stack}: {:.0} kbit/s, {speed:.0} times real time", values[0].1[0]);
        rows.push(Row { scenario: name.clone(), stack, values, speed });
    };
    for control in airwnd_quinn::Control::ALL {
        let began = Instant::now();
        let report = trial.run(|seed| airwnd_quinn::download(control.transport(), seed))?;
        add(format!("quinn {}", control.name()), began, values_of(&report, &floors));
    }
    for control in airwnd_smoltcp::Control::ALL {
        let began = Instant::now();
        let report = tcp.run(|seed| airwnd_smoltcp::download(control, seed))?;
        add(format!("smoltcp {}", control.name()), began, values_of(&report, &floors));
    }
    for control in SIMULATED {
        let began = Instant::now();
        add(format!("airwnd {control}"), began, simulated(text, control, &floors)?);
    }
    Ok(())
}

fn name_of(text: &str) -> Result<String, Box<dyn Error>> {
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    Ok(name.ok_or("a scenario without a name")?.to_string())
}

fn values_of(report: &Report, floors: &Measure) -> Vec<(u64, Values)> {
    let columns = [report.goodput_kbps(), report.delay_ms_p95(), report.loss_percent(), report.retransmissions()];
    let of_seed = |(index, (seed, floor)): (usize, &(u64, f64))| {
        let mut values = [0, 1, 2, 3].map(|column: usize| columns[column].values()[index].1);
        values[1] -= floor;
        (*seed, values)
    };
    floors.values().iter().enumerate().map(of_seed).collect()
}

/// Runs the simulated TCP on the first UE, beside the flows of the scenario.
fn simulated(text: &str, control: &str, floors: &Measure) -> Result<Vec<(u64, Values)>, Box<dyn Error>> {
    let flow = format!("\n[[flow]]\nid = \"tested\"\nue = \"phone\"\ncc = \"{control}\"\n");
    let scenario = Scenario::from_toml(&format!("{text}{flow}"))?;
    let of_seed = |(seed, floor): &(u64, f64)| {
        let outcome = scenario.run(*seed)?;
        let row = outcome.flows().iter().find(|row| row.group == "tested").ok_or("the flow has a row")?;
        let delay = row.delay_ms.p95.unwrap_or(f64::NAN) - floor;
        let loss = 100.0 * row.packets_dropped as f64 / row.packets_sent as f64;
        Ok((*seed, [row.goodput_kbps, delay, loss, row.retransmissions as f64]))
    };
    floors.values().iter().map(of_seed).collect()
}

fn csv(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = format!("scenario,stack,seed,{}\n", names.join(","));
    for row in rows {
        for (seed, values) in &row.values {
            write!(text, "{},{},{seed}", row.scenario, row.stack)?;
            for (value, (_, decimals)) in values.iter().zip(COLUMNS) {
                write!(text, ",{value:.decimals$}")?;
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// A table of the means over the seeds, a row for each stack.
fn markdown(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let mut scenario = "";
    for row in rows {
        if row.scenario != scenario {
            scenario = &row.scenario;
            write!(text, "\n**{scenario}**\n\n")?;
            text.push_str("| Stack | Goodput (kbit/s) | p95 of queueing delay (ms) | Losses (%) | Repeated | Speed |\n");
            text.push_str("|---|--:|--:|--:|--:|--:|\n");
        }
        let mean = |column: usize| {
            row.values.iter().map(|(_, values)| values[column]).sum::<f64>() / row.values.len() as f64
        };
        write!(text, "| {} | {:.0} | {:.0} | {:.2} | {:.0} ", row.stack, mean(0), mean(1), mean(2), mean(3))?;
        writeln!(text, "| {:.0} |", row.speed)?;
    }
    Ok(text.trim_start().to_string())
}

//! A download over quinn-proto in a scenario: goodput, delay and losses, and how long the simulation took.
//!
//! ```sh
//! cargo run --release -p airwnd-quinn --example cell -- adapters/loaded.toml cubic 60 1
//! ```

use airwnd::{FlowOptions, Pair, Path, Scenario};
use airwnd_quinn::{Control, download};
use std::error::Error;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: cell SCENARIO cubic|newreno|bbr SECONDS SEED";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, control, seconds, seed] = arguments.as_slice() else { return Err(USAGE.into()) };
    let control = Control::ALL.into_iter().find(|known| known.name() == control).ok_or(USAGE)?;
    let (duration, seed) = (Duration::from_secs(seconds.parse()?), seed.parse()?);
    let scenario = Scenario::read(file)?;
    let began = Instant::now();
    let mut path = Path::new(&scenario, seed)?;
    let flow = path.open(path.ue(&scenario.ue_names()[0])?, FlowOptions::udp())?;
    let (mut ue, mut server) = download(control.transport(), seed);
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], duration)?;
    let id = path.id(flow)?;
    let outcome = path.finish()?;
    let row = outcome.flows().iter().find(|row| row.id == id).ok_or("the flow has a row")?;
    println!(
        "{} of {}: {:.0} kbit/s, p95 of delay {:.0} ms, {} of {} packets dropped, {} declared lost",
        control.name(),
        scenario.ue_names()[0],
        row.goodput_kbps,
        row.delay_ms.p95.unwrap_or(f64::NAN),
        row.packets_dropped,
        row.packets_sent,
        row.retransmissions,
    );
    println!("{} s in {:.2} s", duration.as_secs(), began.elapsed().as_secs_f64());
    Ok(())
}

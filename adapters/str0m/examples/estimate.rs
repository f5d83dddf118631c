//! str0m's bandwidth estimate, second by second, beside the rate of the video and its delay.
//!
//! ```sh
//! cargo run --release -p airwnd-str0m --example estimate -- experiments/stacks-in-cell/scenarios/walking.toml 30
//! ```

use airwnd::{Endpoint, FlowOptions, Pair, Path, Scenario};
use airwnd_str0m::video;
use std::error::Error;
use std::time::Duration;

const USAGE: &str = "usage: estimate SCENARIO SECONDS";
const MAX_KBPS: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds] = arguments.as_slice() else { return Err(USAGE.into()) };
    let scenario = Scenario::read(file)?;
    let mut path = Path::new(&scenario, 1)?;
    let flow = path.open(path.ue(&scenario.ue_names()[0])?, FlowOptions::udp())?;
    let (mut ue, mut server) = video(MAX_KBPS, 1);
    println!("second,estimate_kbps,video_kbps");
    let mut before = 0;
    for second in 1..=seconds.parse()? {
        path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], Duration::from_secs(second))?;
        let estimate = server.estimate_kbps().ok_or("the server sends")?;
        println!("{second},{estimate:.0},{:.0}", (ue.received() - before) as f64 * 8e-3);
        before = ue.received();
    }
    Ok(())
}

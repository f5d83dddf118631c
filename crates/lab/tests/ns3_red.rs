//! Four NewReno flows through RED as ns-3 3.44 ran them: 10 Mbit/s, 25 ms one way, 60 s, flows 0.1 s apart.
//!
//! `cargo test -p airwnd-lab --test ns3_red -- --nocapture` prints every comparison.

use airwnd_catalog::Node;
use airwnd_lab::{Scenario, run};

const FLOWS: u64 = 4;

fn simulate(aqm: &str, seed: u64) -> [f64; 4] {
    let flows: String = (0..FLOWS)
        .map(|flow| format!("[[flow]]\nid = \"f{flow}\"\nstart = \"{}ms\"\n", 100 * flow))
        .collect();
    let toml = format!(
        "duration = \"60s\"\nwarmup = \"0s\"\n\
         tcp = {{mss = 1000, send_buffer = \"4MiB\", receive_buffer = \"4MiB\", recount_at_exit = true}}\n\
         core = {{server_rate = \"1Gbps\", server_delay = \"1us\"}}\n\
         [[link]]\nrate = \"10Mbps\"\ndelay = \"25ms\"\naqm = {aqm}\n[[ue]]\n{flows}"
    );
    let scenario = Scenario::from_node(&Node::from_toml(&toml, "s5").unwrap()).unwrap();
    let outcome = run(&scenario, seed, None, &mut |_| true).unwrap();
    let totals = outcome.totals();
    let link = outcome.links().iter().find(|row| row.link == "link").unwrap();
    [totals.goodput_kbps, totals.delay_ms.unwrap(), link.queue_packets.mean, link.early as f64]
}

#[test]
fn explore() {
    for aqm in [
        "{kind = \"gentle-red\", spacing = \"wait\", least_queue = 2}",
        "{kind = \"gentle-red\", spacing = \"wait\", least_queue = 3}",
        "{kind = \"red\", spacing = \"wait\", least_queue = 2}",
        "{kind = \"adaptive-red\", spacing = \"wait\", least_queue = 2}",
    ] {
        for seed in 1..=4 {
            println!("{aqm} {seed}: {:.2?}", simulate(aqm, seed));
        }
    }
}

//! Benchmark of the engine: cost of a simulated second.
//!
//! `cargo run --release -p airwnd-lab --example bench` prints CPU seconds per simulated second, events per second,
//! nanoseconds per event, and peak memory. The scenarios are 1 to 100 UEs of the three-sector site of the ns-3
//! reference run S3, ten UEs with fading channels under every scheduler, a network of 57 cells, one TCP flow over a
//! wire (S5), and 10 000 short flows. Each row is the median of five runs, because machines are noisy.
//!
//! A second table has the cost of each receive-window control: nanoseconds per data segment at the receiving endpoint
//! (minimum of several runs), and the difference to `fixed`.

#[path = "../tests/it/support/counting.rs"]
mod counting;
#[path = "bench/receivers.rs"]
mod receivers;
#[path = "../tests/it/support/s3.rs"]
mod s3;

use airwnd_catalog::Node;
use airwnd_cell::mac::sched;
use airwnd_lab::{Scenario, run};
use cpu_time::ProcessTime;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting::new();

const RUNS: usize = 5;

/// CPU seconds per simulated second of ns-3 3.44 for S3 with 100 UEs and for S5 with one flow: optimized build, traces
/// off, on the type of machine used for the project's figures.
const NS3: [(&str, f64); 3] =
    [("S3 a, 100 users", 4.2), ("S3 b, 100 users", 5.0), ("S5, one flow on a wire", 0.89 / 60.0)];

fn main() {
    println!(
        "{:<24} {:>12} {:>12} {:>10} {:>10} {:>10} {:>12}",
        "scenario", "CPU s/sim s", "min", "events/s", "ns/event", "MB", "times ns-3"
    );
    // One UE is the first of 20; the reference runs have no variant b with 60 UEs.
    for (variant, users, placed) in [
        ("a", "1", "20"),
        ("a", "20", "20"),
        ("a", "60", "60"),
        ("a", "100", "100"),
        ("b", "1", "20"),
        ("b", "20", "20"),
        ("b", "100", "100"),
    ] {
        row(&format!("S3 {variant}, {users} users"), &s3::scenario(variant, users, placed, "20", "80"));
    }
    for scheduler in sched::Spec::built_in() {
        row(
            &format!("ten cars, {scheduler}"),
            &format!(
                r#"
                preset = "airwnd-0.1"
                duration = "20s"
                radio.fading = {{kind = "eva", speed = "20m/s"}}
                mac.scheduler = "{scheduler}"
                rlc.queue = {{kind = "drop-tail", buffer = "51200B"}}
                [[site]]
                power = "33dBm"
                [[ue]]
                count = 10
                placement = "line"
                [[flow]]
                "#
            ),
        );
    }
    row(
        "57 cells, 1000 users",
        r#"
        preset = "airwnd-0.1"
        duration = "1s"
        handover.algorithm = "a3-rsrp"
        radio.position_period = "20ms"
        rlc.queue = {kind = "drop-tail", buffer = "51200B"}
        [[site]]
        rings = 2
        sectors = 3
        azimuth = "30deg"
        antenna = {kind = "parabolic", beamwidth = "70deg"}
        [[ue]]
        count = 1000
        placement = {kind = "disc", radius = "1200m"}
        mobility = {kind = "random-waypoint", min_speed = "10m/s", max_speed = "30m/s", pause = "0s"}
        [[flow]]
        "#,
    );
    row(
        "S5, one flow on a wire",
        r#"
        preset = "airwnd-0.1"
        duration = "60s"
        warmup = "0s"
        tcp = {mss = 1000, send_buffer = "4MiB", receive_buffer = "4MiB"}
        core = {server_rate = "1Gbps", server_delay = "1us"}
        [[link]]
        rate = "10Mbps"
        delay = "25ms"
        queue = 100
        [[ue]]
        [[flow]]
        "#,
    );
    row(
        "10 000 short flows",
        r#"
        preset = "airwnd-0.1"
        duration = "1000s"
        [[link]]
        rate = "100Mbps"
        delay = "20ms"
        [[ue]]
        [[flow]]
        traffic = {kind = "transfer", size = "30kB"}
        arrivals = {kind = "poisson", rate = 10.0}
        "#,
    );
    receivers::table();
}

fn row(name: &str, toml: &str) {
    let origin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bench.toml");
    let scenario = Scenario::from_node(&Node::from_toml(toml, origin).unwrap()).unwrap();
    let simulated = (scenario.warmup + scenario.duration).as_secs();
    ALLOCATOR.reset_peak();
    let mut times = Vec::new();
    let mut events = 0;
    for _ in 0..RUNS {
        let start = ProcessTime::now();
        events = run(&scenario, 1, None, &mut |_| true).unwrap().handled();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[RUNS / 2];
    let ratio = NS3
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(String::new(), |(_, theirs)| format!("{:.0}", theirs / (median / simulated)));
    println!(
        "{name:<24} {:>12.5} {:>12.5} {:>10.2e} {:>10.0} {:>10.1} {ratio:>12}",
        median / simulated,
        times[0] / simulated,
        events as f64 / median,
        median * 1e9 / events as f64,
        ALLOCATOR.peak() as f64 / 1e6,
    );
}

//! Many tests of quinn in a loaded cell, each with a seed of its own: a digest of all their results, which is the same on
//! every platform and with any number of threads, and the time.
//!
//! ```sh
//! cargo run --release -p airwnd-quinn --example many -- 1000 10 2
//! ```

use airwnd::{FlowOptions, Pair, Path, PathError, Scenario};
use airwnd_quinn::{Control, download};
use std::error::Error;
use std::hash::{DefaultHasher, Hasher};
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: many TESTS SECONDS THREADS";
const LOADED: &str = include_str!("../../loaded.toml");

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [tests, seconds, threads] = *arguments.as_slice() else { return Err(USAGE.into()) };
    if threads == 0 {
        return Err(USAGE.into());
    }
    let scenario = Scenario::from_toml(LOADED)?;
    let duration = Duration::from_secs(seconds);
    let began = Instant::now();
    let part = |first: u64| -> Result<Vec<(u64, String)>, PathError> {
        (first..tests + 1).step_by(threads as usize).map(|seed| test(&scenario, seed, duration)).collect()
    };
    // The first part needs no thread: WebAssembly has none.
    let parts = thread::scope(|scope| {
        let others: Vec<_> = (2..=threads).map(|first| scope.spawn(move || part(first))).collect();
        let own = part(1);
        let others = others.into_iter().map(|part| part.join().expect("a test does not panic"));
        std::iter::once(own).chain(others).collect::<Result<Vec<_>, _>>()
    })?;
    let mut results = parts.concat();
    results.sort();
    let mut hasher = DefaultHasher::new();
    // `Hash` of a list or a string contains its length, whose size depends on the platform.
    results.iter().for_each(|(seed, text)| hasher.write(format!("{seed} {text}\n").as_bytes()));
    println!("{tests} tests of {seconds} s: {:016x}", hasher.finish());
    eprintln!("{:.2} s with {threads} threads", began.elapsed().as_secs_f64());
    Ok(())
}

/// A seed, and the results of the test with it as JSON.
fn test(scenario: &Scenario, seed: u64, duration: Duration) -> Result<(u64, String), PathError> {
    let mut path = Path::new(scenario, seed)?;
    let flow = path.open(path.ue("phone")?, FlowOptions::udp())?;
    let (mut ue, mut server) = download(Control::Cubic.transport(), seed);
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], duration)?;
    Ok((seed, path.finish()?.to_json().to_string()))
}

//! The guard with connections of this machine's kernel, in network namespaces.
//!
//! These tests need root and a kernel with eBPF and cgroup version 2. Where the machine refuses that, a test checks the
//! message instead and says so. No result depends on time: a test counts ACKs.
#![cfg(target_os = "linux")]

mod cases;
mod measure;
mod roles;
mod session;
mod shape;
mod wire;

use std::panic::catch_unwind;
use std::process::ExitCode;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [role, rest @ ..] if roles::play(role, rest) => ExitCode::SUCCESS,
        // There are no ignored tests and no benchmarks.
        _ if words.contains(&"--ignored") || words.contains(&"--list") => ExitCode::SUCCESS,
        filter => run(filter),
    }
}

/// The kernel reorders the packets of a connection that several processors handle. On one, a right edge that moves
/// back is an error.
fn use_one_processor() {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).expect("a process");
    let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu) == Ok(true));
    let mut one = CpuSet::new();
    one.set(first.expect("this one")).expect("a small number");
    sched_setaffinity(this, &one).expect("an allowed processor");
}

fn run(filter: &[&str]) -> ExitCode {
    use_one_processor();
    let mut failed = false;
    let is_chosen = |name: &str| {
        filter.iter().all(|word| word.starts_with('-')) || filter.iter().any(|word| name.contains(word))
    };
    for (name, test) in cases::ALL.iter().filter(|(name, _)| is_chosen(name)) {
        let outcome = match catch_unwind(test) {
            Ok(Ok(())) => "ok".to_string(),
            Ok(Err(refusal)) => format!("not possible here, message checked: {refusal}"),
            Err(_) => {
                failed = true;
                "FAILED".to_string()
            }
        };
        println!("test {name} ... {outcome}");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

//! Sides in use: as root, and as a user without privilege.
//!
//! The kernel creates namespaces and devices for these tests, so they need Linux. Where it refuses, a test checks the
//! message instead and says so. The program runs itself in other roles (`roles.rs`), which libtest's threads would
//! prevent.
#![cfg(target_os = "linux")]

mod cases;
mod host;
mod link;
mod roles;

use std::panic::catch_unwind;
use std::process::{Command, ExitCode};

use airwnd_netns::Error;
use nix::sys::signal::{SigHandler, Signal, signal};

/// An argument that makes this program run the tests as another user.
const AS_USER: &str = "as-user";

fn main() -> ExitCode {
    heed_ctrl_c();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [AS_USER, filter @ ..] => run("user", filter),
        [role, rest @ ..] if roles::play(role, rest) => ExitCode::SUCCESS,
        // There are no ignored tests and no benchmarks.
        _ if words.contains(&"--ignored") || words.contains(&"--list") => ExitCode::SUCCESS,
        filter if host::is_root() => run_as_root_and_user(filter),
        filter => run("user", filter),
    }
}

/// A shell without job control starts programs in the background with SIGINT ignored, which commands would inherit.
#[expect(unsafe_code, reason = "a handler may do anything; the default one does not")]
fn heed_ctrl_c() {
    // SAFETY: no handler is installed.
    unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }.expect("a valid signal");
}

fn run_as_root_and_user(filter: &[&str]) -> ExitCode {
    if let Err(why) = host::leave() {
        println!("not possible here: root without the right to make a network namespace: {why}");
        return ExitCode::SUCCESS;
    }
    let root = run("root", filter);
    let mut user = Command::new(roles::PROGRAM);
    user.arg(AS_USER).args(filter);
    host::drop_privileges(&mut user);
    let succeeded = user.status().expect("the tests as a user").success();
    if succeeded { root } else { ExitCode::FAILURE }
}

fn run(identity: &str, filter: &[&str]) -> ExitCode {
    let mut failed = 0;
    let chosen = cases::ALL.iter().filter(|(name, _)| {
        filter.iter().all(|word| word.starts_with('-')) || filter.iter().any(|word| name.contains(word))
    });
    for (name, test) in chosen {
        let outcome = match catch_unwind(test) {
            Ok(Ok(())) => "ok".to_string(),
            Ok(Err(error)) => refusal(&error).unwrap_or_else(|| format!("FAILED: {error}")),
            Err(_) => "FAILED".to_string(),
        };
        failed += usize::from(outcome.starts_with("FAILED"));
        println!("test {name} ({identity}) ... {outcome}");
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// This machine forbids namespaces or the device. Then the message must say what to do.
fn refusal(error: &Error) -> Option<String> {
    let text = error.to_string();
    let refused = text.starts_with("cannot ") && !text.contains('\n');
    let mends = text.contains("with: sudo ") || text.contains("start that with: --");
    (refused && mends).then(|| format!("not possible here, message checked: {text}"))
}

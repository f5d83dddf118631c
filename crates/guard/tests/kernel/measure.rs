//! `test` and `serve` in network namespaces. `python/tests/test_guard.py` has a whole test over a link with a long queue.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::session::Cgroup;
use crate::shape::{ATTEMPTS, PAUSE, Site, end};

const PROGRAM: &str = env!("CARGO_BIN_EXE_airwnd-guard");
const SERVER: &str = "192.0.2.2";

/// Starts a server at the other end of the link.
fn serve(site: &Site) -> Child {
    let mut server =
        site.ends[1].enter(PROGRAM).arg("serve").stderr(Stdio::piped()).spawn().expect("nsenter");
    let mut line = String::new();
    BufReader::new(server.stderr.as_mut().expect("a pipe")).read_line(&mut line).expect("text");
    assert!(line.starts_with("serving at "), "{line}");
    server
}

fn test(site: &Site) -> Child {
    let mut command = site.ends[0].enter(PROGRAM);
    command
        .args(["test", SERVER, "--flows", "1", "--seconds", "30"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().expect("nsenter of util-linux")
}

/// The cgroup that a test has made.
fn cgroup_of(child: &Child) -> Option<PathBuf> {
    let start = format!("airwnd-guard-run-{}-", child.id());
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(fs::read_dir);
    let mut entries = roots.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
    entries.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
}

fn await_condition(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..10 * ATTEMPTS {
        if condition() {
            return;
        }
        sleep(PAUSE);
    }
    panic!("{what}");
}

/// Bytes that have arrived over the link.
fn received(site: &Site) -> u64 {
    let table = site.ends[0].shell("cat /proc/self/net/dev");
    let line = table.lines().find_map(|line| line.trim().strip_prefix("wan:")).expect("the interface");
    line.split_whitespace().next().expect("a counter").parse().expect("a number")
}

/// Both while the link is idle and in a download.
pub fn interrupted_tests_leave_nothing() -> Result<(), String> {
    let site = Site::open()?;
    let mut server = serve(&site);
    let signals = [
        (Signal::SIGINT, 0, "exit status: 130"),
        (Signal::SIGTERM, 5_000_000, "exit status: 130"),
        (Signal::SIGKILL, 0, "signal: 9 (SIGKILL)"),
    ];
    for (signal, bytes, status) in signals {
        let child = test(&site);
        let before = received(&site);
        await_condition("the test has a cgroup", || cgroup_of(&child).is_some());
        await_condition("pings, or a download", || received(&site) > before + bytes);
        let cgroup = cgroup_of(&child).expect("as long as the test runs");
        assert_eq!(end(child, signal), status);
        await_condition("the cgroup is removed", || !cgroup.exists());
    }
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("a process");
    assert_eq!(server.wait().expect("a child").to_string(), "exit status: 0");
    Ok(())
}

/// Runs a test without a server; returns its message.
fn message(command: &mut Command) -> String {
    let output = command.args(["test", "127.0.0.1:1"]).output().expect("the program of this crate");
    String::from_utf8_lossy(&output.stderr).trim_end().to_string()
}

/// Connections that another guard controls cannot be measured without a guard.
pub fn a_test_beside_a_guard_is_refused() -> Result<(), String> {
    let cgroup = Cgroup::create("covered")?;
    let path = cgroup.0.to_str().expect("plain text");
    let mut guard =
        Command::new(PROGRAM).args(["--cgroup", path]).stderr(Stdio::piped()).spawn().expect("the program");
    let mut line = String::new();
    BufReader::new(guard.stderr.as_mut().expect("a pipe")).read_line(&mut line).expect("text");
    if line != "guarding\n" {
        guard.wait().expect("a child");
        return Err(line.trim_end().to_string());
    }
    let enter = format!("echo 0 > {path}/cgroup.procs && exec \"$@\"");
    let refused = message(Command::new("sh").args(["-c", &enter, "sh", PROGRAM]));
    let elsewhere = message(&mut Command::new(PROGRAM));
    end(guard, Signal::SIGTERM);
    let start = format!("airwnd-guard: cgroup {path}: guarded by another process already: airwnd-guard ");
    assert!(refused.starts_with(&start), "{refused}");
    assert!(refused.ends_with("; end that guard for the time of the test"), "{refused}");
    assert!(elsewhere.contains("nothing answers at TCP port 1; "), "{elsewhere}");
    Ok(())
}

/// A user without privileges measures without the guard, and comes as far as the server.
pub fn without_privileges() -> Result<(), String> {
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", PROGRAM]).args(arguments);
        command
    };
    let help = as_nobody(&["--help"]).output();
    if !help.is_ok_and(|help| help.status.success()) {
        return Err("another user cannot run the program of this crate".to_string());
    }
    let message = message(&mut as_nobody(&[]));
    assert!(message.contains("nothing answers at TCP port 1; "), "{message}");
    Ok(())
}

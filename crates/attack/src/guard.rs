//! Fuzz targets of `airwnd guard`: what it reads from files, from the kernel, and from another process.

use airwnd_catalog::{Node, Param as _};
use airwnd_guard::{
    Names, Observation, Policy, Recorded, Rules, Target, read_recording, rewritten_message, status_table,
};
use airwnd_rwnd::Spec;
use airwnd_units::{Bytes, Span, Time};
use std::collections::{HashMap, HashSet};

const NAME: &str = "rules.toml";
/// Controllers that the guard accepts.
const CONTROLLERS: [&str; 5] = [
    "\"standing\"",
    "\"drwa\"",
    "{\"kind\": \"drwa\", \"lambda\": 1.5}",
    "\"rledbat\"",
    "{\"kind\": \"fixed\", \"limit\": \"20000B\"}",
];
/// Flows of a sequence of reports.
const FLOWS: u64 = 4;
/// Longest time between two reports.
const PAUSE: Span = Span::from_millis(100);
/// Bytes of the timestamps option, which the MSS of a report includes.
const OPTION: u64 = 12;

struct Machine;

impl Names for Machine {
    fn interface(&self, name: &str) -> Result<u32, String> {
        if name == "wan" { Ok(2) } else { Err("no interface has this name".to_string()) }
    }
    fn cgroups(&self, path: &str) -> Result<HashSet<u64>, String> {
        if path == "/a" { Ok(HashSet::from([1])) } else { Err("no cgroup has this path".to_string()) }
    }
}

/// Reads rules.
///
/// # Errors
/// The defect found.
pub fn rules(bytes: &[u8]) -> Result<(), String> {
    match Rules::read(&String::from_utf8_lossy(bytes), NAME, &Machine) {
        Ok(_) => Ok(()),
        Err(error) => one_line(&error.to_string(), NAME),
    }
}

fn one_line(message: &str, start: &str) -> Result<(), String> {
    if message.contains(char::is_control) || !message.starts_with(start) {
        return Err(format!("the message {message:?} is not a single line, or has no place"));
    }
    Ok(())
}

fn controller(first: u8) -> Rules {
    let text = CONTROLLERS[usize::from(first) % CONTROLLERS.len()];
    let spec = Node::from_json(text, NAME).and_then(|node| Spec::read(&node));
    Rules::all(spec.expect("a controller"))
}

/// Processes reports of the eBPF programs, 128 bytes each; the first byte selects the controller.
///
/// # Errors
/// The defect found.
pub fn reports(bytes: &[u8]) -> Result<(), String> {
    let Some((first, reports)) = bytes.split_first() else { return Ok(()) };
    let mut policy = Policy::new(controller(*first));
    let (mut time, mut sizes) = (Time::ZERO + Span::from_secs(1), HashMap::new());
    for report in reports.chunks(Observation::SIZE) {
        let Some(seen) = Observation::read(report) else { continue };
        // The clock does not go backwards.
        time += Span(seen.time.0 % PAUSE.0);
        let flow = seen.flow % FLOWS;
        // A connection keeps its MSS.
        let mss = *sizes.entry(flow).or_insert(seen.mss);
        let floor = 2 * (u64::from(mss) - OPTION);
        let seen = Observation { time, flow, mss, ..seen };
        match policy.on_observation(&seen) {
            Some(Target { window: Some(Bytes(window)), .. }) if window < floor => {
                return Err(format!("{window} bytes are less than two segments, {floor} bytes"));
            }
            Some(_) | None => {}
        }
    }
    if policy.flows().count() > FLOWS as usize {
        return Err("a flow is counted twice".to_string());
    }
    Ok(())
}

/// Reads a recording and replays it; the first byte selects the controller.
///
/// # Errors
/// The defect found.
pub fn recording(bytes: &[u8]) -> Result<(), String> {
    let Some((first, bytes)) = bytes.split_first() else { return Ok(()) };
    let records = match read_recording(bytes) {
        Ok(records) => records,
        Err(error) => return one_line(&error.to_string(), ""),
    };
    let mut policy = Policy::new(controller(*first));
    for record in records {
        match record.what {
            Recorded::Seen(seen, _) => drop(policy.on_observation(&seen)),
            Recorded::RoutesChanged(interface) => policy.forget_paths(interface),
            Recorded::Counted(interface, carried) => policy.note_carried(interface, carried),
            Recorded::RulesRead => policy.set_rules(controller(*first)),
        }
    }
    Ok(())
}

/// Shows what a guard answers on its control socket, which reads nothing itself.
///
/// # Errors
/// The defect found.
pub fn answer(bytes: &[u8]) -> Result<(), String> {
    let Ok(state) = serde_json::from_slice(bytes) else { return Ok(()) };
    let table = status_table("1", &state);
    if table.is_empty() || table.ends_with('\n') {
        Ok(())
    } else {
        Err(format!("{table:?} ends within a line"))
    }
}

/// Reads what strangers may send to `guard serve`, and to its clients.
pub fn message(bytes: &[u8]) -> Result<(), String> {
    match rewritten_message(bytes) {
        Some(written) if written != bytes => Err(format!("{bytes:?} is accepted as {written:?}")),
        _ => Ok(()),
    }
}

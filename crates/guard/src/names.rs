//! Names of processes, for people.

use std::fs;

/// Describes a process for a message: ": NAME NUMBER in CGROUP".
pub(crate) fn described(process: &str) -> String {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
    let name = read("comm");
    // The line of cgroup version 2 has no controllers: 0::/user.slice/session.scope
    let cgroups = read("cgroup");
    let cgroup = cgroups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("an unknown cgroup");
    format!(": {} {process} in {}", printable(name.trim_end()), printable(cgroup))
}

/// A process chooses its name: control characters would reach the terminal.
pub(crate) fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

//! The processes of flows, found in /proc when the state of a guard is displayed.
//!
//! A guard that runs as a service sees neither the descriptors of other users nor their names, and it should not spend
//! time on it. The user who asks for the state may.

use crate::names::printable;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Key of a flow in the state.
pub(crate) const PROCESS: &str = "process";

/// Names of processes by flow, kept as long as the flows.
#[derive(Debug, Default)]
pub(crate) struct Processes(HashMap<Flow, String>);

/// Guard, ends of the connection, cgroup.
type Flow = (String, SocketAddr, SocketAddr, u64);

impl Processes {
    /// Adds the process to each flow of the guards' states: name and number, otherwise the cgroup, otherwise null.
    pub fn add(&mut self, states: &mut [(String, Value)]) {
        let mut known = HashMap::new();
        for (guard, state) in states {
            self.add_to(guard, state, &mut known);
        }
        self.0 = known;
    }

    fn add_to(&mut self, guard: &str, state: &mut Value, known: &mut HashMap<Flow, String>) {
        let key = |flow: &Value| {
            let end = |end: &str| flow[end].as_str()?.parse().ok();
            let cgroup = flow["cgroup"].as_u64().unwrap_or_default();
            Some((guard.to_string(), end("receiver")?, end("sender")?, cgroup))
        };
        let flows =
            || state["places"].as_array().into_iter().flatten().flat_map(|place| list(&place["flows"]));
        let mut new = Vec::new();
        for flow in flows().filter_map(key) {
            match self.0.remove(&flow) {
                Some(name) => drop(known.insert(flow, name)),
                None => new.push(flow),
            }
        }
        if !new.is_empty() {
            find(guard, new, known);
        }
        let places = state["places"].as_array_mut().into_iter().flatten();
        let flows = places.filter_map(|place| place["flows"].as_array_mut()).flatten();
        for flow in flows.filter(|flow| flow.is_object()) {
            let name = key(flow).and_then(|flow| known.get(&flow)).filter(|name| !name.is_empty());
            flow[PROCESS] = name.map_or(Value::Null, |name| name.clone().into());
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Finds the names of flows; an empty one: unknown.
fn find(guard: &str, flows: Vec<Flow>, known: &mut HashMap<Flow, String>) {
    // The number of a guard in a container is not that of its process here.
    let inodes = ["self/net/tcp", "self/net/tcp6", &format!("{guard}/net/tcp"), &format!("{guard}/net/tcp6")]
        .map(|table| fs::read_to_string(format!("/proc/{table}")).unwrap_or_default())
        .iter()
        .flat_map(|text| text.lines().filter_map(socket))
        .collect::<HashMap<_, _>>();
    let wanted: HashMap<u64, Flow> =
        flows.iter().filter_map(|flow| Some((*inodes.get(&(flow.1, flow.2))?, flow.clone()))).collect();
    if !wanted.is_empty() {
        search(&wanted, known);
    }
    let is_unknown = |flow: &Flow| !known.contains_key(flow);
    let unknown: Vec<Flow> = flows.into_iter().filter(is_unknown).collect();
    let cgroups = if unknown.iter().any(|flow| flow.3 != 0) { cgroups() } else { HashMap::new() };
    for flow in unknown {
        let name = cgroups.get(&flow.3).cloned().unwrap_or_default();
        known.insert(flow, name);
    }
}

/// Local and remote end of a line of /proc/net/tcp, with the inode of the socket.
fn socket(line: &str) -> Option<((SocketAddr, SocketAddr), u64)> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, remote) = (end(fields.next()?)?, end(fields.next()?)?);
    let inode = fields.nth(6)?.parse().ok()?;
    Some(((local, remote), inode))
}

/// An address in words of the byte order of this machine, and a port.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let octets: Vec<u8> = (0..address.len() / 8)
        .map(|word| u32::from_str_radix(address.get(8 * word..8 * word + 8)?, 16).ok())
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    let address = match octets.len() {
        4 => IpAddr::from(Ipv4Addr::from(*octets.first_chunk()?)),
        16 => Ipv6Addr::from(*octets.first_chunk()?).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// Finds the first process that has loaded an eBPF program, by its number.
pub(crate) fn with_program(program: u32) -> Option<String> {
    let has_it = |(_, process): &(String, PathBuf)| {
        entries(&process.join("fdinfo")).any(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines()
                .any(|line| line.strip_prefix("prog_id:").is_some_and(|id| id.trim() == program.to_string()))
        })
    };
    running().find(has_it).map(|(number, _)| number)
}

/// The numbers of all processes, with their folders.
fn running() -> impl Iterator<Item = (String, PathBuf)> {
    entries(Path::new("/proc")).filter_map(|folder| {
        let number = folder.file_name()?.to_str()?.to_string();
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some((number, folder))
    })
}

/// Finds the processes that hold sockets. Processes of other users are left out unless this user is root.
fn search(wanted: &HashMap<u64, Flow>, known: &mut HashMap<Flow, String>) {
    for (number, process) in running() {
        for descriptor in entries(&process.join("fd")) {
            let Ok(target) = fs::read_link(descriptor) else { continue };
            let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
            let flow = inode.and_then(|inode| wanted.get(&inode.parse().ok()?));
            if let Some(flow) = flow.filter(|flow| !known.contains_key(*flow)) {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                known.insert(flow.clone(), format!("{} {number}", printable(name.trim_end())));
            }
        }
    }
}

/// Paths of all cgroups by identifier, which is the number of the inode.
fn cgroups() -> HashMap<u64, String> {
    let mut found = HashMap::new();
    let Ok(root) = crate::cgroup::root() else { return found };
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        // A cgroup may disappear meanwhile.
        let Ok(metadata) = fs::metadata(&folder) else { continue };
        let name = folder.strip_prefix(&root).unwrap_or(&folder).to_string_lossy();
        found.insert(metadata.ino(), printable(if name.is_empty() { "/" } else { &name }));
        folders.extend(entries(&folder).filter(|path| path.is_dir()));
    }
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_process_of_a_connection_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            // A machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let flow = |receiver: SocketAddr, sender: SocketAddr| json!({"receiver": receiver.to_string(), "sender": sender.to_string(), "cgroup": 0});
            let (local, remote) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            let unknown = "192.0.2.1:1".parse().unwrap();
            let state = json!({"places": [{"flows": [flow(local, remote), flow(unknown, remote)]}]});
            let mut states = [(std::process::id().to_string(), state)];
            let mut processes = Processes::default();
            // Once looked up, and once known.
            for _ in 0..2 {
                processes.add(&mut states);
                let flows = &states[0].1["places"][0]["flows"];
                let name = flows[0][PROCESS].as_str().unwrap();
                assert!(name.ends_with(&format!(" {}", std::process::id())), "{name}");
                assert_eq!(flows[1][PROCESS], Value::Null);
            }
        }
    }

    #[test]
    fn the_name_of_a_process_is_printable() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a?[2Jb");
    }
}

//! The machine around the sides.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod, umask};
use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};

/// User and group `nobody` of most distributions.
const UNPRIVILEGED: u32 = 65534;
const DEVICE: &str = "/dev/net/tun";
const DEVICE_NUMBER: (u64, u64) = (10, 200);

pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Enters a network with a `/run` of its own: what a test changes on its host changes nothing outside.
pub fn leave() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>)
}

/// Makes `command` run as an unprivileged user, with a TUN device that every user may open, as distributions install it.
#[expect(unsafe_code, reason = "pre_exec")]
pub fn drop_privileges(command: &mut Command) {
    // SAFETY: this process has one thread, so its child may allocate.
    unsafe { command.pre_exec(become_unprivileged) };
}

fn become_unprivileged() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    if Path::new(DEVICE).exists() {
        umask(Mode::empty());
        let (major, minor) = DEVICE_NUMBER;
        mount(Some("tmpfs"), "/dev/net", Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
        mknod(DEVICE, SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), makedev(major, minor))?;
    }
    setgroups(&[])?;
    setgid(Gid::from_raw(UNPRIVILEGED))?;
    Ok(setuid(Uid::from_raw(UNPRIVILEGED))?)
}

/// Number of processes with `word` among their arguments.
pub fn processes(word: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let arguments = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    arguments.filter(|text| text.split(|&byte| byte == 0).any(|argument| argument == word.as_bytes())).count()
}

/// Addresses, routes, rules, packet filters and sysctls.
pub struct State(BTreeMap<String, String>);

impl State {
    pub fn read() -> Self {
        let mut values = BTreeMap::new();
        for command in ["ip -j addr", "ip -j route", "ip -j rule", "nft list ruleset"] {
            let output = Command::new("sh").args(["-c", command]).output().expect("a shell");
            values.insert(command.to_string(), String::from_utf8_lossy(&output.stdout).into_owned());
        }
        for folder in ["/proc/sys/net", "/proc/sys/user"] {
            read_tree(Path::new(folder), &mut values);
        }
        // A counter, not a setting.
        values.remove("/proc/sys/net/netfilter/nf_conntrack_count");
        Self(values)
    }

    /// Names of the values that differ from `before`.
    pub fn changes(&self, before: &State) -> Vec<String> {
        let names = self.0.keys().chain(before.0.keys().filter(|name| !self.0.contains_key(*name)));
        let changed = names.filter(|name| self.0.get(*name) != before.0.get(*name));
        changed.map(|name| format!("{name}: {:?} -> {:?}", before.0.get(name), self.0.get(name))).collect()
    }
}

fn read_tree(folder: &Path, values: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_tree(&path, values);
        } else if let Ok(text) = fs::read_to_string(&path) {
            values.insert(path.display().to_string(), text);
        }
    }
}

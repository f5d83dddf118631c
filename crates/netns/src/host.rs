//! The caller's own network as the other end: a device on this host, and a way from there to the Internet.
//!
//! Both need root; a [`Gateway`](crate::Gateway) does not. What is changed on the host is written down first, under
//! [`FOLDER`], and undone at the end; the next start undoes it after a process that was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::device::{Device, sysctl};
use crate::nft::{CAP_NET_ADMIN, nft};
use crate::setup::DeviceSetup;

/// Devices on the host: `airwnd0`, `airwnd1`.
const DEVICES: &str = "airwnd%d";
/// Records of changes, one file per network namespace and device: several namespaces may share `/run`, and each has a
/// device `airwnd0`. The process of a device holds a lock on its file.
const FOLDER: &str = "/run/airwnd";

/// A device in the caller's network namespace.
#[derive(Debug)]
pub struct Host {
    /// The device. It disappears when its descriptor is closed.
    pub device: Device,
    _nat: Option<Nat>,
}

impl Host {
    /// Whether the process is root with the capability CAP_NET_ADMIN, which containers take away.
    pub fn is_allowed() -> bool {
        geteuid().is_root() && has_net_admin(&fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    /// Creates a device without any route but those to the network of its address and to the networks behind it.
    ///
    /// With `internet`, the host also forwards IPv4 packets of this network to the interfaces that have a default
    /// route, with their address as source, until the value is dropped. It does not forward IPv6, which would
    /// change how the host itself receives its routes.
    ///
    /// # Errors
    ///
    /// The process is not [allowed](Self::is_allowed) to, or, with `internet`, `nft` is missing.
    pub fn open(setup: &DeviceSetup, internet: bool) -> Result<Self, Error> {
        if !Self::is_allowed() {
            return Err(Error::new("a device on this host needs root; run the command with: sudo"));
        }
        sweep()?;
        let device = Device::create(DEVICES, setup)?;
        let nat = if internet { Some(Nat::open(&device.name, setup)?) } else { None };
        Ok(Self { device, _nat: nat })
    }
}

fn has_net_admin(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> CAP_NET_ADMIN & 1 == 1)
}

/// Undoes what killed processes have left in this network namespace. Without effect if nothing is left or the process is not root.
///
/// # Errors
///
/// A record cannot be read.
pub fn sweep() -> Result<(), Error> {
    if geteuid().is_root() && Path::new(FOLDER).exists() { Records::open()?.sweep() } else { Ok(()) }
}

/// Name servers for a side whose other end is the Internet: those of this host, except one that only the host
/// itself can reach.
pub fn nameservers() -> Vec<IpAddr> {
    let files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
    let lists = files.iter().filter_map(|path| fs::read_to_string(path).ok()).map(|text| reachable(&text));
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
}

fn reachable(resolv_conf: &str) -> Vec<IpAddr> {
    let servers = resolv_conf.lines().filter_map(|line| line.strip_prefix("nameserver")?.trim().parse().ok());
    servers.filter(|address: &IpAddr| !address.is_loopback()).collect()
}

/// Changes of the host for a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The nftables table; empty if the process was killed before it had changed anything.
    table: String,
    /// Interfaces that did not forward before this device or another one that still exists.
    forwarding: Vec<String>,
}

/// Masquerading of one device.
#[derive(Debug)]
struct Nat {
    path: PathBuf,
    record: Flock<File>,
}

impl Nat {
    fn open(device: &str, setup: &DeviceSetup) -> Result<Self, Error> {
        let records = Records::open()?;
        let interfaces = default_interfaces();
        let mut silent: Vec<String> = interfaces.iter().filter(|name| !forwards(name)).cloned().collect();
        silent.extend(records.living()?.into_iter().flat_map(|record| record.forwarding));
        silent.sort();
        silent.dedup();
        let nat = records.write(&Record { table: device.to_string(), forwarding: silent })?;
        // If a step fails, dropping `nat` takes the lock again.
        drop(records);
        for interface in interfaces.iter().map(String::as_str).chain([device]) {
            forward(interface, "1")?;
        }
        nft(&masquerade(device, setup))?;
        Ok(nat)
    }
}

fn masquerade(device: &str, setup: &DeviceSetup) -> String {
    let behind = setup.behind.iter().filter(|(network, _)| network.is_ipv4());
    let sources = behind.map(|(network, prefix)| format!(", {network}/{prefix}")).collect::<String>();
    let rule = format!("ip saddr {{ {}/24{sources} }} oifname != \"{device}\" masquerade", setup.v4);
    let chain = format!("type nat hook postrouting priority srcnat\n{rule}");
    format!("table ip {device} {{\nchain postrouting {{\n{chain}\n}}\n}}\n")
}

impl Drop for Nat {
    fn drop(&mut self) {
        // Nothing can be reported here; the next start tries again what has failed.
        if let (Ok(records), Ok(record)) = (Records::open(), read(&mut &*self.record)) {
            let _ = records.undo(&self.path, &record);
        }
    }
}

/// Records of this network namespace: of processes that are alive, and of processes that were killed.
#[derive(Default)]
struct Found {
    living: Vec<Record>,
    dead: Vec<(PathBuf, Record)>,
}

/// The folder of records, locked against other processes.
struct Records {
    _lock: Flock<File>,
    /// End of the names of records of this network namespace.
    ending: String,
}

impl Records {
    fn open() -> Result<Self, Error> {
        let failed = |why: io::Error| Error::failed(format!("cannot use {FOLDER}"), why);
        fs::create_dir_all(FOLDER).map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(format!("{FOLDER}/lock"));
        let lock = Flock::lock(file.map_err(failed)?, FlockArg::LockExclusive);
        let ending = format!("-{}.json", namespace().map_err(failed)?);
        Ok(Self { _lock: lock.map_err(|(_, why)| failed(why.into()))?, ending })
    }

    fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().ends_with(&self.ending)).collect()
    }

    fn read(&self) -> Result<Found, Error> {
        let mut found = Found::default();
        for path in self.paths() {
            let failed = |why: io::Error| Error::failed(format!("cannot read {}", path.display()), why);
            let mut file = File::open(&path).map_err(failed)?;
            let record = read(&mut file).map_err(failed)?;
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Err((_, Errno::EWOULDBLOCK)) => found.living.push(record),
                Err((_, why)) => return Err(failed(why.into())),
                Ok(_) => found.dead.push((path, record)),
            }
        }
        Ok(found)
    }

    fn living(&self) -> Result<Vec<Record>, Error> {
        Ok(self.read()?.living)
    }

    fn sweep(&self) -> Result<(), Error> {
        self.read()?.dead.iter().try_for_each(|(path, record)| self.undo(path, record))
    }

    fn write(&self, record: &Record) -> Result<Nat, Error> {
        let path = Path::new(FOLDER).join(format!("{}{}", record.table, self.ending));
        let failed = |why: io::Error| Error::failed(format!("cannot write {}", path.display()), why);
        // The record may be that of a living process, which needs it to undo its changes: it is cut once it is locked.
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = Flock::lock(file.map_err(failed)?, FlockArg::LockExclusiveNonblock).map_err(
            |(_, why)| match why {
                Errno::EWOULDBLOCK => {
                    Error::new(format!("{} is in use by another session; try again", path.display()))
                }
                why => failed(why.into()),
            },
        )?;
        file.set_len(0).and_then(|()| file.write_all(&serde_json::to_vec(record)?)).map_err(failed)?;
        Ok(Nat { path, record: file })
    }

    /// Removes a record and what it records. Interfaces forward as long as another process needs that.
    fn undo(&self, path: &Path, record: &Record) -> Result<(), Error> {
        let others = self.living()?.iter().filter(|other| other.table != record.table).count();
        if others == 0 {
            for interface in record.forwarding.iter().filter(|name| forwards(name)) {
                forward(interface, "0")?;
            }
        }
        if !record.table.is_empty() {
            // Creating it first makes the deletion succeed in any case.
            nft(&format!("table ip {table}\ndelete table ip {table}\n", table = record.table))?;
        }
        fs::remove_file(path).map_err(|why| Error::failed(format!("cannot remove {}", path.display()), why))
    }
}

/// Number of this network namespace that no other one has had since the start of the machine. Linux before 5.14 has the
/// number of its inode only, which a later namespace may have.
#[expect(unsafe_code, reason = "nix does not have this option")]
fn namespace() -> io::Result<u64> {
    let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut cookie = 0_u64;
    let mut size = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `cookie`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut size,
        )
    };
    if Errno::result(result).is_ok() { Ok(cookie) } else { Ok(fs::metadata("/proc/self/ns/net")?.ino()) }
}

fn read(file: &mut (impl Read + io::Seek)) -> io::Result<Record> {
    file.rewind()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    // A process that is killed before it has written its record has changed nothing.
    if text.is_empty() { Ok(Record::default()) } else { Ok(serde_json::from_str(&text)?) }
}

/// Interfaces with an IPv4 default route, of any metric.
fn default_interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let mut interfaces: Vec<String> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let interface = fields.next()?;
            (fields.next()? == "00000000").then(|| interface.to_string())
        })
        .collect();
    interfaces.dedup();
    interfaces
}

fn forwards(interface: &str) -> bool {
    let value = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"));
    value.is_ok_and(|value| value.trim() == "1")
}

/// Per interface: the switch for all would change other settings of the host as well.
fn forward(interface: &str, value: &str) -> Result<(), Error> {
    sysctl(&format!("net/ipv4/conf/{interface}/forwarding"), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_that_others_reach() {
        let text =
            "# comment\nnameserver 127.0.0.53\nnameserver 192.0.2.1\nnameserver 2001:db8::1\noptions edns0\n";
        assert_eq!(reachable(text), ["192.0.2.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().unwrap()));
        assert!(reachable("nameserver 127.0.0.53\n").is_empty());
    }

    #[test]
    fn the_capability_is_one_bit() {
        assert!(has_net_admin("Name:\tsh\nCapEff:\t0000000000001000\n"));
        assert!(!has_net_admin("CapEff:\tffffffffffffefff\n"));
        assert!(!has_net_admin(""));
    }
}

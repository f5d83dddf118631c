//! Files that a side sees instead of the host's.

use std::fs;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::Error;
use crate::setup::Setup;

/// Until `proc` is mounted, this directory holds a file system in memory: no file is left behind when a process is
/// killed here.
const SCRATCH: &str = "/proc";

/// Sockets through which the C library asks a service of the host for names.
const NAME_SERVICES: [&str; 2] = ["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve"];

pub(crate) fn replace(setup: &Setup) -> Result<(), Error> {
    propagate_inwards()?;
    let hosts = hosts(setup);
    mount(Some("tmpfs"), SCRATCH, Some("tmpfs"), MsFlags::empty(), Some("mode=755,size=1m"))
        .map_err(|why| Error::refused("cannot mount a tmpfs", why))?;
    cover("/etc/hosts", &hosts)?;
    cover_if_present("/etc/resolv.conf", &resolver(setup))?;
    for socket in NAME_SERVICES {
        cover_if_present(socket, "")?;
    }
    umount2(SCRATCH, MntFlags::empty()).map_err(|why| Error::failed("cannot unmount a tmpfs", why))?;
    mount_proc()
}

/// Mounts of the side stay in it.
fn propagate_inwards() -> Result<(), Error> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)
        .map_err(|why| Error::refused("cannot make the mounts private", why))
}

fn cover(path: &str, text: &str) -> Result<(), Error> {
    try_cover(path, text).map_err(|why| Error::failed(format!("cannot replace {path}"), why))
}

fn cover_if_present(path: &str, text: &str) -> Result<(), Error> {
    if Path::new(path).exists() { cover(path, text) } else { Ok(()) }
}

fn try_cover(path: &str, text: &str) -> io::Result<()> {
    let source = format!("{SCRATCH}/{}", path.replace('/', "_"));
    fs::write(&source, text)?;
    mount(Some(source.as_str()), path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    Ok(())
}

/// A `proc` of the side's processes. A container may forbid it: the command then sees the outer processes.
fn mount_proc() -> Result<(), Error> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    match mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>) {
        Ok(()) | Err(Errno::EPERM) => Ok(()),
        Err(why) => Err(Error::failed("cannot mount /proc", why)),
    }
}

fn hosts(setup: &Setup) -> String {
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut text = format!("127.0.0.1 localhost {own}\n::1 localhost\n", own = own.trim());
    for (name, address) in &setup.hosts {
        text.push_str(&format!("{address} {name}\n"));
    }
    text
}

/// Without a name server every query goes to a closed port, which fails at once.
fn resolver(setup: &Setup) -> String {
    if setup.nameservers.is_empty() {
        return "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n".to_string();
    }
    setup.nameservers.iter().map(|address| format!("nameserver {address}\n")).collect()
}

//! Rules of the kernel's packet filter, by `nft`.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::unistd::geteuid;

use crate::Error;
use crate::programs::{NFT, find, require};

/// The capability to change networks (linux/capability.h).
pub(crate) const CAP_NET_ADMIN: u32 = 12;
/// Version of the structures that `capget` and `capset` exchange (linux/capability.h).
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Applies a script in the current network namespace.
pub(crate) fn nft(script: &str) -> Result<(), Error> {
    require("cannot translate addresses", &[NFT])?;
    let failed = |why: io::Error| Error::failed("cannot run nft", why);
    let mut command = Command::new(find(&NFT).unwrap_or_default());
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    if !geteuid().is_root() {
        keep_capability(&mut command);
    }
    let mut child = command.spawn().map_err(failed)?;
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("nft: {}", reason.lines().next().unwrap_or("no reason given"))))
}

/// In a user namespace a process of an ordinary user loses its capabilities when it executes a program, unless they
/// are ambient.
#[expect(unsafe_code, reason = "pre_exec")]
fn keep_capability(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(|| Ok(make_ambient()?)) };
}

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[expect(unsafe_code, reason = "neither libc nor nix has functions for capabilities")]
fn make_ambient() -> Result<(), Errno> {
    let mut header = Header { version: CAPABILITY_VERSION, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: the kernel writes a header and, in this version, two structures.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) })?;
    sets[0].inheritable |= 1 << CAP_NET_ADMIN;
    // SAFETY: the kernel reads the same.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) })?;
    let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
    // SAFETY: the call takes integers.
    Errno::result(unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, raise, libc::c_ulong::from(CAP_NET_ADMIN), 0, 0)
    })?;
    Ok(())
}

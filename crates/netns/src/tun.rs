//! The TUN device.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;

use crate::Error;
use crate::setup::Framing;

const PATH: &str = "/dev/net/tun";

nix::ioctl_readwrite_bad!(set_interface, libc::TUNSETIFF, libc::ifreq);
nix::ioctl_write_int_bad!(set_offload, libc::TUNSETOFFLOAD);

/// Creates a device in the current network namespace and returns its name; `%d` in `name` stands for the first free
/// number. The device exists as long as the descriptor, which does not block.
pub(crate) fn create(name: &str, framing: Framing) -> Result<(OwnedFd, String), Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(PATH)
        .map_err(|why| Error::tun(PATH, errno(&why)))?;
    let name =
        attach(&file, name, framing).map_err(|why| Error::refused("cannot create a TUN device", why))?;
    Ok((file.into(), name))
}

#[expect(unsafe_code, reason = "ioctl")]
fn attach(file: &File, name: &str, framing: Framing) -> Result<String, Errno> {
    // SAFETY: `ifreq` consists of integers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "name of a device: {name}");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let header = if framing == Framing::Offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an `ifreq`, which lives until the call returns.
    unsafe { set_interface(file.as_raw_fd(), &raw mut request) }?;
    if framing == Framing::Offload {
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: TUNSETOFFLOAD takes an integer.
        unsafe { set_offload(file.as_raw_fd(), offloads as i32) }?;
    }
    let name = request.ifr_name.iter().map(|&byte| byte.to_ne_bytes()[0]).take_while(|&byte| byte != 0);
    Ok(name.map(char::from).collect())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

//! Messages with file descriptors over a Unix socket that keeps message boundaries.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::cmsg_space;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest message. The kernel's default send buffer allows no larger one.
const LARGEST: usize = 208 * 1024;
/// Maximum number of descriptors with one message.
const DESCRIPTORS: usize = 3;

pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?)
}

pub(crate) fn send(socket: impl AsFd, message: &impl Serialize, fds: &[RawFd]) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let rights = [ControlMessage::ScmRights(fds)];
    let control = if fds.is_empty() { &[] } else { &rights[..] };
    // The other end may be gone; that is an error and not a signal.
    sendmsg::<()>(socket.as_fd().as_raw_fd(), &[IoSlice::new(&text)], control, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// The next message with its descriptors; `None` when the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
    flags: MsgFlags,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut buffer = vec![0; LARGEST];
    let mut control = cmsg_space!([RawFd; DESCRIPTORS]);
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
    let message = loop {
        match recvmsg::<()>(socket.as_fd().as_raw_fd(), &mut slices, Some(&mut control), flags) {
            Err(nix::errno::Errno::EINTR) => {}
            result => break result?,
        }
    };
    let mut fds = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = part {
            fds.extend(received.into_iter().map(own));
        }
    }
    let length = message.bytes;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&buffer[..length])?, fds)))
}

#[expect(unsafe_code, reason = "descriptors arrive as numbers")]
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just created this descriptor for this process, and `receive` returns it once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

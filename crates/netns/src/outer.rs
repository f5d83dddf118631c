//! A caller inside a side: a link in a link.
//!
//! The command has no right to add a device to its namespace, but init has. It listens on a socket in the abstract
//! name space, which belongs to the network namespace and ends with it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::sockopt::{PeerCredentials, ReceiveTimeout};
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind, connect, getsockopt,
    listen, setsockopt, socket,
};
use nix::sys::time::TimeVal;
use nix::unistd::geteuid;

use crate::Error;
use crate::device::{Device, forward_packets};
use crate::setup::{Answer, DeviceSetup, Request};
use crate::socket::{receive, send};

const NAME: &[u8] = b"airwnd-link";
/// Devices of callers inside: `link0`, `link1`.
const DEVICES: &str = "link%d";
/// Time from a caller's connection to its request.
const PATIENCE: TimeVal = TimeVal::new(1, 0);
/// Time to accept a caller's connection, in steps. Init does so at once.
const ACCEPTANCE_STEPS: u32 = 100;
const ACCEPTANCE_STEP: Duration = Duration::from_millis(10);
/// Time to answer: init may wait for other callers, and for the kernel to make a device.
const ANSWER: TimeVal = TimeVal::new(20, 0);

/// The side in which this process runs.
#[derive(Debug)]
pub struct Outer {
    depth: u8,
}

impl Outer {
    /// `None` outside of sides.
    pub fn find() -> Option<Self> {
        match ask(&Request::Depth) {
            Ok(Some((Answer::Depth(depth), _))) => Some(Self { depth }),
            _ => None,
        }
    }

    /// The side's [`Setup::depth`](crate::Setup::depth).
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Adds a device to the side, which forwards packets between it and the side's own `link`.
    ///
    /// # Errors
    ///
    /// The device could not be made, or the side is ending.
    pub fn add_device(&self, setup: &DeviceSetup) -> Result<Device, Error> {
        let failed = |why| Error::failed("cannot reach the outer link", why);
        match ask(&Request::Add(setup.clone())).map_err(failed)? {
            Some((Answer::Added { name, ipv6 }, fds)) => Device::received(name, ipv6, fds),
            Some((Answer::Failed(why), _)) => Err(Error::new(why)),
            _ => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Asks init. Outside of sides any user may have taken the name, and never accept or answer: nothing waits forever.
fn ask(request: &Request) -> io::Result<Option<(Answer, Vec<OwnedFd>)>> {
    let socket = open()?;
    let address = UnixAddr::new_abstract(NAME)?;
    // A socket that blocks would wait for a place in the queue of connections.
    fcntl(&socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let mut steps = 0..ACCEPTANCE_STEPS;
    while let Err(why) = connect(socket.as_raw_fd(), &address) {
        if why != Errno::EAGAIN || steps.next().is_none() {
            return Err(why.into());
        }
        sleep(ACCEPTANCE_STEP);
    }
    fcntl(&socket, FcntlArg::F_SETFL(OFlag::empty()))?;
    setsockopt(&socket, ReceiveTimeout, &ANSWER)?;
    if getsockopt(&socket, PeerCredentials)?.uid() != geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    send(&socket, request, &[])?;
    receive(&socket, MsgFlags::empty())
}

fn open() -> Result<OwnedFd, Errno> {
    socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)
}

/// Init's end.
pub(crate) struct Listener {
    socket: OwnedFd,
    depth: u8,
}

impl Listener {
    pub(crate) fn open(depth: u8) -> Result<Self, Error> {
        let bound = || {
            let socket = open()?;
            bind(socket.as_raw_fd(), &UnixAddr::new_abstract(NAME)?)?;
            listen(&socket, Backlog::new(8)?)?;
            Ok::<_, Errno>(socket)
        };
        let socket = bound().map_err(|why| Error::failed("cannot listen for links inside", why))?;
        Ok(Self { socket, depth })
    }

    /// Answers one request. A caller inside that misbehaves affects itself only.
    pub(crate) fn serve(&self) {
        let _ = self.try_serve();
    }

    fn try_serve(&self) -> io::Result<()> {
        let caller = own(accept4(self.socket.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?);
        // Init must not wait for a caller that asks nothing.
        setsockopt(&caller, ReceiveTimeout, &PATIENCE)?;
        let Some((request, _)) = receive(&caller, MsgFlags::empty())? else { return Ok(()) };
        match request {
            Request::Depth => send(&caller, &Answer::Depth(self.depth), &[]),
            Request::Add(setup) => match add(&setup) {
                Ok(device) => {
                    let answer = Answer::Added { name: device.name.clone(), ipv6: device.ipv6 };
                    send(&caller, &answer, &device.fds())
                }
                Err(error) => send(&caller, &Answer::Failed(error.to_string()), &[]),
            },
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn add(setup: &DeviceSetup) -> Result<Device, Error> {
    let device = Device::create(DEVICES, setup)?;
    forward_packets()?;
    Ok(device)
}

#[expect(unsafe_code, reason = "nix returns a number")]
fn own(fd: i32) -> OwnedFd {
    // SAFETY: the kernel has just created this descriptor for this process.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

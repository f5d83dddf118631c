//! A second process that removes the shapers when the first one does not.

use super::shapers::{self, Interface};
use crate::{Error, privileges, system};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, pipe2, read, setsid, write};
use std::os::fd::{AsFd, OwnedFd};

/// Time without a heartbeat after which the first process counts as stopped, in milliseconds.
const PATIENCE_MS: u16 = 5000;
/// Bytes of the pipe.
const BEAT: u8 = b'.';
const END: u8 = b'e';

/// The keeper of the shapers of an interface. A rate that nothing adapts would starve the link when its capacity grows,
/// and no eBPF program or descriptor takes a queue discipline away with it. So a process waits at a pipe: when that is
/// closed, also by SIGKILL, or silent for 5 s, it removes the shapers.
pub(super) struct Keeper {
    pipe: OwnedFd,
    process: Pid,
}

impl Keeper {
    /// Starts it. Must be called while the process has one thread, before it opens anything that must be closed with it.
    pub fn start(interface: &Interface) -> Result<Keeper, Error> {
        let failed = |why: Errno| Error::failed("cannot start the process that undoes changes", &why);
        let (output, pipe) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(failed)?;
        match system::fork().map_err(failed)? {
            ForkResult::Parent { child } => Ok(Keeper { pipe, process: child }),
            ForkResult::Child => {
                keep(interface, output);
                system::exit_now()
            }
        }
    }

    /// Reports that the shapers are adapted; an error means that the keeper has removed them.
    pub fn beat(&self) -> Result<(), Error> {
        match write(&self.pipe, &[BEAT]) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new("was stopped for 5 s: the shapers are removed")),
        }
    }

    /// Ends it after a regular end.
    pub fn end(self) {
        let _ = write(&self.pipe, &[END]);
        let _ = waitpid(self.process, None);
    }
}

fn keep(interface: &Interface, pipe: OwnedFd) {
    // Ctrl-C reaches all processes of a terminal.
    let _ = SigSet::all().thread_block();
    let _ = setsid();
    let Ok(pipe) = system::close_others(pipe) else { return };
    if privileges::give_up(privileges::NET_ADMIN, || true).is_ok() && !is_ended(&pipe) {
        let _ = shapers::undo(interface);
    }
}

/// Waits for the end of the first process; returns whether it has undone its changes itself.
fn is_ended(pipe: &OwnedFd) -> bool {
    // Loading a program may take long.
    let mut patience = PollTimeout::NONE;
    loop {
        let mut events = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        match poll(&mut events, patience) {
            Err(Errno::EINTR) => continue,
            Ok(0) | Err(_) => return false,
            Ok(_) => patience = PATIENCE_MS.into(),
        }
        let mut bytes = [0; 64];
        match read(pipe, &mut bytes) {
            Ok(0) | Err(_) => return false,
            Ok(length) if bytes[..length].contains(&END) => return true,
            Ok(_) => {}
        }
    }
}

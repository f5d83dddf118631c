//! Signals as a file descriptor.

use crate::Error;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};

/// The signals for the guard, blocked until the value is dropped.
pub(crate) struct Signals {
    fd: SignalFd,
    previous: SigSet,
}

impl Signals {
    pub fn open() -> Result<Signals, Error> {
        let failed = |why: Errno| Error::failed("cannot receive signals", &why);
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            mask.add(signal);
        }
        let previous = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(failed)?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let fd = SignalFd::with_flags(&mask, flags).map_err(failed)?;
        Ok(Signals { fd, previous })
    }

    /// Returns a signal that has arrived, if any.
    pub fn arrived(&self) -> Option<Signal> {
        let signal = self.fd.read_signal().ok()??;
        Signal::try_from(signal.ssi_signo.cast_signed()).ok()
    }
}

/// Readable when a signal has arrived.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.previous.thread_set_mask();
    }
}

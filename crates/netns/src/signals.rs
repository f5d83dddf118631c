//! Signals that a terminal sends to every process of a group.

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Signals for the command that helper and init, in the same process group, must survive.
const FORWARDED: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];
/// Signals that Python ignores, and that a command expects to end it.
const DEFAULT: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

/// Dispositions that the command gets.
#[derive(Clone, Copy)]
pub(crate) struct Signals {
    ignored: [bool; FORWARDED.len()],
}

impl Signals {
    /// Ignores what is for the command, and remembers what the caller had ignored.
    pub(crate) fn ignore() -> Result<Self, Errno> {
        let mut ignored = [false; FORWARDED.len()];
        for (signal, ignored) in FORWARDED.into_iter().zip(&mut ignored) {
            *ignored = matches!(handle(signal, SigHandler::SigIgn)?, SigHandler::SigIgn);
        }
        Ok(Self { ignored })
    }

    /// In the command before `exec`. Allocates nothing.
    pub(crate) fn restore(&self) -> Result<(), Errno> {
        for (signal, ignored) in FORWARDED.into_iter().zip(self.ignored) {
            handle(signal, if ignored { SigHandler::SigIgn } else { SigHandler::SigDfl })?;
        }
        for signal in DEFAULT {
            handle(signal, SigHandler::SigDfl)?;
        }
        SigSet::empty().thread_set_mask()
    }
}

#[expect(unsafe_code, reason = "sigaction")]
fn handle(signal: Signal, handler: SigHandler) -> Result<SigHandler, Errno> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the new action is to ignore or the default; no handler function of this crate runs.
    Ok(unsafe { sigaction(signal, &action) }?.handler())
}

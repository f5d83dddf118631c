//! `run`: a command whose connections alone are guarded.

use crate::Error;
use crate::guarded::Guard;
use crate::rules::Rules;
use crate::signals::Signals;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

/// Period of the checks whether the command has ended, in milliseconds.
const PERIOD_MS: u8 = 20;

/// Runs a program with arguments until it ends; returns its exit code, or 128 and the signal that ended it, as a shell
/// does. SIGTERM and SIGHUP are passed on to it; SIGINT of a terminal reaches it anyway.
pub(crate) fn run(program: &OsString, arguments: &[OsString], rules: Rules) -> Result<u8, Error> {
    let signals = Signals::open()?;
    let mut guard = Guard::start(rules)?;
    let mut child = guard
        .inside(|| Command::new(program).args(arguments).spawn())?
        .map_err(|why| Error::failed(program.display(), &why))?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|why| Error::failed(program.display(), &why))? {
            break status;
        }
        // An interrupted wait is a short one.
        let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], PollTimeout::from(PERIOD_MS));
        if let Some(signal @ (Signal::SIGTERM | Signal::SIGHUP)) = signals.arrived() {
            // The command may have ended meanwhile.
            let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
        }
    };
    guard.check()?;
    Ok(exit_code(status))
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), code);
        }
    }
}

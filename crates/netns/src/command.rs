//! The command inside a side.

use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, getpid, tcsetpgrp};

use crate::Error;
use crate::setup::{Exit, Setup};
use crate::signals::Signals;

/// A started command.
pub(crate) struct Running {
    pid: Pid,
    terminal: bool,
}

impl Running {
    #[expect(unsafe_code, reason = "pre_exec")]
    pub(crate) fn start(setup: &Setup, signals: Signals) -> Result<Self, Error> {
        let [program, arguments @ ..] = setup.command.as_slice() else {
            return Err(Error::new(format!("{} has no command to start", setup.name)));
        };
        let terminal = setup.terminal;
        let mut command = Command::new(program);
        command.args(arguments).envs(setup.env.iter().map(|(name, value)| (name, value)));
        if terminal {
            command.process_group(0);
        }
        // SAFETY: between fork and exec the closure makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(move || before_exec(terminal, signals)) };
        // Init reaps every child, so the handle is not needed.
        let child = command.spawn().map_err(|why| not_started(program, &why))?;
        Ok(Self { pid: Pid::from_raw(child.id().cast_signed()), terminal })
    }

    /// How the command ended, if `status` says so. A foreground command is continued when the terminal stops it:
    /// no shell outside could.
    pub(crate) fn ended(&self, status: WaitStatus) -> Option<Exit> {
        match status {
            WaitStatus::Exited(pid, code) if pid == self.pid => Some(Exit::Code(code)),
            WaitStatus::Signaled(pid, signal, _) if pid == self.pid => Some(Exit::Signal(signal as i32)),
            WaitStatus::Stopped(pid, _) if pid == self.pid && self.terminal => {
                let _ = killpg(pid, Signal::SIGCONT);
                None
            }
            _ => None,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        if self.terminal { killpg(self.pid, signal) } else { kill(self.pid, signal) }
    }
}

fn before_exec(terminal: bool, signals: Signals) -> io::Result<()> {
    // The signals that stop a background process are still ignored.
    if terminal && io::stdin().is_terminal() {
        tcsetpgrp(io::stdin(), getpid())?;
    }
    Ok(signals.restore()?)
}

fn not_started(program: &str, why: &io::Error) -> Error {
    match why.kind() {
        // `execvp` reports a folder of PATH that it may not read as well.
        io::ErrorKind::PermissionDenied if exists(program) => {
            Error::new(format!("{program}: not executable"))
        }
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            Error::new(format!("{program}: command not found"))
        }
        _ => Error::failed(
            format!("cannot start {program}"),
            io::Error::from_raw_os_error(why.raw_os_error().unwrap_or(0)),
        ),
    }
}

fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A program with a slash is not searched.
    let folders =
        if program.contains('/') { vec![PathBuf::new()] } else { std::env::split_paths(&path).collect() };
    folders.iter().any(|folder| folder.join(program).exists())
}

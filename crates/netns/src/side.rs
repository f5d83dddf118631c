//! The caller's end of a side.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::socket::{MsgFlags, Shutdown, shutdown};
use nix::unistd::{getpgrp, tcgetpgrp, tcsetpgrp};

use crate::device::Device;
use crate::error::Error;
use crate::setup::{Exit, Order, Report, Setup, Stdio};
use crate::socket;

/// One end of an emulated link.
#[derive(Debug)]
pub struct Side {
    /// The device `link`.
    pub device: Device,
    /// The processes inside.
    pub process: Process,
}

impl Side {
    /// Makes the namespaces with device, addresses and names. The command does not run yet.
    ///
    /// `helper` is program and arguments of a process with one thread that calls [`child`](crate::child) with the
    /// number in its last argument, which this function appends.
    ///
    /// # Errors
    ///
    /// One line: what is missing and, where known, the command that mends it.
    pub fn prepare(helper: &[String], setup: &Setup) -> Result<Self, Error> {
        let mut setup = setup.clone();
        setup.terminal &= owns_terminal();
        let (mut process, orders) = Process::spawn(helper, &setup)?;
        process.send(&orders)?;
        let mut device = None;
        // The helper and init report in either order.
        while device.is_none() || process.init == 0 {
            match process.receive()? {
                (Report::Init(pid), _) => process.init = pid,
                (Report::Failed(why), _) => return Err(Error::new(why)),
                (Report::Ready { name, ipv6 }, fds) => device = Some(Device::received(name, ipv6, fds)?),
                (report, _) => return Err(Error::new(format!("the helper sent {report:?} too early"))),
            }
        }
        Ok(Self { device: device.expect("the loop has ended"), process })
    }

    /// Starts the command.
    ///
    /// # Errors
    ///
    /// The command does not exist, is not executable, or the setup has none.
    pub fn start(&mut self) -> Result<(), Error> {
        self.process.start()
    }

    /// How the command ended; `None` while it runs, or before it was started. Does not block.
    pub fn try_wait(&mut self) -> Option<Exit> {
        self.process.try_wait()
    }

    /// Waits until the command ends.
    pub fn wait(&mut self) -> Exit {
        self.process.wait()
    }

    /// Sends a signal to the command; of a foreground command, to its process group. Without effect when it has
    /// ended.
    pub fn signal(&self, number: i32) {
        self.process.signal(number);
    }

    /// Kills every process inside and waits for their end.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Process id of init, outside: `nsenter -t PID -n` enters the network namespace.
    pub fn pid(&self) -> i32 {
        self.process.init
    }
}

/// The processes of a side. Dropping it kills them.
#[derive(Debug)]
pub struct Process {
    /// The end of the command's standard input, if the setup says [`Stdio::Piped`].
    pub stdin: Option<ChildStdin>,
    /// The end of the command's standard output, if the setup says [`Stdio::Piped`].
    pub stdout: Option<ChildStdout>,
    /// The end of the command's standard error, if the setup says [`Stdio::Piped`].
    pub stderr: Option<ChildStderr>,
    name: String,
    helper: Child,
    socket: OwnedFd,
    init: i32,
    terminal: bool,
    exit: Option<Exit>,
}

impl Process {
    fn spawn(helper: &[String], setup: &Setup) -> Result<(Self, Order), Error> {
        let failed =
            |why: io::Error| Error::failed(format!("cannot start the helper of {}", setup.name), why);
        let streams = [setup.stdin, setup.stdout, setup.stderr].map(stream);
        let (mut child, socket) = spawn_helper(helper, streams).map_err(failed)?;
        let process = Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            name: setup.name.clone(),
            helper: child,
            socket,
            init: 0,
            terminal: setup.terminal,
            exit: None,
        };
        let caller = std::process::id().cast_signed();
        Ok((process, Order::Make { setup: Box::new(setup.clone()), caller }))
    }

    /// See [`Side::start`].
    pub fn start(&mut self) -> Result<(), Error> {
        self.send(&Order::Start)?;
        match self.receive()?.0 {
            Report::Started => Ok(()),
            Report::Failed(why) => Err(Error::new(why)),
            report => Err(Error::new(format!("{} sent {report:?} instead of starting", self.name))),
        }
    }

    /// See [`Side::try_wait`].
    pub fn try_wait(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = self.ending(MsgFlags::MSG_DONTWAIT);
        }
        self.exit
    }

    /// See [`Side::wait`].
    pub fn wait(&mut self) -> Exit {
        loop {
            if self.exit.is_none() {
                self.exit = self.ending(MsgFlags::empty());
            }
            if let Some(exit) = self.exit {
                return exit;
            }
        }
    }

    fn ending(&mut self, flags: MsgFlags) -> Option<Exit> {
        let exit = match socket::receive(&self.socket, flags) {
            Ok(Some((Report::Ended(exit), _))) => exit,
            // Helper and init are gone; something has killed them.
            Ok(None) => Exit::Signal(Signal::SIGKILL as i32),
            _ => return None,
        };
        self.reclaim_terminal();
        Some(exit)
    }

    /// See [`Side::signal`].
    pub fn signal(&self, number: i32) {
        // Fails only if every process inside is gone.
        let _ = socket::send(&self.socket, &Order::Signal(number), &[]);
    }

    /// See [`Side::kill`].
    pub fn kill(&mut self) {
        // The helper sees the end of the socket, kills init and waits for it: nothing inside outlives the helper.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Both);
        let _ = self.helper.wait();
        self.reclaim_terminal();
    }

    fn send(&self, order: &Order) -> Result<(), Error> {
        socket::send(&self.socket, order, &[])
            .map_err(|why| Error::failed(format!("cannot reach the helper of {}", self.name), why))
    }

    fn receive(&mut self) -> Result<(Report, Vec<OwnedFd>), Error> {
        let failed = |why| Error::failed(format!("cannot read from the helper of {}", self.name), why);
        match socket::receive(&self.socket, MsgFlags::empty()).map_err(failed)? {
            Some(message) => Ok(message),
            None => {
                let status =
                    self.helper.wait().map_or_else(|why| why.to_string(), |status| status.to_string());
                Err(Error::new(format!("the helper of {} ended: {status}", self.name)))
            }
        }
    }

    /// Puts the caller back into the foreground after a foreground command.
    fn reclaim_terminal(&mut self) {
        if !std::mem::take(&mut self.terminal) {
            return;
        }
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTTOU);
        // A background process that does this is stopped unless it blocks the signal.
        if let Ok(previous) = mask.thread_swap_mask(SigmaskHow::SIG_BLOCK) {
            let _ = tcsetpgrp(io::stdin(), getpgrp());
            let _ = previous.thread_set_mask();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Becomes readable when [`Process::try_wait`] may have a result.
impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Starts a helper, and returns the caller's end of its socket.
pub(crate) fn spawn_helper(
    helper: &[String],
    [stdin, stdout, stderr]: [std::process::Stdio; 3],
) -> io::Result<(Child, OwnedFd)> {
    let [program, arguments @ ..] = helper else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it needs a program"));
    };
    let (socket, theirs) = socket::pair()?;
    let mut command = Command::new(program);
    command.args(arguments).arg(theirs.as_raw_fd().to_string());
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    inherit(&mut command, theirs.as_raw_fd());
    Ok((command.spawn()?, socket))
}

fn stream(stdio: Stdio) -> std::process::Stdio {
    match stdio {
        Stdio::Inherit => std::process::Stdio::inherit(),
        Stdio::Null => std::process::Stdio::null(),
        Stdio::Piped => std::process::Stdio::piped(),
    }
}

/// Whether standard input is a terminal with the caller in the foreground.
fn owns_terminal() -> bool {
    io::stdin().is_terminal() && tcgetpgrp(io::stdin()) == Ok(getpgrp())
}

/// Lets one descriptor survive `exec`, in this child only.
#[expect(unsafe_code, reason = "pre_exec")]
fn inherit(command: &mut Command, fd: RawFd) {
    let keep = move || {
        // SAFETY: the caller's copy of the descriptor stays open until the child has been started.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).map(drop).map_err(Errno::into)
    };
    // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(keep) };
}

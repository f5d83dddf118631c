//! Process 1 of a side: completes it, starts the command, reaps, and reports.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::MsgFlags;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::command::Running;
use crate::device::{Device, forward_packets, sysctl};
use crate::error::Error;
use crate::outer::Listener;
use crate::setup::{Order, Report, Setup};
use crate::signals::Signals;
use crate::{DEVICE, gateway, mounts, socket};

/// Returns when the caller has closed its socket.
pub(crate) fn run(socket: OwnedFd, setup: &Setup, signals: Signals) -> io::Result<()> {
    // Even a helper that is killed takes every process inside with it.
    set_pdeathsig(Signal::SIGKILL)?;
    let children = watch_children()?;
    let listener = match complete(setup) {
        Ok((device, listener)) => {
            let ready = Report::Ready { name: device.name.clone(), ipv6: device.ipv6 };
            socket::send(&socket, &ready, &device.fds())?;
            listener
        }
        Err(error) => return socket::send(&socket, &Report::Failed(error.to_string()), &[]),
    };
    Init { socket, setup, signals, listener, command: None }.serve(&children)
}

fn complete(setup: &Setup) -> Result<(Device, Listener), Error> {
    mounts::replace(setup)?;
    let mut device = Device::create(DEVICE, &setup.device)?;
    device.bring_up_loopback()?;
    match setup.outside {
        Some(outside) => gateway::translate(outside, &setup.device)?,
        None => device.route_everything()?,
    }
    if setup.forwards {
        forward_packets()?;
    }
    allow_ping()?;
    for (path, value) in &setup.sysctls {
        sysctl(path, value)?;
    }
    Ok((device, Listener::open(setup.depth)?))
}

/// `ping` without privilege, for the command's group: the only one that a user namespace maps.
fn allow_ping() -> Result<(), Error> {
    let group = nix::unistd::getegid();
    sysctl("net/ipv4/ping_group_range", &format!("{group} {group}"))
}

fn watch_children() -> io::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block()?;
    Ok(SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

struct Init<'a> {
    socket: OwnedFd,
    setup: &'a Setup,
    signals: Signals,
    listener: Listener,
    command: Option<Running>,
}

impl Init<'_> {
    fn serve(&mut self, children: &SignalFd) -> io::Result<()> {
        loop {
            let mut ready = [
                PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
                PollFd::new(children.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut ready, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => continue,
                result => result?,
            };
            let [order, child, request] = ready.map(|fd| fd.any().unwrap_or(false));
            if child {
                while children.read_signal()?.is_some() {}
                self.reap()?;
            }
            if request {
                self.listener.serve();
            }
            if order && !self.obey()? {
                return Ok(());
            }
        }
    }

    /// Receives one order. Returns `false` at the end.
    fn obey(&mut self) -> io::Result<bool> {
        match socket::receive(&self.socket, MsgFlags::empty())? {
            None => return Ok(false),
            Some((Order::Start, _)) => self.start()?,
            Some((Order::Signal(number), _)) => {
                if let (Some(command), Ok(signal)) = (&self.command, Signal::try_from(number)) {
                    // It may have ended; the report of that is on its way.
                    let _ = command.signal(signal);
                }
            }
            Some((Order::Make { .. } | Order::Watch { .. }, _)) => {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(true)
    }

    fn start(&mut self) -> io::Result<()> {
        let report = match Running::start(self.setup, self.signals) {
            Ok(running) => {
                self.command = Some(running);
                release_streams()?;
                Report::Started
            }
            Err(error) => Report::Failed(error.to_string()),
        };
        socket::send(&self.socket, &report, &[])
    }

    fn reap(&mut self) -> io::Result<()> {
        loop {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            let status = match waitid(Id::All, flags) {
                Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::ECHILD) => return Ok(()),
                result => result?,
            };
            if let Some(exit) = self.command.as_ref().and_then(|command| command.ended(status)) {
                self.command = None;
                socket::send(&self.socket, &Report::Ended(exit), &[])?;
            }
        }
    }
}

/// Leaves the streams to the command: the reader of its pipe must see the end when the command closes it.
pub(crate) fn release_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

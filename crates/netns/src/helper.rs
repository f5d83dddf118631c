//! The process between the caller and init.

use std::fs;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::MsgFlags;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, getppid};

use crate::error::Error;
use crate::setup::{Order, Report, Setup};
use crate::signals::Signals;
use crate::{init, socket};

/// Runs the helper process of a [`Side`](crate::Side), and init in a process that it forks. `socket` is the
/// descriptor whose number [`Side::prepare`](crate::Side::prepare) has appended to the helper's arguments. The
/// process must have one thread.
pub fn child(socket: RawFd) -> ! {
    let code = catch_unwind(|| run(own(socket))).map_or(70, |result| i32::from(result.is_err()));
    exit(code)
}

fn run(socket: OwnedFd) -> io::Result<()> {
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let signals = Signals::ignore()?;
    match socket::receive(&socket, MsgFlags::empty())? {
        Some((Order::Make { setup, caller }, _)) => make(socket, &setup, caller, signals),
        Some((Order::Watch { command, caller }, _)) => watch(&socket, &command, caller),
        _ => Ok(()),
    }
}

fn make(socket: OwnedFd, setup: &Setup, caller: i32, signals: Signals) -> io::Result<()> {
    let caller = match open_caller(caller) {
        Ok(Some(caller)) => caller,
        Ok(None) => return Ok(()),
        Err(error) => return socket::send(&socket, &Report::Failed(error.to_string()), &[]),
    };
    if let Err(error) = isolate() {
        return socket::send(&socket, &Report::Failed(error.to_string()), &[]);
    }
    match fork_init()? {
        None => init::run(socket, setup, signals),
        Some(init) => {
            init::release_streams()?;
            socket::send(&socket, &Report::Init(init.as_raw()), &[])?;
            supervise(&socket, &caller, &Process::open(init)?)
        }
    }
}

/// Runs a program outside of sides, which must not outlive the caller.
#[expect(unsafe_code, reason = "pre_exec")]
fn watch(socket: &OwnedFd, command: &[String], caller: i32) -> io::Result<()> {
    let caller = match open_caller(caller) {
        Ok(Some(caller)) => caller,
        Ok(None) => return Ok(()),
        Err(error) => return socket::send(socket, &Report::Failed(error.to_string()), &[]),
    };
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
    match command.spawn() {
        Err(why) => {
            let error = Error::failed(format!("cannot start {program}"), why);
            socket::send(socket, &Report::Failed(error.to_string()), &[])
        }
        Ok(child) => {
            socket::send(socket, &Report::Started, &[])?;
            supervise(socket, &caller, &Process::open(Pid::from_raw(child.id().cast_signed()))?)
        }
    }
}

/// The caller; `None` if it ended before its descriptor was open: the number may mean another process by now.
fn open_caller(pid: i32) -> Result<Option<Process>, Error> {
    let caller = Process::open(Pid::from_raw(pid))
        .map_err(|why| Error::refused_call("cannot watch the calling process", "pidfd_open", why))?;
    Ok((getppid() == caller.pid).then_some(caller))
}

/// Waits until the caller closes its socket or ends, or `child` ends, which is killed. If it is init, nothing
/// inside is alive afterwards.
fn supervise(socket: &OwnedFd, caller: &Process, child: &Process) -> io::Result<()> {
    let mut events = [
        PollFd::new(socket.as_fd(), PollFlags::empty()),
        PollFd::new(caller.fd.as_fd(), PollFlags::POLLIN),
        PollFd::new(child.fd.as_fd(), PollFlags::POLLIN),
    ];
    while poll(&mut events, PollTimeout::NONE) == Err(Errno::EINTR) {}
    // It may have ended already; it stays a zombie until the next call.
    let _ = kill(child.pid, Signal::SIGKILL);
    waitpid(child.pid, None)?;
    Ok(())
}

/// Enters new namespaces; the next child is process 1. Root needs no user namespace, unless a container has taken
/// the right to make the others.
fn isolate() -> Result<(), Error> {
    single_threaded()?;
    let namespaces = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    match unshare(namespaces) {
        Ok(()) => return Ok(()),
        Err(Errno::EPERM) => {}
        Err(why) => return Err(Error::namespaces(why)),
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | namespaces).map_err(Error::namespaces)?;
    // The command keeps its own identity, and with it loses every capability at exec.
    map("setgroups", "deny")?;
    map("uid_map", &format!("{user} {user} 1"))?;
    map("gid_map", &format!("{group} {group} 1"))
}

fn map(file: &str, text: &str) -> Result<(), Error> {
    fs::write(format!("/proc/self/{file}"), text).map_err(|why| match why.raw_os_error() {
        Some(code @ (libc::EPERM | libc::EACCES)) => Error::namespaces(Errno::from_raw(code)),
        _ => Error::failed(format!("cannot write {file} of the user namespace"), why),
    })
}

fn single_threaded() -> Result<(), Error> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads == 1 {
        return Ok(());
    }
    Err(Error::new(format!("the helper process has {threads} threads; it must have one")))
}

#[expect(unsafe_code, reason = "fork")]
fn fork_init() -> Result<Option<Pid>, Errno> {
    // SAFETY: this process has one thread, so its child may use locks and the allocator.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(None),
        ForkResult::Parent { child } => Ok(Some(child)),
    }
}

/// A process, and a descriptor that becomes readable when it ends.
struct Process {
    pid: Pid,
    fd: OwnedFd,
}

impl Process {
    #[expect(unsafe_code, reason = "neither libc nor nix has a function for pidfd_open")]
    fn open(pid: Pid) -> io::Result<Self> {
        // SAFETY: the call takes two integers and returns a new descriptor or -1.
        let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
        Ok(Self { pid, fd: own(RawFd::try_from(fd).expect("a descriptor is an int")) })
    }
}

#[expect(unsafe_code, reason = "a descriptor as number")]
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the descriptor is a new one of this process, or the one that was inherited for this call.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[expect(unsafe_code, reason = "_exit")]
fn exit(code: i32) -> ! {
    // SAFETY: ends the process. Handlers of the program that called `child`, an interpreter, must not run here.
    unsafe { libc::_exit(code) }
}

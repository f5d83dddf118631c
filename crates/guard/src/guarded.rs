//! A guard beside this process, with a cgroup for the connections that it guards.

use crate::daemon::{self, Options, Source};
use crate::rules::Rules;
use crate::{Error, cgroup, system};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, dup2_stderr, getppid, pipe2, read, setpgid};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Start of the names of cgroups.
const PREFIX: &str = "airwnd-guard-run-";
/// Attempts to remove a cgroup that a process is still leaving, and the pause between.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A guard that runs until the value is dropped.
///
/// A socket belongs to the cgroup in which its process was when it was made. So this process enters the guard's cgroup
/// only to make connections or processes, and all of its other sockets are free. A process between this one and the guard waits at a
/// pipe: when that is closed, also by SIGKILL, it ends the guard and removes the cgroup, for which the guard has no
/// privileges.
pub(crate) struct Guard {
    pipe: Option<OwnedFd>,
    keeper: Pid,
    /// Standard error of the guard.
    output: BufReader<File>,
    cgroup: PathBuf,
    /// Where this process belongs.
    own: PathBuf,
}

impl Guard {
    /// Starts it. Call it while this process has one thread, with the signals of the guard blocked.
    pub fn start(rules: Rules) -> Result<Guard, Error> {
        let own = cgroup::own()?;
        let cgroup = create(&cgroup::mounted()?)?;
        let start = || {
            let (end, pipe) = pipe2(OFlag::O_CLOEXEC)?;
            let (output, input) = pipe2(OFlag::O_CLOEXEC)?;
            match system::fork()? {
                ForkResult::Parent { child } => Ok((pipe, child, output)),
                ForkResult::Child => {
                    drop((pipe, output));
                    keep(&cgroup, rules, &end, input);
                    system::exit_now()
                }
            }
        };
        let (pipe, keeper, output) = start().map_err(|why: Errno| {
            remove(&cgroup);
            Error::failed("cannot start the guard", &why)
        })?;
        let output = BufReader::new(File::from(output));
        let mut guard = Guard { pipe: Some(pipe), keeper, output, cgroup, own };
        match guard.line().as_str() {
            "guarding" => Ok(guard),
            "" => Err(Error::new("the guard has ended at its start")),
            line => Err(Error::new(line)),
        }
    }

    /// Calls a function while this process is in the guard's cgroup.
    pub fn inside<T>(&self, make: impl FnOnce() -> T) -> Result<T, Error> {
        enter(&self.cgroup)?;
        let made = make();
        enter(&self.own)?;
        Ok(made)
    }

    /// Fails with the guard's own message if it has ended: it says nothing more before.
    pub fn check(&mut self) -> Result<(), Error> {
        let mut events = [PollFd::new(self.output.get_ref().as_fd(), PollFlags::POLLIN)];
        match poll(&mut events, PollTimeout::ZERO) {
            Ok(0) | Err(_) => Ok(()),
            Ok(_) => Err(Error::new(format!("the guard has ended: {}", self.line()))),
        }
    }

    /// Waits for a line of the guard; empty: it has ended.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line);
        line.trim_end().to_string()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A cgroup with a process cannot be removed.
        let _ = enter(&self.own);
        drop(self.pipe.take());
        let _ = waitpid(self.keeper, None);
    }
}

/// Makes a cgroup below another one, and removes those of processes that were killed together with their keepers.
fn create(root: &Path) -> Result<PathBuf, Error> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| is_ours(path)).for_each(|path| drop(cgroup::remove_unguarded(&path)));
    // In PID namespaces numbers of processes begin anew.
    let path = root.join(format!("{PREFIX}{}-{}", std::process::id(), system::real_time().as_nanos()));
    match fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::new("no permission to make a cgroup; run it with: sudo"))
        }
        Err(why) => Err(Error::failed(format!("cannot make the cgroup {}", path.display()), &why)),
    }
}

fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Removes a cgroup, whose processes, if any are left, belong to the one above it from then on.
fn remove(cgroup: &Path) {
    for _ in 0..ATTEMPTS {
        let left = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
        let above = cgroup.parent().unwrap_or(cgroup).join("cgroup.procs");
        // A process that has ended meanwhile cannot be moved.
        left.lines().for_each(|process| drop(fs::write(&above, process)));
        match fs::remove_dir(cgroup) {
            Err(why) if why.raw_os_error() == Some(libc::EBUSY) => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// Moves this process.
fn enter(cgroup: &Path) -> Result<(), Error> {
    let failed =
        |why: io::Error| Error::failed(format!("cannot enter the cgroup {}", cgroup.display()), &why);
    fs::write(cgroup.join("cgroup.procs"), "0").map_err(failed)
}

/// Runs the guard in a process of its own until `end` is closed, and removes the cgroup.
fn keep(cgroup: &Path, rules: Rules, end: &OwnedFd, output: OwnedFd) {
    // Ctrl-C ends what is guarded, and then the guard.
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    match system::fork() {
        Ok(ForkResult::Child) => {
            guard(cgroup, rules, output);
            system::exit_now()
        }
        Ok(ForkResult::Parent { child }) => {
            drop(output);
            while read(end, &mut [0]) == Err(Errno::EINTR) {}
            let _ = kill(child, Signal::SIGTERM);
            let _ = waitpid(child, None);
        }
        Err(_) => {}
    }
    remove(cgroup);
}

fn guard(cgroup: &Path, rules: Rules, output: OwnedFd) {
    let keeper = getppid();
    let is_bound = set_pdeathsig(Signal::SIGTERM).is_ok() && getppid() == keeper;
    if !is_bound || dup2_stderr(output).is_err() {
        return;
    }
    let options = Options {
        cgroups: vec![cgroup.to_path_buf()],
        interfaces: Vec::new(),
        source: Source::Options(rules),
        json_log: None,
        prometheus: None,
        record: None,
    };
    if let Err(why) = daemon::run(&options) {
        eprintln!("{why}");
    }
}

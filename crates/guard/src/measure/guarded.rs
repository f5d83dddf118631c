//! The guard of a test: a process with a cgroup for the connections that it guards.

use crate::daemon::{self, Options, Source};
use crate::rules::Rules;
use crate::{Error, cgroup, system};
use nix::fcntl::OFlag;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, getppid, pipe2};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Attempts to remove a cgroup that a process is still leaving, and the pause between.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A guard that runs until the value is dropped.
///
/// A socket belongs to the cgroup in which its process was when it was made. So this process enters the guard's cgroup
/// only to make connections, and all of its other sockets are free.
pub(super) struct Guard {
    process: Pid,
    /// Standard error of the process.
    output: BufReader<File>,
    cgroup: Folder,
    /// Where this process belongs.
    own: PathBuf,
}

/// A cgroup, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn remove(&self) {
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(&self.0) {
                Err(why) if why.raw_os_error() == Some(libc::EBUSY) => thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Guard {
    /// Starts it. Call it while this process has one thread, with the signals of the guard blocked.
    pub fn start(rules: Rules) -> Result<Guard, Error> {
        let own = cgroup::own()?;
        let path = cgroup::mounted()?.join(format!("airwnd-guard-test-{}", std::process::id()));
        let failed = |why: io::Error| Error::failed(format!("cgroup {}", path.display()), &why);
        fs::create_dir(&path).map_err(failed)?;
        let cgroup = Folder(path);
        let failed = |why| Error::failed("cannot start the guard", &why);
        let (output, input) = pipe2(OFlag::O_CLOEXEC).map_err(failed)?;
        let parent = std::process::id();
        let process = match system::fork().map_err(failed)? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                guard(&cgroup, rules, input, parent);
                system::exit_now()
            }
        };
        drop(input);
        let output = BufReader::new(File::from(output));
        let mut guard = Guard { process, output, cgroup, own };
        match guard.line().as_str() {
            "guarding" => Ok(guard),
            "" => Err(Error::new("the guard has ended at its start")),
            line => Err(Error::new(line)),
        }
    }

    /// Calls a function while this process is in the guard's cgroup.
    pub fn inside<T>(&self, make: impl FnOnce() -> T) -> Result<T, Error> {
        enter(&self.cgroup.0)?;
        let made = make();
        enter(&self.own)?;
        Ok(made)
    }

    /// Fails with the guard's own message if it has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        match waitpid(self.process, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => Ok(()),
            _ => Err(Error::new(format!("the guard of the test has ended: {}", self.line()))),
        }
    }

    /// Waits for a line of the process; empty: it has ended.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line);
        line.trim_end().to_string()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = kill(self.process, Signal::SIGTERM);
        let _ = waitpid(self.process, None);
        let _ = enter(&self.own);
    }
}

/// Moves this process.
fn enter(cgroup: &Path) -> Result<(), Error> {
    let failed =
        |why: io::Error| Error::failed(format!("cannot enter the cgroup {}", cgroup.display()), &why);
    fs::write(cgroup.join("cgroup.procs"), "0").map_err(failed)
}

/// Runs the guard in the process that was made for it.
fn guard(cgroup: &Folder, rules: Rules, output: OwnedFd, parent: u32) {
    // After a SIGKILL of the test as well, the guard ends and removes the cgroup.
    let is_bound = set_pdeathsig(Signal::SIGTERM).is_ok() && getppid().as_raw() == parent.cast_signed();
    if !is_bound || dup2_stderr(output).is_err() {
        return;
    }
    let options = Options {
        cgroups: vec![cgroup.0.clone()],
        interfaces: Vec::new(),
        source: Source::Options(rules),
        json_log: None,
        prometheus: None,
        record: None,
    };
    if let Err(why) = daemon::run(&options) {
        eprintln!("{why}");
    }
    // While the test runs, its own value removes it.
    if getppid().as_raw() != parent.cast_signed() {
        cgroup.remove();
    }
}

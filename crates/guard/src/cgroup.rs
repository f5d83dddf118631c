//! The cgroups whose sockets are guarded.

use crate::{Error, names};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A cgroup that no other guard controls: neither itself, nor one above or below.
///
/// The lock on the folder ends with the process, also by SIGKILL.
#[derive(Debug)]
pub(crate) struct Cgroup {
    own: Flock<File>,
    _above: Vec<Flock<File>>,
}

impl Cgroup {
    /// Opens the folder of a cgroup.
    pub fn claim(path: &Path) -> Result<Cgroup, Error> {
        let failed = |why: io::Error| Error::failed(format!("cgroup {}", path.display()), &why);
        let path = path.canonicalize().map_err(failed)?;
        if !is_cgroup(&path) {
            return Err(Error::new(format!("cgroup {}: not a folder of cgroup version 2", path.display())));
        }
        let above = path.ancestors().skip(1).take_while(|folder| is_cgroup(folder));
        let above =
            above.map(|folder| lock(folder, FlockArg::LockSharedNonblock)).collect::<Result<_, _>>()?;
        Ok(Cgroup { own: lock(&path, FlockArg::LockExclusiveNonblock)?, _above: above })
    }

    /// Returns the open folder.
    pub fn file(&self) -> &File {
        &self.own
    }
}

fn lock(folder: &Path, kind: FlockArg) -> Result<Flock<File>, Error> {
    let what = format!("cgroup {}", folder.display());
    let file = File::open(folder).map_err(|why| Error::failed(&what, &why))?;
    let inode = file.metadata().map_err(|why| Error::failed(&what, &why))?.ino();
    Flock::lock(file, kind).map_err(|_| {
        let holder = holder(inode).map(|process| names::described(&process)).unwrap_or_default();
        Error::new(format!("{what}: guarded by another process already{holder}"))
    })
}

/// Finds the process that has locked a cgroup, by its inode; `None`: it is not visible from here.
fn holder(inode: u64) -> Option<String> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holder_in(line, inode))
}

/// Reads a line of /proc/locks: number, kind, `ADVISORY`, access, process, `major:minor:inode`, range.
fn holder_in(line: &str, inode: u64) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().filter(|field| *field != "->").collect();
    let is_it = fields.get(1) == Some(&"FLOCK") && fields.get(5)?.rsplit(':').next()?.parse() == Ok(inode);
    // Zero: of another PID namespace.
    fields.get(4).filter(|process| is_it && **process != "0").map(ToString::to_string)
}

/// Folders of cgroup version 1 have no such file.
pub(crate) fn is_cgroup(folder: &Path) -> bool {
    folder.join("cgroup.controllers").exists()
}

/// Whether the cgroup contains every process: all cgroups but the root have a type.
pub(crate) fn is_root(folder: &Path) -> bool {
    is_cgroup(folder) && !folder.join("cgroup.type").exists()
}

/// Returns the cgroup of all processes.
pub(crate) fn root() -> Result<PathBuf, Error> {
    let folders = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    folders.into_iter().find(|folder| is_root(folder)).ok_or_else(|| {
        Error::new("no cgroup version 2; mount it with: sudo mount -t cgroup2 none /sys/fs/cgroup")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_holds_a_lock_is_found() {
        let line = "3: FLOCK  ADVISORY  WRITE 812 00:1b:4242 0 EOF";
        assert_eq!(holder_in(line, 4242).as_deref(), Some("812"));
        assert_eq!(holder_in(line, 4243), None);
        for other in [
            "3: -> FLOCK  ADVISORY  READ 0 00:1b:4242 0 EOF",
            "3: POSIX  ADVISORY  WRITE 812 00:1b:4242 0 EOF",
            "3: FLOCK",
            "",
        ] {
            assert_eq!(holder_in(other, 4242), None, "{other}");
        }
    }

    #[test]
    fn a_lock_of_this_process_is_found() {
        let folder = std::env::temp_dir().join(format!("airwnd-lock-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let first = lock(&folder, FlockArg::LockExclusiveNonblock).unwrap();
        let error = lock(&folder, FlockArg::LockSharedNonblock).unwrap_err().to_string();
        drop(first);
        fs::remove_dir(&folder).unwrap();
        let own = format!(" {}", std::process::id());
        assert!(error.contains("guarded by another process already: ") && error.contains(&own), "{error}");
    }
}

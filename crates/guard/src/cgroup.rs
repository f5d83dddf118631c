//! The cgroups whose sockets are guarded.

use crate::{Error, names};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where cgroup version 2 is mounted: alone, or beside version 1.
const FOLDERS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

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

/// Returns the cgroup of all processes; in a container, that of its processes, which is mounted in place of the root.
pub(crate) fn root() -> Result<PathBuf, Error> {
    FOLDERS.iter().map(PathBuf::from).find(|folder| is_cgroup(folder)).ok_or_else(missing)
}

fn missing() -> Error {
    Error::new("no cgroup version 2; mount it with: sudo mount -t cgroup2 none /sys/fs/cgroup")
}

/// Returns the folder of cgroup version 2, which in a container is not that of all processes.
pub(crate) fn mounted() -> Result<PathBuf, Error> {
    let mut folders = FOLDERS.iter().map(PathBuf::from);
    folders.find(|folder| is_cgroup(folder)).ok_or_else(missing)
}

/// Returns the cgroup of this process.
pub(crate) fn own() -> Result<PathBuf, Error> {
    let text = fs::read_to_string("/proc/self/cgroup")
        .map_err(|why| Error::failed("cannot find the cgroup of this process", &why))?;
    let path = text.lines().find_map(own_in).unwrap_or_default();
    Ok(mounted()?.join(path))
}

/// Reads a line of /proc/self/cgroup; that of version 2 has no controllers: 0::/user.slice/session.scope. A cgroup outside
/// of the namespace begins with `..`, and the namespace's own is then the nearest one.
fn own_in(line: &str) -> Option<&str> {
    let path = line.strip_prefix("0::/")?;
    Some(if path.starts_with("..") { "" } else { path })
}

/// Fails if a guard controls sockets that this process makes.
pub(crate) fn refuse_guarded() -> Result<(), Error> {
    // Without cgroup version 2 there is no guard.
    let Ok(own) = own() else { return Ok(()) };
    own.ancestors()
        .take_while(|folder| is_cgroup(folder))
        .try_for_each(|folder| lock(folder, FlockArg::LockSharedNonblock).map(drop))
}

/// Removes a cgroup without processes that no guard controls.
pub(crate) fn remove_unguarded(folder: &Path) -> Result<(), Error> {
    let _own = lock(folder, FlockArg::LockExclusiveNonblock)?;
    fs::remove_dir(folder).map_err(|why| Error::failed(format!("cgroup {}", folder.display()), &why))
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
    fn the_own_cgroup_is_that_of_version_2() {
        for (line, expected) in [
            ("0::/user.slice/session.scope", Some("user.slice/session.scope")),
            ("0::/", Some("")),
            ("0::/../../other", Some("")),
            ("5:net_cls:/", None),
        ] {
            assert_eq!(own_in(line), expected, "{line}");
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

//! The cgroups whose sockets are guarded.

use crate::Error;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io;
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
    Flock::lock(file, kind).map_err(|_| Error::new(format!("{what}: guarded by another process already")))
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

//! Names of interfaces and cgroups of this machine.

use crate::cgroup;
use crate::rules::Names;
use nix::net::if_::if_nametoindex;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// This machine, in the network namespace of the process.
pub(crate) struct Machine;

impl Names for Machine {
    fn interface(&self, name: &str) -> Result<u32, String> {
        if_nametoindex(name).map_err(|_| format!("no interface is named `{name}`"))
    }

    fn cgroups(&self, path: &str) -> Result<HashSet<u64>, String> {
        if !cgroup::is_cgroup(Path::new(path)) {
            return Err(format!("{path} is not a folder of cgroup version 2"));
        }
        let mut found = HashSet::new();
        let mut folders = vec![PathBuf::from(path)];
        while let Some(folder) = folders.pop() {
            // The identifier of a cgroup is the number of its inode. A cgroup may disappear meanwhile.
            let Ok(metadata) = fs::metadata(&folder) else { continue };
            found.insert(metadata.ino());
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(below.map(|entry| entry.path()));
        }
        Ok(found)
    }
}

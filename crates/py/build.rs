//! Identifies the engine by a hash of its sources, so that stored results of different engines are never mixed.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let crates = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates)? {
        let folder = entry?.path();
        collect(&folder.join("src"), &mut files)?;
        collect(&folder.join("data"), &mut files)?;
    }
    files.sort();
    let mut hash = Fnv::default();
    for file in &files {
        hash.add(file.strip_prefix(&crates).expect("found below it").to_string_lossy().as_bytes());
        hash.add(&fs::read(file)?);
    }
    println!("cargo::rerun-if-changed={}", crates.display());
    println!(
        "cargo::rustc-env=AIRWND_ENGINE={}+{:016x}",
        env::var("CARGO_PKG_VERSION").expect("set by cargo"),
        hash.0
    );
    Ok(())
}

/// Collects the files below `folder`, if it exists.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// FNV-1a, 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

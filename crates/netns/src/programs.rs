//! Programs of the system that parts of this crate run.

use std::env;
use std::path::{Path, PathBuf};

use crate::Error;

/// Folders that are not on every user's `PATH`.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// A program and the Debian package that contains it.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

pub(crate) const NFT: Program = Program { name: "nft", package: "nftables" };
pub(crate) const PASTA: Program = Program { name: "pasta", package: "passt" };

/// The path of a program.
pub(crate) fn find(program: &Program) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    find_in(program, env::split_paths(&path).chain(SYSTEM.map(PathBuf::from)))
}

fn find_in(program: &Program, folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.map(|folder| folder.join(program.name)).find(|path| Path::is_file(path))
}

/// `what` cannot be done without all of `programs`.
pub(crate) fn require(what: &str, programs: &[Program]) -> Result<(), Error> {
    let missing: Vec<&Program> = programs.iter().filter(|program| find(program).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(lacking(what, &missing)) }
}

fn lacking(what: &str, missing: &[&Program]) -> Error {
    let words = |word: fn(&Program) -> &str| missing.iter().map(|program| word(program)).collect::<Vec<_>>();
    let names = words(|program| program.name).join(" and ");
    let packages = words(|program| program.package).join(" ");
    let (are, them) = if missing.len() == 1 { ("is", "it") } else { ("are", "them") };
    Error::new(format!("{what}: {names} {are} missing; install {them} with: sudo apt install {packages}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_names_all_that_is_missing() {
        assert_eq!(
            lacking("cannot go", &[&PASTA, &NFT]).to_string(),
            "cannot go: pasta and nft are missing; install them with: sudo apt install passt nftables"
        );
        assert_eq!(
            lacking("cannot go", &[&NFT]).to_string(),
            "cannot go: nft is missing; install it with: sudo apt install nftables"
        );
        assert_eq!(find_in(&PASTA, [PathBuf::from("/nonexistent")].into_iter()), None);
    }
}

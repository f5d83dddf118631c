//! Every deviation in `specs/exceptions.toml` is marked in the code, and every mark is listed there.

#[path = "support/reference.rs"]
#[allow(dead_code, reason = "pages are the other test's")]
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const MARK: &str = "//= exception ";

/// The marks below a folder: where each id is marked.
fn marks(folder: &Path, top: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            marks(&path, top, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = path.strip_prefix(top).unwrap().to_str().unwrap().replace('\\', "/");
            let text = fs::read_to_string(&path).unwrap();
            for id in text.lines().filter_map(|line| line.trim().strip_prefix(MARK)) {
                found.entry(id.to_string()).or_default().insert(file.clone());
            }
        }
    }
}

#[test]
fn every_exception_is_marked_and_every_mark_is_listed() {
    let root = reference::root();
    let mut found = BTreeMap::new();
    for crate_folder in fs::read_dir(root.join("crates")).unwrap() {
        marks(&crate_folder.unwrap().path().join("src"), &root, &mut found);
    }
    let exceptions = reference::exceptions();
    for exception in &exceptions {
        let files = found.get(&exception.id);
        assert!(
            files.is_some_and(|files| files.contains(&exception.file)),
            "`{}` has no mark in {}, but in {files:?}",
            exception.id,
            exception.file,
        );
    }
    let listed: BTreeSet<&str> = exceptions.iter().map(|exception| exception.id.as_str()).collect();
    assert_eq!(listed.len(), exceptions.len(), "an id is listed twice");
    let stray: Vec<_> = found.iter().filter(|(id, _)| !listed.contains(id.as_str())).collect();
    assert!(stray.is_empty(), "marks that specs/exceptions.toml does not list: {stray:?}");
}

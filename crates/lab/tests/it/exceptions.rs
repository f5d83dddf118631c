//! Every deviation in `crates/lab/src/exceptions.toml` is marked in the code, and every mark is listed there.

use crate::support::reference;
use std::collections::BTreeSet;

#[test]
fn every_exception_is_marked_and_every_mark_is_listed() {
    let files = reference::marked_files();
    let marked: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    let exceptions = airwnd_lab::limits();
    let listed: BTreeSet<&str> = exceptions.iter().map(|exception| exception.id.as_str()).collect();
    assert_eq!(listed.len(), exceptions.len(), "an id is listed twice");
    let unmarked: Vec<_> = listed.difference(&marked).collect();
    assert!(unmarked.is_empty(), "entries of crates/lab/src/exceptions.toml without a mark: {unmarked:?}");
    let stray: Vec<_> = marked.difference(&listed).map(|id| (id, &files[*id])).collect();
    assert!(stray.is_empty(), "marks that crates/lab/src/exceptions.toml does not list: {stray:?}");
}

//! The reference pages agree with the code.

use crate::support::reference;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_reference_pages_are_up_to_date() {
    let folder = reference::marks::root().join("docs/reference");
    let remedy = "run `cargo run -p airwnd-lab --example reference -- docs/reference`";
    let pages = reference::pages();
    for (name, text) in &pages {
        let there = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(there == *text, "docs/reference/{name} is out of date: {remedy}");
    }
    let there: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let made: BTreeSet<String> = pages.into_iter().map(|(name, _)| name).collect();
    assert_eq!(there, made, "docs/reference has other pages than are made");
}

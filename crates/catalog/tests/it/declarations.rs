//! Width of declarations: rustfmt does not format attributes that contain expressions.

use std::fs;
use std::path::{Path, PathBuf};

/// rustfmt's `max_width`.
const WIDTH: usize = 110;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Numbered lines of the attributes that declare parameters.
fn declarations(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let begins = ["#[param(", "#[params(", "#[family("];
        inside |= begins.iter().any(|begin| line.trim_start().starts_with(begin));
        if inside {
            lines.push((number, line));
        }
        inside &= !line.ends_with(")]");
    }
    lines
}

#[test]
fn declarations_are_no_wider_than_the_code() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let mut count = 0;
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for (number, line) in declarations(&text) {
            count += 1;
            assert!(line.chars().count() <= WIDTH, "{}:{number}: {line}", file.display());
        }
    }
    assert!(count > 500, "{count} lines only");
}

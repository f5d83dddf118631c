//! Marks in the sources: lines `//= ...` that cite a document or a deliberate deviation.

use std::fs;
use std::path::{Path, PathBuf};

/// A mark in a source file.
#[derive(Debug)]
pub struct Mark {
    /// Path from the root folder of the project, with slashes.
    pub file: String,
    /// Line number, from 1.
    #[allow(dead_code, reason = "only citations report it")]
    pub line: usize,
    /// The text after `//= `.
    pub text: String,
}

/// Root folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All marks in the crates and tools, ordered by file and line.
pub fn marks() -> Vec<Mark> {
    let top = root();
    let mut found = Vec::new();
    for folder in ["crates", "tools"] {
        collect(&top.join(folder), &top, &mut found);
    }
    found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    found
}

fn collect(folder: &Path, top: &Path, found: &mut Vec<Mark>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, top, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = path.strip_prefix(top).unwrap().to_str().unwrap().replace('\\', "/");
            let text = fs::read_to_string(&path).unwrap();
            found.extend(text.lines().zip(1..).filter_map(|(text, line)| {
                let text = text.trim().strip_prefix("//= ")?.to_string();
                Some(Mark { file: file.clone(), line, text })
            }));
        }
    }
}

//! The program as a shell calls it.

use std::process::{Command, Output};

fn gentle(file: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gentle")).arg(file).output().unwrap()
}

#[test]
fn the_outcome_is_json() {
    let done = gentle(concat!(env!("CARGO_MANIFEST_DIR"), "/scenario.toml"));
    assert!(done.status.success());
    let outcome = String::from_utf8(done.stdout).unwrap();
    assert!(outcome.starts_with("{\n") && outcome.contains("\"goodput_kbps\""), "{outcome}");
}

#[test]
fn a_missing_file_is_bad_input() {
    let done = gentle("nowhere.toml");
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("nowhere.toml: "));
}

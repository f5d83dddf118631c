//! Prints a dictionary for fuzzers: the keys, words, units and some values of scenarios.
//!
//! `cargo run -p airwnd-attack --example dictionary > scenario.dict`

use airwnd_attack::shape::{SCENARIO, Shape, Table};
use std::collections::BTreeSet;

/// Tokens that are not in declarations: punctuation of the formats, and units.
const SIGNS: [&str; 30] = [
    "[[",
    "]]",
    " = ",
    "{kind = ",
    "\"kind\":",
    ", ",
    "[0].",
    "none",
    "true",
    "false",
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "B",
    "KiB",
    "MB",
    "kbps",
    "Mbps",
    "Gbps",
    "dB",
    "dBm",
    "MHz",
    "m",
    "km",
    "km/h",
    "m/s",
    "deg",
];

fn words(shape: &Shape, to: &mut BTreeSet<String>) {
    match shape {
        Shape::Table(table) => table_words(table, to),
        Shape::OneOf(branches) => branches.iter().for_each(|branch| words(branch, to)),
        Shape::Words(list) => to.extend(list.iter().cloned()),
        Shape::List(item, ..) => words(item, to),
        Shape::Value(range) => to.extend(range.ends.iter().map(|end| end.to_string().replace('"', ""))),
        Shape::Flag | Shape::Text => {}
    }
}

fn table_words(table: &Table, to: &mut BTreeSet<String>) {
    to.extend(table.kind.clone());
    for entry in &table.entries {
        to.insert(entry.key.clone());
        words(&entry.shape, to);
    }
}

fn main() {
    let mut all: BTreeSet<String> = SIGNS.iter().map(|sign| sign.to_string()).collect();
    table_words(&SCENARIO, &mut all);
    for word in all {
        println!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
    }
}

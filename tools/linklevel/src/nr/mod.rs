//! The chain of NR's shared channels: LDPC code, rate matching and modulation.
//!
//! It generates `crates/phy/data/nr_block_error_curves.csv`:
//!
//! ```sh
//! cargo run --release -p airwnd-linklevel -- simulate-nr tools/linklevel/data/nr_block_errors.csv 2026-11-23
//! cargo run --release -p airwnd-linklevel -- fit-nr tools/linklevel/data/nr_block_errors.csv crates/phy/data/nr_block_error_curves.csv
//! ```

pub mod campaign;
pub mod code;
pub mod decoder;
pub mod link;
pub mod rate_matching;
pub mod record;

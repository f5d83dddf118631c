//! Robustness tests of all input parsers and of runs.
//!
//! * [`shape`]: structure of a scenario as declared by the schema; [`value`]: numbers and quantities within a range.
//! * [`legal`]: generator of valid scenarios; [`ends`]: ends of the range of every parameter of every member.
//! * [`figures`]: invariants of the results of every run; [`trial`]: bounded runs of scenarios with all checks.
//! * [`targets`]: functions called with bytes by the fuzzers (`fuzz/`) and, with the stored corpus, by the tests;
//!   [`guard`]: those of `airwnd guard`.
//!
//! Generators and fuzzers draw from bytes in the same way ([`arbitrary::Unstructured`]), so an input found by a fuzzer
//! is an ordinary test case.

pub mod ends;
pub mod figures;
pub mod guard;
pub mod legal;
pub mod owner;
pub mod shape;
pub mod targets;
pub mod trial;
pub mod value;

pub use arbitrary;

use airwnd_kernel::Stream;

/// Returns pseudorandom bytes for case `number`, from which a scenario is drawn.
pub fn bytes(number: u64, length: usize) -> Vec<u8> {
    let mut stream = Stream::new(number, "attack");
    (0..length.div_ceil(8)).flat_map(|_| stream.next_u64().to_le_bytes()).take(length).collect()
}

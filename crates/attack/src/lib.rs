//! A standing attack on everything that reads input and on every run.
//!
//! * [`shape`]: what the schema declares that a scenario may hold; [`value`]: numbers and quantities within a range.
//! * [`legal`]: generates legal scenarios; [`ends`]: the ends of the range of every parameter of every member.
//! * [`figures`]: what holds of the results of every run; [`trial`]: runs a scenario within bounds and checks all of it.
//! * [`targets`]: the functions that the fuzzers call with bytes (`fuzz/`), and the tests with the kept corpus.
//!
//! Generators and fuzzers draw from the same bytes ([`arbitrary::Unstructured`]), so an input that a fuzzer found is a
//! test like any other.

pub mod ends;
pub mod figures;
pub mod legal;
pub mod shape;
pub mod targets;
pub mod trial;
pub mod value;

pub use arbitrary;

use airwnd_kernel::Stream;

/// Random bytes with a number, to draw a scenario from.
pub fn bytes(number: u64, length: usize) -> Vec<u8> {
    let mut stream = Stream::new(number, "attack");
    (0..length.div_ceil(8)).flat_map(|_| stream.next_u64().to_le_bytes()).take(length).collect()
}

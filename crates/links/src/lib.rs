//! Links between nodes: transmission service, queue disciplines, and losses.
//!
//! The crate is independent of TCP and LTE, does no I/O, reads no wall clock and has no global state: equal inputs give
//! equal outputs on any machine.

pub mod aqm;
pub mod link;
pub mod loss;

pub use link::{Link, Lost, Refused};

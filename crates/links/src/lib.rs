//! Links between nodes: how they serve what waits, what queues before them drop or mark, what they lose on the way.
//!
//! It knows nothing of TCP or LTE, does no I/O, reads no wall clock and holds no global state, so that the
//! same inputs give the same outputs on any machine.

pub mod aqm;
pub mod link;
pub mod loss;

pub use link::{Link, Lost, Refused};

//! The simulation kernel: an event queue, packet queues, links and what they lose, a slab and random streams.
//!
//! It knows nothing of TCP or LTE, does no I/O, asks no wall clock and holds no global state, so that the
//! same inputs give the same outputs on any machine. After its containers have grown to a simulation's
//! working size it allocates nothing.

pub mod aqm;
mod codepoint;
pub mod link;
pub mod loss;
mod queue;
mod random;
mod slab;

pub use codepoint::Codepoint;
pub use link::{Link, Lost, Refused};
pub use queue::{Event, EventQueue};
pub use random::Stream;
pub use slab::{Key, Slab};

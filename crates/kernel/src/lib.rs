//! The simulation kernel: an event queue, a slab, random streams, and what every packet has.
//!
//! It knows nothing of links, TCP or LTE, does no I/O, reads no wall clock and holds no global state, so that the
//! same inputs give the same outputs on any machine. After its containers have grown to a simulation's
//! working size it allocates nothing.

mod codepoint;
mod direction;
mod queue;
mod random;
mod slab;

pub use codepoint::Codepoint;
pub use direction::Direction;
pub use queue::{Event, EventQueue};
pub use random::Stream;
pub use slab::{Key, Slab};

//! Simulation kernel: event queue, slab, random streams, and the direction and ECN field of packets.
//!
//! The kernel is independent of links, TCP and LTE. It performs no I/O, reads no wall clock and holds no global state,
//! so equal inputs give equal outputs on any machine. It allocates no memory once its containers have grown to the
//! simulation's working size.

mod codepoint;
mod direction;
mod prefetch;
mod queue;
mod random;
mod slab;

pub use codepoint::Codepoint;
pub use direction::Direction;
pub use prefetch::prefetch;
pub use queue::{Event, EventQueue};
pub use random::Stream;
pub use slab::{Key, Slab};

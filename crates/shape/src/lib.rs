//! Rates of shapers at both ends of an access link, estimated from the traffic that passes it.
//!
//! [`Shaping`] takes the TCP segments that a host or router receives over the link, with the time and the bytes of all
//! packets of both directions. Timestamps (RFC 7323) divide queueing delay between the directions, so that no reflector
//! is probed. Every [`TICK`] it returns a rate for each direction, by one [`Law`] per direction. The shaper applies to
//! all packets, whatever their protocol.
//!
//! There is no I/O, no clock and no floating-point number: times come in as arguments, and equal inputs give equal rates
//! in a simulation and on a real link.

mod baseline;
mod law;
mod peer_clock;
mod shaping;
mod standing;

pub use law::{Law, Passed, Phase, TICK};
pub use peer_clock::{Delay, PeerClock};
pub use shaping::{Echo, Segment, Shaping, Status, Way};

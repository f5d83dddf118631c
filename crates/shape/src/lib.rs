//! Rates of shapers at both ends of an access link.
//!
//! A [`Control`] takes the TCP segments that a host or router receives over the link, with the time and the bytes of all
//! packets of both directions. Every [`TICK`] it returns a rate for each direction. The shaper applies to all packets,
//! whatever their protocol.
//!
//! [`Capacity`](capacity::Capacity) finds the rates by itself: timestamps (RFC 7323) divide queueing delay between the
//! directions, so that no reflector is probed, and a [`Law`] per direction makes a rate of it. There is no I/O and no
//! clock: times come in as arguments, and equal inputs give equal rates in a simulation and on a real link.

mod baseline;
mod law;
mod peer_clock;
mod standing;

use airwnd_catalog::family;
use airwnd_units::{BitRate, Bytes, Span, Time};

pub use law::{Law, Passed, Phase, TICK};
pub use peer_clock::{Delay, PeerClock};

/// Shaper: rates of the shapers of both directions at a UE.
#[family(name = "shaper", build = fn() -> Box<dyn Control>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Fixed(fixed::Params),
    Capacity(capacity::Params),
    Autorate(autorate::Params),
}

/// Determines the rates of the shapers of an access link.
pub trait Control: Send {
    /// Adds a segment.
    fn on_segment(&mut self, _seen: &Segment) {}

    /// Adds the answer to a ping that this side has sent over the link.
    fn on_ping(&mut self, _now: Time, _rtt: Span) {}

    /// Ends a [`TICK`]: returns the rates of the shapers of the downlink and the uplink, `None`: no limit. `received` and
    /// `sent`: bytes of all packets that have arrived over the link and left for it so far.
    fn tick(&mut self, now: Time, received: Bytes, sent: Bytes) -> [Option<BitRate>; 2];

    /// Sets the rates from outside. Returns whether the control takes them.
    fn set_rates(&mut self, _rates: [Option<BitRate>; 2]) -> bool {
        false
    }
}

/// Departure of a segment over the link whose timestamp an incoming one echoes (RFC 7323 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Time at which it left the shaper for the link.
    pub sent: Time,
    /// Bytes of all packets that had left until then.
    pub sent_bytes: Bytes,
}

/// A TCP segment with timestamps that has arrived over the link, before the shaper of this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Time of its arrival.
    pub now: Time,
    /// Identifier of the connection, as long as it exists.
    pub flow: u64,
    /// Its TSval.
    pub ts_val: u32,
    /// Echo that this packet is the first to carry; `None`: nothing new, or its departure was not seen.
    pub echo: Option<Echo>,
    /// Bytes of all packets that had arrived until then, this one included.
    pub received: Bytes,
}

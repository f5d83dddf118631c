//! The timestamps option (RFC 7323 §3.2).

use airwnd_units::{Span, Time};

/// The timestamps of a segment, in ticks of its sender's timestamp clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the clock when the segment was sent.
    pub val: u32,
    /// TSecr: the TSval that this segment echoes.
    pub ecr: u32,
}

/// What is known of the clock behind the TSvals that go out from the observed end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampClock {
    /// Whole ticks of this length of the clock that `now` is read from: each echo gives the time of its TSval.
    Ticks(Span),
    /// Tick and offset are unknown, as on a router: the observer remembers when a TSval first went out.
    Unknown,
}

/// A timestamp clock with this tick, at this time.
#[inline]
pub fn ticks(tick: Span, now: Time) -> u32 {
    (now.0 / tick.0) as u32
}

/// Time since a clock with this tick, which shows `now`, showed the echoed value, in whole ticks. A zero is taken as a
/// microsecond, as ns-3 does: an estimator cannot work with none.
#[inline]
pub fn elapsed(tick: Span, now: u32, ecr: u32) -> Span {
    (tick * u64::from(now.wrapping_sub(ecr))).max(Span::from_micros(1))
}

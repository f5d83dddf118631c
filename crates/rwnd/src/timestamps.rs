//! The TCP timestamps option (RFC 7323 §3.2).

use airwnd_units::{Span, Time};

/// Timestamps of a segment, in ticks of its sender's timestamp clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the clock when the segment was sent.
    pub val: u32,
    /// TSecr: the TSval that this segment echoes.
    pub ecr: u32,
}

impl Timestamps {
    /// Returns by how many ticks the timestamp is older than `recent`; negative: newer.
    pub fn age(&self, recent: u32) -> i32 {
        recent.wrapping_sub(self.val) as i32
    }
}

/// Clock of the TSvals that the observed end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampClock {
    /// The clock of `now` in whole ticks of this length: each echo yields the time of its TSval.
    Ticks(Span),
    /// Tick and offset are unknown, as on a router: the observer stores the time at which a TSval was first sent.
    Unknown,
}

/// Returns the reading at `now` of a timestamp clock with this tick.
#[inline]
pub fn ticks(tick: Span, now: Time) -> u32 {
    (now.0 / tick.0) as u32
}

/// Returns the time since a clock with this tick, which reads `now`, showed the echoed value, in whole ticks. `None`:
/// less than one tick, which is no measurement.
#[inline]
pub fn elapsed(tick: Span, now: u32, ecr: u32) -> Option<Span> {
    let ticks = now.wrapping_sub(ecr);
    (ticks > 0).then(|| tick * u64::from(ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_tick_is_no_measurement() {
        let tick = Span::from_millis(4);
        assert_eq!(elapsed(tick, 7, 7), None);
        assert_eq!(elapsed(tick, 1, u32::MAX), Some(Span::from_millis(8)), "the clock wraps");
    }
}

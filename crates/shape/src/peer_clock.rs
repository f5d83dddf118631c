//! The timestamp clock of the other end.

use airwnd_units::{Span, Time};

/// Ticks in use: 1 us and 1 ms by Linux, 1, 10 and 100 ms by others (RFC 7323 §5.4 allows 1 ms to 1 s).
const TICKS: [Span; 4] =
    [Span::from_micros(1), Span::from_millis(1), Span::from_millis(10), Span::from_millis(100)];
/// The tick of most, assumed before it is known: the first delays are those without a queue.
const USUAL: Span = TICKS[1];
/// Time of observation after which the tick is known. A queue that fills or drains by less than half of it does not
/// change the outcome.
const OBSERVED: Span = Span::from_secs(1);
/// One-way delay of the first segment. The offset of the clocks is unknown; the delay must not be negative later, when a
/// queue has drained.
const OFFSET: Span = Span::from_secs(60);

/// Derives one-way delays from the timestamps of incoming segments (RFC 7323), up to a constant.
#[derive(Clone, Copy, Debug)]
pub struct PeerClock {
    start: Time,
    /// Last TSval, and the number of ticks from the first TSval to it.
    last: u32,
    elapsed: i64,
    tick: Span,
    is_known: bool,
}

/// The one-way delay of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Up to a constant.
    pub span: Span,
    /// Whether the delays before were wrong: the tick is not that which was assumed.
    pub is_corrected: bool,
}

impl PeerClock {
    /// Starts with the TSval of a segment that arrives now.
    pub fn new(now: Time, val: u32) -> PeerClock {
        PeerClock { start: now, last: val, elapsed: 0, tick: USUAL, is_known: false }
    }

    /// Returns the tick of the clock: the usual one until it is known.
    pub fn tick(&self) -> Span {
        self.tick
    }

    /// Returns the delay of a segment with this TSval.
    pub fn delay(&mut self, now: Time, val: u32) -> Delay {
        // The clock of 32 bits wraps around.
        self.elapsed += i64::from(val.wrapping_sub(self.last).cast_signed());
        self.last = val;
        let since = now.since(self.start);
        let mut is_corrected = false;
        if !self.is_known && since >= OBSERVED && self.elapsed > 0 {
            let tick = nearest(since.0 as f64 / self.elapsed as f64);
            is_corrected = tick != self.tick;
            self.tick = tick;
            self.is_known = true;
        }
        let sent = i128::from(self.elapsed) * i128::from(self.tick.0);
        let delay = i128::from(OFFSET.0) + i128::from(since.0) - sent;
        Delay { span: Span(delay.max(0).try_into().unwrap_or(u64::MAX)), is_corrected }
    }
}

/// Returns the tick nearest to this duration, by their ratio.
fn nearest(nanoseconds: f64) -> Span {
    let distance = |tick: &Span| (nanoseconds / tick.0 as f64).max(tick.0 as f64 / nanoseconds);
    TICKS.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Differences between delays are those of the path within a tick, for any offset and tick.
        #[test]
        fn delays_are_known_up_to_a_constant(
            first: u32,
            tick in prop::sample::select(TICKS.to_vec()),
            delays_ms in prop::collection::vec(10..300_u64, 100),
        ) {
            let mut clock = None;
            let mut now = Time::ZERO;
            let mut offset = None;
            let mut corrections = 0;
            for (sent, delay) in (0..).map(|index| Span::from_millis(30 * index)).zip(&delays_ms) {
                // In the order in which they were sent.
                now = now.max(Time::ZERO + sent + Span::from_millis(*delay));
                let delay = now.since(Time::ZERO + sent);
                let val = first.wrapping_add((sent.0 / tick.0) as u32);
                let measured = clock.get_or_insert_with(|| PeerClock::new(now, val)).delay(now, val);
                if measured.is_corrected {
                    corrections += 1;
                    offset = None;
                }
                let error = measured.span.0 as i64 - delay.0 as i64;
                let offset = *offset.get_or_insert(error);
                let is_usual = tick == USUAL || corrections == 1;
                prop_assert!(!is_usual || (error - offset).unsigned_abs() <= tick.0, "{error} {offset}");
            }
            prop_assert_eq!(corrections, usize::from(tick != USUAL));
        }
    }
}

//! Round trips as a receiver counts them.

use airwnd_units::{Bytes, Span, Time};

/// What a control that does not restrict the sender offers, in what the last round trip brought. What is offered is not
/// taken back, so that the whole of a large buffer would keep a control from having effect. A sender in slow start
/// doubles within the round trip that is measured, and again before it hears of the window; Linux's autotuning, too, offers
/// twice what came and as much again while it doubles.
pub(in crate::rwnd) const HEADROOM: u64 = 4;

/// What comes in a round trip, which begins with the first bytes and lasts for as long as the estimate of it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rwnd) struct Round {
    bytes: u64,
    since: Option<Time>,
}

impl Round {
    /// So many bytes came; if that ends a round trip, what came in all of it and how long one is.
    pub fn add(&mut self, now: Time, bytes: Bytes, rtt: Option<Span>) -> Option<(u64, Span)> {
        self.bytes += bytes.0;
        let since = *self.since.get_or_insert(now);
        let rtt = rtt.filter(|rtt| now.since(since) >= *rtt)?;
        self.since = Some(now);
        Some((std::mem::take(&mut self.bytes), rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_ends_when_the_estimate_of_it_is_over() {
        let (at, rtt) = (|ms: u64| Time(ms * 1_000_000), Some(Span::from_millis(20)));
        let mut round = Round::default();
        assert_eq!(round.add(at(0), Bytes(100), None), None);
        assert_eq!(round.add(at(30), Bytes(10), None), None);
        assert_eq!(round.add(at(30), Bytes(1), rtt), Some((111, Span::from_millis(20))));
        assert_eq!(round.add(at(49), Bytes(5), rtt), None);
        assert_eq!(round.add(at(50), Bytes(2), rtt), Some((7, Span::from_millis(20))));
    }
}

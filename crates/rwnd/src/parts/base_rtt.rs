//! RTT of the path without queueing.

use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// Number of parts of a history: a sample expires 1 to 1.1 times the history after its measurement. RFC 6817 §2.5 and
/// RFC 9840 §4.2.1 have ten parts of one minute each.
const BUCKETS: u64 = 10;

/// Minimum RTT, since the start or of the recent past.
///
/// A minimum that never expires counts a longer route as queueing for the rest of the connection. A minimum that
/// expires counts a standing queue that lasts for the whole history as a longer route.
#[derive(Clone, Debug)]
pub(crate) struct BaseRtt {
    /// Time for which a bucket collects samples, and for which it is kept after its first sample.
    length: Span,
    kept: Span,
    /// Minimum sample of each bucket, with the time of its first sample.
    buckets: VecDeque<(Time, Span)>,
}

impl BaseRtt {
    /// Creates an empty history. `None`: samples never expire.
    pub fn new(history: Option<Span>) -> BaseRtt {
        let buckets = VecDeque::with_capacity(BUCKETS as usize + 2);
        let history = history.unwrap_or(Span::MAX);
        let length = history / BUCKETS;
        let kept = Span(history.0.saturating_add(length.0));
        BaseRtt { length, kept, buckets }
    }

    /// Adds a sample, drops expired ones, and returns the minimum.
    pub fn update(&mut self, now: Time, sample: Span) -> Span {
        match self.buckets.back_mut() {
            Some((began, min)) if now.since(*began) < self.length => *min = sample.min(*min),
            _ => self.buckets.push_back((now, sample)),
        }
        // The last sample of a bucket is younger than the first by less than the bucket's length.
        while self.buckets.front().is_some_and(|(began, _)| now.since(*began) >= self.kept) {
            self.buckets.pop_front();
        }
        self.get().unwrap_or(sample)
    }

    /// Returns the minimum of the history.
    pub fn get(&self) -> Option<Span> {
        self.buckets.iter().map(|(_, min)| *min).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn without_a_history_no_sample_expires() {
        let mut base = BaseRtt::new(None);
        base.update(at(0), Span::from_millis(20));
        assert_eq!(base.update(at(1 << 40), Span::from_millis(30)), Span::from_millis(20));
    }

    #[test]
    fn a_longer_rtt_is_accepted_when_the_history_expires() {
        let mut base = BaseRtt::new(Some(Span::from_secs(10)));
        base.update(at(0), Span::from_millis(20));
        assert_eq!(base.update(at(10_999), Span::from_millis(30)), Span::from_millis(20));
        assert_eq!(base.update(at(11_000), Span::from_millis(35)), Span::from_millis(30));
    }

    proptest! {
        /// The result is between the minimum of the last history and that of 1.1 histories.
        #[test]
        fn it_returns_a_sliding_minimum(samples in prop::collection::vec((0..900_u64, 1..500_u64), 1..200)) {
            let history = Span::from_secs(2);
            let mut base = BaseRtt::new(Some(history));
            let (mut now, mut all) = (Time::ZERO, Vec::new());
            for (gap, rtt) in samples {
                now += Span::from_millis(gap);
                all.push((now, Span::from_millis(rtt)));
                let got = base.update(now, Span::from_millis(rtt));
                let min = |within: Span| {
                    all.iter().filter(|(at, _)| now - *at <= within).map(|(_, rtt)| *rtt).min().unwrap()
                };
                prop_assert!(got <= min(history) && got >= min(history + history / 10), "{got:?}");
            }
        }
    }
}

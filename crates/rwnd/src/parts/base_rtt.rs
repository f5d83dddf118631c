//! The round-trip time of the path without its queue.

use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// A history is kept in so many parts: what is forgotten was measured 1 to 1.1 times the history ago. RFC 6817 §2.5
/// and RFC 9840 §4.2.1 have ten, of a minute each.
const BUCKETS: u64 = 10;

/// The least round-trip time, since the start or of the recent past.
///
/// A least that never expires takes a longer route for a queue for ever after; one that does takes a queue that has stood
/// for the whole history for a longer route.
#[derive(Clone, Debug)]
pub(crate) struct BaseRtt {
    /// How long a bucket collects, and how long it is kept from its first sample on.
    length: Span,
    kept: Span,
    /// The least sample of each bucket, with the time of the bucket's first.
    buckets: VecDeque<(Time, Span)>,
}

impl BaseRtt {
    /// Nothing is known yet. Without a history nothing is forgotten.
    pub fn new(history: Option<Span>) -> BaseRtt {
        let buckets = VecDeque::with_capacity(BUCKETS as usize + 2);
        let history = history.unwrap_or(Span::MAX);
        let length = history / BUCKETS;
        let kept = Span(history.0.saturating_add(length.0));
        BaseRtt { length, kept, buckets }
    }

    /// Takes a sample, forgets what is too old, and returns the least.
    pub fn update(&mut self, now: Time, sample: Span) -> Span {
        match self.buckets.back_mut() {
            Some((began, least)) if now.since(*began) < self.length => *least = sample.min(*least),
            _ => self.buckets.push_back((now, sample)),
        }
        // A bucket's last sample is younger than its first by less than its length.
        while self.buckets.front().is_some_and(|(began, _)| now.since(*began) >= self.kept) {
            self.buckets.pop_front();
        }
        self.get().unwrap_or(sample)
    }

    /// The least of what is remembered.
    pub fn get(&self) -> Option<Span> {
        self.buckets.iter().map(|(_, least)| *least).min()
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
    fn without_a_history_nothing_is_forgotten() {
        let mut base = BaseRtt::new(None);
        base.update(at(0), Span::from_millis(20));
        assert_eq!(base.update(at(1 << 40), Span::from_millis(30)), Span::from_millis(20));
    }

    #[test]
    fn a_longer_route_is_believed_when_the_history_is_over() {
        let mut base = BaseRtt::new(Some(Span::from_secs(10)));
        base.update(at(0), Span::from_millis(20));
        assert_eq!(base.update(at(10_999), Span::from_millis(30)), Span::from_millis(20));
        assert_eq!(base.update(at(11_000), Span::from_millis(35)), Span::from_millis(30));
    }

    proptest! {
        /// Between the least of the last history and that of the last 1.1.
        #[test]
        fn it_is_the_least_of_a_window(samples in prop::collection::vec((0..900_u64, 1..500_u64), 1..200)) {
            let history = Span::from_secs(2);
            let mut base = BaseRtt::new(Some(history));
            let (mut now, mut all) = (Time::ZERO, Vec::new());
            for (gap, rtt) in samples {
                now += Span::from_millis(gap);
                all.push((now, Span::from_millis(rtt)));
                let got = base.update(now, Span::from_millis(rtt));
                let least = |within: Span| {
                    all.iter().filter(|(at, _)| now - *at <= within).map(|(_, rtt)| *rtt).min().unwrap()
                };
                prop_assert!(got <= least(history) && got >= least(history + history / 10), "{got:?}");
            }
        }
    }
}

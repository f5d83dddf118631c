//! Minimum or maximum of recent samples.

use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// Sliding-window minimum or maximum: the samples that may still become the extreme.
///
/// A sample within `slot` of the last kept one that is no better is skipped, so a long window keeps at most one sample
/// per slot.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Extreme {
    better: fn(&Span, &Span) -> bool,
    slot: Span,
    samples: VecDeque<(Time, Span)>,
}

impl Extreme {
    pub fn min(slot: Span) -> Extreme {
        Extreme { better: Span::le, slot, samples: VecDeque::with_capacity(1024) }
    }

    pub fn greatest(slot: Span) -> Extreme {
        Extreme { better: Span::ge, slot, samples: VecDeque::with_capacity(1024) }
    }

    /// Adds a sample, discards those older than the window, and returns the extreme.
    pub fn update(&mut self, now: Time, sample: Span, window: Span) -> Span {
        while self.samples.back().is_some_and(|last| (self.better)(&sample, &last.1)) {
            self.samples.pop_back();
        }
        let is_skipped = self.samples.back().is_some_and(|last| now.since(last.0) < self.slot);
        if !is_skipped {
            self.samples.push_back((now, sample));
        }
        while self.samples.len() > 1 && now.since(self.samples[0].0) > window {
            self.samples.pop_front();
        }
        self.samples[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_the_last_ten_milliseconds() {
        let samples = [50, 40, 45, 60, 55, 50, 70, 65, 66];
        let (mut min, mut greatest) = (Extreme::min(Span::ZERO), Extreme::greatest(Span::ZERO));
        for (at, sample) in samples.iter().enumerate() {
            // one sample every 4 ms: the last three are within 10 ms
            let now = Time(4_000_000 * at as u64);
            let (sample, window) = (Span::from_millis(*sample), Span::from_millis(10));
            let recent = samples[at.saturating_sub(2)..=at].iter().map(|ms| Span::from_millis(*ms));
            assert_eq!(min.update(now, sample, window), recent.clone().min().unwrap());
            assert_eq!(greatest.update(now, sample, window), recent.max().unwrap());
        }
    }

    #[test]
    fn a_slot_keeps_one_sample() {
        let mut min = Extreme::min(Span::from_millis(10));
        for ms in 0..100 {
            min.update(Time(ms * 1_000_000), Span::from_millis(ms), Span::from_secs(10));
        }
        assert_eq!(min.samples.len(), 10);
    }
}

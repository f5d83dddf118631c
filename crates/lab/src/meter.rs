//! What is measured of a flow while it runs.

use airwnd_units::{Bytes, Span, Time};
use hdrhistogram::Histogram;

/// The longest span that is told apart, in microseconds: longer ones count as this long in percentiles.
const LONGEST_MICROS: u64 = 600_000_000;

/// Mean and percentiles of spans.
///
/// The mean is exact; percentiles come from a histogram with two significant digits.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    histogram: Histogram<u32>,
    sum: u128,
    count: u64,
}

impl Spread {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_MICROS, 2).expect("the bounds are valid");
        Spread { histogram, sum: 0, count: 0 }
    }

    pub fn record(&mut self, span: Span) {
        self.sum += u128::from(span.0);
        self.count += 1;
        self.histogram.saturating_record(span.0 / 1000);
    }

    /// In milliseconds; none without samples.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e6)
    }

    /// In milliseconds; none without samples.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        (self.count > 0).then(|| self.histogram.value_at_percentile(percent) as f64 / 1e3)
    }

    /// Takes the samples of another one in.
    pub fn add(&mut self, other: &Spread) {
        self.sum += other.sum;
        self.count += other.count;
        self.histogram.add(&other.histogram).expect("the bounds are the same");
    }

    /// Mean of the samples since sum and number were `before`, in milliseconds; none without samples.
    pub fn mean_ms_since(&self, before: (u128, u64)) -> Option<f64> {
        let count = self.count - before.1;
        (count > 0).then(|| (self.sum - before.0) as f64 / count as f64 / 1e6)
    }

    /// Sum of all samples, and their number.
    pub fn so_far(&self) -> (u128, u64) {
        (self.sum, self.count)
    }
}

/// What is measured of a flow's data direction: IP packets from the sender of the data to its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub sent: u64,
    pub received: u64,
    /// Packets of the data's direction that were dropped anywhere on the way.
    pub dropped: u64,
    pub received_bytes: Bytes,
    /// From the sender's IP to the receiver's IP.
    pub delay: Spread,
    pub rtt: Spread,
    /// Payload that arrived in order (TCP) or at all (UDP).
    pub payload: Bytes,
    pub started: Option<Time>,
    pub completed: Option<Time>,
}

impl Meter {
    pub fn new() -> Self {
        Meter {
            sent: 0,
            received: 0,
            dropped: 0,
            received_bytes: Bytes::ZERO,
            delay: Spread::new(),
            rtt: Spread::new(),
            payload: Bytes::ZERO,
            started: None,
            completed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(milliseconds: &[u64]) -> Spread {
        let mut spread = Spread::new();
        milliseconds.iter().for_each(|span| spread.record(Span::from_millis(*span)));
        spread
    }

    #[test]
    fn a_sum_of_spreads_is_the_spread_of_all_samples() {
        // 2000 s are beyond what percentiles tell apart.
        let parts = [&[10, 30][..], &[], &[20, 40, 2_000_000]];
        let mut sum = Spread::new();
        parts.iter().for_each(|part| sum.add(&spread(part)));
        let whole = spread(&parts.concat());
        assert_eq!(sum.mean_ms(), Some(400_020.0));
        for percent in [0.0, 50.0, 95.0, 100.0] {
            assert_eq!(sum.percentile_ms(percent), whole.percentile_ms(percent), "{percent} %");
        }
    }

    #[test]
    fn a_mean_since_leaves_out_what_was_before() {
        let mut spread = spread(&[10, 30]);
        let before = spread.so_far();
        assert_eq!(spread.mean_ms_since(before), None);
        spread.record(Span::from_millis(7));
        assert_eq!(spread.mean_ms_since(before), Some(7.0));
    }
}

//! Measurement of flows during a run.

use crate::results::histogram::Histogram;
use airwnd_units::{Bytes, Span, Time};
use std::borrow::Cow;

/// Number of samples stored individually before a histogram is allocated: there may be many short flows.
const FEW: usize = 64;

/// Mean and percentiles of spans.
///
/// The mean is exact; percentiles come from a histogram with two significant digits.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    samples: Samples,
    sum: u128,
    count: u64,
}

#[derive(Clone, Debug)]
enum Samples {
    /// In microseconds.
    Few(Vec<u32>),
    Many(Histogram),
}

/// Mean in milliseconds of nanoseconds, given their sum and number; `None` without any.
fn mean_ms((sum, count): (u128, u64)) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64 / 1e6)
}

fn micros(span: Span) -> u32 {
    (span.0 / 1000).min(u32::MAX.into()) as u32
}

impl Samples {
    #[inline]
    fn record(&mut self, micros: u32) {
        match self {
            Samples::Few(_) => self.record_few(micros),
            Samples::Many(histogram) => histogram.record(micros),
        }
    }

    #[inline(never)]
    fn record_few(&mut self, micros: u32) {
        match self {
            Samples::Few(samples) if samples.len() < FEW => samples.push(micros),
            _ => {
                let mut histogram = self.histogram().into_owned();
                histogram.record(micros);
                *self = Samples::Many(histogram);
            }
        }
    }

    fn histogram(&self) -> Cow<'_, Histogram> {
        match self {
            Samples::Few(samples) => {
                let mut histogram = Histogram::new();
                samples.iter().for_each(|micros| histogram.record(*micros));
                Cow::Owned(histogram)
            }
            Samples::Many(histogram) => Cow::Borrowed(histogram),
        }
    }
}

impl Spread {
    /// Creates a spread without samples that allocates memory as samples arrive.
    pub fn new() -> Self {
        Spread { samples: Samples::Few(Vec::new()), sum: 0, count: 0 }
    }

    /// Creates a spread without samples that reserves its memory at the first one.
    pub fn lasting() -> Self {
        Spread { samples: Samples::Many(Histogram::new()), ..Spread::new() }
    }

    pub fn record(&mut self, span: Span) {
        self.sum += u128::from(span.0);
        self.count += 1;
        self.samples.record(micros(span));
    }

    /// Requests the memory of a sample that will soon be recorded, see [`prefetch`].
    #[inline]
    pub fn prefetch(&self, span: Span) {
        if let Samples::Many(histogram) = &self.samples {
            histogram.prefetch(micros(span));
        }
    }

    /// Mean in milliseconds; `None` without samples.
    pub fn mean_ms(&self) -> Option<f64> {
        mean_ms(self.so_far())
    }

    /// Percentiles in milliseconds; `None` without samples.
    pub fn percentiles_ms<const N: usize>(&self, percents: [f64; N]) -> [Option<f64>; N] {
        if self.count == 0 {
            return [None; N];
        }
        self.samples.histogram().percentiles(percents).map(|micros| Some(micros as f64 / 1e3))
    }

    /// Adds the samples of another spread.
    pub fn add(&mut self, other: &Spread) {
        self.sum += other.sum;
        self.count += other.count;
        match &other.samples {
            Samples::Few(samples) => samples.iter().for_each(|micros| self.samples.record(*micros)),
            Samples::Many(more) => {
                if let Samples::Few(_) = self.samples {
                    self.samples = Samples::Many(self.samples.histogram().into_owned());
                }
                let Samples::Many(histogram) = &mut self.samples else { unreachable!("converted above") };
                histogram.add(more);
            }
        }
    }

    /// Mean in milliseconds of the samples since [`Spread::so_far`] returned `before`; `None` without samples.
    pub fn mean_ms_since(&self, before: (u128, u64)) -> Option<f64> {
        mean_ms((self.sum - before.0, self.count - before.1))
    }

    /// Sum and number of all samples.
    pub fn so_far(&self) -> (u128, u64) {
        (self.sum, self.count)
    }
}

/// Variation of the one-way delay between consecutive packets, in the order of their arrival.
//= RFC 3393 §4.5
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variation {
    last: Option<Span>,
    sum: u128,
    count: u64,
}

impl Variation {
    #[inline]
    fn record(&mut self, delay: Span) {
        if let Some(last) = self.last.replace(delay) {
            self.sum += u128::from(delay.0.abs_diff(last.0));
            self.count += 1;
        }
    }

    /// Mean absolute difference in milliseconds; `None` for fewer than two packets.
    pub fn mean_ms(&self) -> Option<f64> {
        mean_ms((self.sum, self.count))
    }
}

/// Measurements in the data direction of a flow: IP packets from the sender of the data to its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub sent: u64,
    /// Set if any packet sent carried payload.
    pub has_sent_data: bool,
    pub received: u64,
    /// Packets in the data direction dropped anywhere on the path.
    pub dropped: u64,
    pub received_bytes: Bytes,
    /// Packets received with a congestion mark.
    pub marked: u64,
    /// One-way delay from the sender's IP layer to the receiver's.
    pub delay: Spread,
    /// Differences between the delays of consecutive packets.
    pub variation: Variation,
    /// Delay that packets should not exceed.
    pub budget: Option<Span>,
    /// Packets received within the budget.
    pub on_time: u64,
    pub rtt: Spread,
    /// Payload received, in order for TCP.
    pub payload: Bytes,
    pub started: Option<Time>,
    pub completed: Option<Time>,
}

impl Meter {
    /// Creates a meter with these spreads of one-way delay and RTT, and a delay that packets should not exceed.
    pub fn new(delay: Spread, rtt: Spread, budget: Option<Span>) -> Self {
        Meter {
            sent: 0,
            has_sent_data: false,
            received: 0,
            dropped: 0,
            received_bytes: Bytes::ZERO,
            marked: 0,
            delay,
            variation: Variation::default(),
            budget,
            on_time: 0,
            rtt,
            payload: Bytes::ZERO,
            started: None,
            completed: None,
        }
    }

    /// Records the one-way delay of a packet received.
    #[inline]
    pub fn record_delay(&mut self, delay: Span) {
        self.delay.record(delay);
        self.variation.record(delay);
        self.on_time += u64::from(self.budget.is_some_and(|budget| delay <= budget));
    }

    /// Packets received within the budget, in per cent of those sent; `None` without a budget or data.
    pub fn on_time_percent(&self) -> Option<f64> {
        self.budget.filter(|_| self.has_sent_data).map(|_| 100.0 * self.on_time as f64 / self.sent as f64)
    }
}

/// Sums at the last sample, from which the next sample computes differences.
#[derive(Default)]
pub(crate) struct Sampled {
    pub payload: Bytes,
    /// Bytes of IP packets received.
    pub received: Bytes,
    /// Packets received with a congestion mark.
    pub marked: u64,
    /// Bytes of transport blocks decoded for the UE in the direction of the data.
    pub decoded: Bytes,
    /// Sum and number of one-way delays.
    pub delays: (u128, u64),
    /// Sum and number of RTT samples.
    pub rtts: (u128, u64),
    /// Sum and number of the MCS of first transmissions.
    pub blocks: (u64, u64),
}

impl Sampled {
    /// Records the totals of a meter.
    pub fn note(&mut self, meter: &Meter) {
        self.payload = meter.payload;
        self.received = meter.received_bytes;
        self.marked = meter.marked;
        self.delays = meter.delay.so_far();
        self.rtts = meter.rtt.so_far();
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
        // 2000 s are beyond the maximum of the histogram.
        let many: Vec<u64> = (1..=100).collect();
        let parts = [&[10, 30][..], &[], &[20, 40, 2_000_000], &many, &[5]];
        let mut sum = Spread::new();
        parts.iter().for_each(|part| sum.add(&spread(part)));
        let whole = spread(&parts.concat());
        assert!((sum.mean_ms().unwrap() - (2_000_100.0 + 5050.0 + 5.0) / 106.0).abs() < 1e-6);
        let percents = [0.0, 50.0, 95.0, 100.0];
        assert_eq!(sum.percentiles_ms(percents), whole.percentiles_ms(percents));
        // 600 s with two significant digits
        assert!((sum.percentiles_ms([100.0])[0].unwrap() / 600_000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn delays_vary_between_consecutive_packets_and_meet_a_budget() {
        let budget = Span::from_millis(20);
        let mut meter = Meter::new(Spread::new(), Spread::new(), Some(budget));
        assert_eq!((meter.variation.mean_ms(), meter.on_time_percent()), (None, None));
        for delay in [10, 20, 21, 5] {
            meter.record_delay(Span::from_millis(delay));
        }
        assert!((meter.variation.mean_ms().unwrap() - (10.0 + 1.0 + 16.0) / 3.0).abs() < 1e-9);
        // One of five packets is lost.
        (meter.sent, meter.has_sent_data) = (5, true);
        assert_eq!(meter.on_time_percent(), Some(60.0));
        assert_eq!(Meter { budget: None, ..meter }.on_time_percent(), None);
    }

    #[test]
    fn a_mean_since_excludes_earlier_samples() {
        let mut spread = spread(&[10, 30]);
        let before = spread.so_far();
        assert_eq!(spread.mean_ms_since(before), None);
        spread.record(Span::from_millis(7));
        assert_eq!(spread.mean_ms_since(before), Some(7.0));
    }
}

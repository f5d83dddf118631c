//! The real clock, and how late packets leave.

use airwnd_units::{Span, Time};
use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::time::Instant;

/// Maps the monotonic clock to simulated time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    begin: Time,
}

impl Clock {
    /// Starts now, at this simulated time.
    pub fn start(begin: Time) -> Clock {
        Clock { start: Instant::now(), begin }
    }

    /// Simulated time that should have been reached now.
    pub fn now(&self) -> Time {
        self.begin + self.elapsed()
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Span {
        Span(self.start.elapsed().as_nanos() as u64)
    }
}

/// Distribution of the lateness of departures: from the simulated time at which a packet leaves the network to the real
/// time at which it is written to its device.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// In nanoseconds, with two significant digits, up to 100 s.
    histogram: Histogram<u64>,
}

/// Percentiles of the lateness, in microseconds; all 0 without departures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatenessFigures {
    /// Number of departures.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("the bounds are valid");
        Lateness { histogram }
    }
}

impl Lateness {
    /// Records a departure.
    pub fn record(&mut self, late: Span) {
        self.histogram.saturating_record(late.0);
    }

    /// Number of departures that were later than `limit`, to the histogram's precision.
    pub fn count_above(&self, limit: Span) -> u64 {
        self.histogram.len() - self.histogram.count_between(0, limit.0)
    }

    /// Percentiles so far.
    pub fn figures(&self) -> LatenessFigures {
        if self.histogram.is_empty() {
            return LatenessFigures::default();
        }
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let at = |percent| micros(self.histogram.value_at_percentile(percent));
        LatenessFigures {
            count: self.histogram.len(),
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max: micros(self.histogram.max()),
        }
    }
}

/// CPU time of this thread.
pub fn cpu_time() -> Span {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    Span(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_the_lateness() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.figures(), LatenessFigures::default());
        (1..=1000).for_each(|micros| lateness.record(Span(micros * 1000)));
        let figures = lateness.figures();
        assert_eq!(figures.count, 1000);
        let above = lateness.count_above(Span::from_micros(900));
        assert!((95..=105).contains(&above), "{above}");
        assert_eq!(lateness.count_above(Span::from_secs(1)), 0);
        for (found, expected) in [(figures.p50, 500.0), (figures.p99, 990.0), (figures.max, 1000.0)] {
            assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected}");
        }
    }
}

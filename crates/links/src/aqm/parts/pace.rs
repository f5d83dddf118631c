//! Service rate of a queue.

use airwnd_units::{BitRate, Bytes, Span, Time};

/// Time constant of the departure measurement, in nanoseconds of busy time.
const MEMORY: f64 = 1e9;

/// Service rate of a queue while it is backlogged: known, or measured from departures.
///
/// Packets that leave at one instant were served since the previous departure, if the queue has been backlogged since.
/// Past bytes and time decay with a time constant of 1 s of busy time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    known: Option<BitRate>,
    /// First and latest departure of the current busy period.
    busy: Option<(Time, Time)>,
    bytes: f64,
    nanos: f64,
}

impl Pace {
    /// Creates the state; `None`: the rate is measured.
    pub fn new(known: Option<BitRate>) -> Pace {
        Pace { known, busy: None, bytes: 0.0, nanos: 0.0 }
    }

    /// Records a departure. `some_remain`: the queue is still backlogged.
    pub fn left(&mut self, now: Time, size: Bytes, some_remain: bool) {
        if self.known.is_some() {
            return;
        }
        let (first, last) = self.busy.unwrap_or((now, now));
        let passed = now.since(last).0 as f64;
        if passed > 0.0 {
            let kept = libm::exp(-passed / MEMORY);
            self.bytes *= kept;
            self.nanos = self.nanos * kept + passed;
        }
        if now > first {
            self.bytes += size.0 as f64;
        }
        self.busy = some_remain.then_some((first, now));
    }

    /// Records that the queue became empty without a departure.
    pub fn emptied(&mut self) {
        self.busy = None;
    }

    /// Returns the transmission time of a packet of this size; `None`: the rate is not known yet.
    pub fn transmission_time(&self, size: Bytes) -> Option<Span> {
        match self.known {
            Some(rate) => Some(rate.transmission_time(size)),
            None => self.bytes_per_second().map(|rate| Span((size.0 as f64 / rate * 1e9) as u64)),
        }
    }

    /// Returns the rate; `None`: not known yet.
    pub fn bytes_per_second(&self) -> Option<f64> {
        match self.known {
            Some(rate) => Some(rate.0 as f64 / 8.0),
            None => (self.nanos > 0.0 && self.bytes > 0.0).then(|| self.bytes / self.nanos * 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_rate_is_not_measured() {
        let mut pace = Pace::new(Some(BitRate(8_000_000)));
        pace.left(Time(0), Bytes(1000), true);
        pace.left(Time(1), Bytes(1000), true);
        // 1000 B at 1 B/us
        assert_eq!(pace.transmission_time(Bytes(1000)), Some(Span::from_millis(1)));
        assert_eq!(pace.bytes_per_second(), Some(1e6));
    }

    /// Three packets of 500 B every 5 ms while backlogged: 0.3 B/us, independent of pauses.
    #[test]
    fn departures_of_busy_periods_are_measured() {
        let mut pace = Pace::new(None);
        assert_eq!(pace.bytes_per_second(), None);
        for period in 0..20 {
            let begin = Time::ZERO + Span::from_secs(period);
            for burst in 0..100 {
                for packet in 0..3 {
                    let some_remain = (burst, packet) != (99, 2);
                    pace.left(begin + Span::from_millis(5 * burst), Bytes(500), some_remain);
                }
            }
        }
        let rate = pace.bytes_per_second().unwrap();
        assert!((rate / 300e3 - 1.0).abs() < 0.02, "{rate}");
        let time = pace.transmission_time(Bytes(300)).unwrap();
        assert!((time.as_millis() - 1.0).abs() < 0.02, "{time}");
    }

    /// After one second at another rate, 1 / e of the old rate remains.
    #[test]
    fn old_departures_decay() {
        let mut pace = Pace::new(None);
        for ms in 0..30_000 {
            pace.left(Time::ZERO + Span::from_millis(ms), Bytes(100), true);
        }
        for ms in 30_000..31_000 {
            pace.left(Time::ZERO + Span::from_millis(ms), Bytes(300), true);
        }
        let expected = 300e3 - 200e3 * (-1.0_f64).exp();
        let rate = pace.bytes_per_second().unwrap();
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate} {expected}");
    }
}

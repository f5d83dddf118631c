//! Windowed minima.

use airwnd_units::{Span, Time};

/// Length of a half of the window. The minimum is that of 10 to 30 s, in which clocks that differ by 50 ppm drift by at
/// most 1.5 ms. BBR keeps minima of the RTT for 10 s (draft-cardwell-iccrg-bbr-congestion-control-02, MinRTTFilterLen).
pub(crate) const HALF: Span = Span::from_secs(10);

/// The minimum of a quantity in the last 10 to 30 s, in nanoseconds from any origin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baseline {
    since: Time,
    present: Option<i64>,
    former: Option<i64>,
}

impl Baseline {
    /// Adds a value; returns its excess over the minimum.
    pub fn excess(&mut self, now: Time, value: i64) -> Span {
        let age = now.since(self.since);
        if age >= HALF {
            self.former = if age < HALF * 2 { self.present } else { None };
            (self.present, self.since) = (None, now);
        }
        self.present = Some(self.present.map_or(value, |min| min.min(value)));
        let min = self.present.into_iter().chain(self.former).min().unwrap_or(value);
        Span(value.saturating_sub(min).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The minimum is that of at least the last 10 s and at most the last 30.
        #[test]
        fn minima_are_those_of_a_window(values in prop::collection::vec((0u64..4_000, -1_000_000i64..1_000_000), 1..80)) {
            let (mut baseline, mut now, mut seen) = (Baseline::default(), Time::ZERO, Vec::new());
            for (gap_ms, value) in values {
                now += Span::from_millis(gap_ms);
                seen.push((now, value));
                let excess = baseline.excess(now, value).0 as i64;
                let min = |span: Span| {
                    let recent = seen.iter().filter(|(at, _)| now.since(*at) < span);
                    recent.map(|(_, value)| *value).min().unwrap()
                };
                prop_assert!(value - excess <= min(HALF));
                prop_assert!(value - excess >= min(HALF * 3));
            }
        }
    }
}

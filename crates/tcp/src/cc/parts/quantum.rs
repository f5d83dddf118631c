//! Send quantum: data that a host sends in one burst.

use airwnd_catalog::Choice;

/// Data that a host hands to its network interface at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Quantum {
    /// One millisecond of data at the pacing rate, at most 64 KiB and at least two segments, as with segmentation
    /// offload (TSO).
    #[word = "by-rate"]
    ByRate,
    /// One segment, as in ns-3.
    #[word = "segment"]
    Segment,
}

/// Rate below which BBR v1 sends single segments, in bytes per second (1.2 Mbit/s).
const SINGLE_SEGMENT_RATE: f64 = 150_000.0;
const MAX_DURATION_S: f64 = 0.001;
const MAX_SIZE: f64 = 65_536.0;
/// Quanta in the budget: one in the sender's queue discipline, one being segmented, and one aggregated by the receiver
/// before it is acknowledged (draft-ietf-ccwg-bbr-06 §5.5.8.1).
const BUDGET: f64 = 3.0;

impl Quantum {
    //= draft-ietf-ccwg-bbr-06 §5.6.3
    /// Returns the minimum window with which hosts can send in quanta at `pacing_rate` bytes per second.
    pub(in crate::cc) fn budget(self, pacing_rate: f64, mss: f64) -> f64 {
        BUDGET
            * match self {
                Quantum::ByRate => (MAX_DURATION_S * pacing_rate).min(MAX_SIZE).max(2.0 * mss),
                Quantum::Segment => mss,
            }
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.2
    /// Returns the same for BBR v1, which sends single segments at low rates.
    pub(in crate::cc) fn budget_of_v1(self, pacing_rate: f64, mss: f64) -> f64 {
        if pacing_rate < SINGLE_SEGMENT_RATE {
            Quantum::Segment.budget(pacing_rate, mss)
        } else {
            self.budget(pacing_rate, mss)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_grow_with_the_rate() {
        // 1, 10 and 100 Mbit/s, 10 Gbit/s
        let budgets = [125e3, 1.25e6, 12.5e6, 1.25e9].map(|rate| Quantum::ByRate.budget_of_v1(rate, 1000.0));
        assert_eq!(budgets, [3000.0, 6000.0, 37_500.0, 196_608.0]);
        assert_eq!(Quantum::ByRate.budget(125e3, 1000.0), 6000.0);
        assert_eq!(Quantum::Segment.budget(12.5e6, 1000.0), 3000.0);
    }
}

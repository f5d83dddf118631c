//! How much a host sends at a time.

use airwnd_catalog::Choice;

/// How much a host hands to its network interface at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Quantum {
    /// A millisecond's worth at the pacing rate, 64 KiB at most and two segments at least, as a host does that
    /// leaves segmentation to the interface.
    #[word = "by-rate"]
    ByRate,
    /// A segment, as ns-3 does.
    #[word = "segment"]
    Segment,
}

/// Below it BBR v1 sends single segments, in bytes per second (1.2 Mbit/s).
const SINGLY: f64 = 150_000.0;
const LONGEST_S: f64 = 0.001;
const LARGEST: f64 = 65_536.0;
/// One is at the sender's queue, one is being cut, and one is gathered by the receiver before it is acknowledged
/// (draft-ietf-ccwg-bbr-06 §5.5.8.1).
const BUDGET: f64 = 3.0;

impl Quantum {
    //= draft-ietf-ccwg-bbr-06 §5.6.3
    /// What a window must have room for so that hosts can work in quanta at `pacing_rate` bytes per second.
    pub(in crate::cc) fn budget(self, pacing_rate: f64, mss: f64) -> f64 {
        BUDGET
            * match self {
                Quantum::ByRate => (LONGEST_S * pacing_rate).min(LARGEST).max(2.0 * mss),
                Quantum::Segment => mss,
            }
    }

    //= draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.2
    /// The same by BBR v1, whose slow senders send single segments.
    pub(in crate::cc) fn budget_of_v1(self, pacing_rate: f64, mss: f64) -> f64 {
        if pacing_rate < SINGLY {
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

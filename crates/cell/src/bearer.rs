//! Bearers of UEs.

use crate::qci::Qci;
use airwnd_units::BitRate;

/// The quality of service of a bearer, or of a UE's bearers together.
#[derive(Clone, Copy, Debug)]
pub struct Bearer {
    /// QoS class identifier.
    pub qci: Qci,
    /// Guaranteed bit rate; zero: none.
    pub gbr: BitRate,
    /// Maximum bit rate, enforced by schedulers with tokens; at least the guaranteed rate. Zero: none.
    pub mbr: BitRate,
    /// Whether it carries data beyond its rates: it has none, or stands for several bearers of which one has none.
    pub is_elastic: bool,
}

impl Default for Bearer {
    /// Best effort.
    fn default() -> Self {
        Bearer::new(Qci::BEST_EFFORT, BitRate(0), BitRate(0))
    }
}

impl Bearer {
    /// A bearer of a class with these rates; zero: none.
    pub fn new(qci: Qci, gbr: BitRate, mbr: BitRate) -> Bearer {
        Bearer { qci, gbr, mbr, is_elastic: gbr.max(mbr) == BitRate(0) }
    }

    /// The bearers of a UE together: the class of the highest priority, and the sums of the rates. There is at least
    /// one.
    pub(crate) fn together(bearers: impl Iterator<Item = Bearer>) -> Bearer {
        let join = |one: Bearer, other: Bearer| {
            let max = |bearer: &Bearer| bearer.mbr.max(bearer.gbr).0;
            Bearer {
                qci: if other.qci.priority() < one.qci.priority() { other.qci } else { one.qci },
                gbr: BitRate(one.gbr.0 + other.gbr.0),
                mbr: BitRate(max(&one) + max(&other)),
                is_elastic: one.is_elastic || other.is_elastic,
            }
        };
        bearers.reduce(join).expect("a UE has a default bearer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearers_of_a_ue_add_up() {
        let qci = |number| Qci::new(number).unwrap();
        let call = Bearer::new(qci(1), BitRate(64_000), BitRate(0));
        let video = Bearer::new(qci(2), BitRate(1_000_000), BitRate(3_000_000));
        let both = Bearer::together([video, call].into_iter());
        // The maximum of a bearer without one is its guaranteed rate: 3 Mbit/s + 64 kbit/s.
        assert_eq!((both.qci, both.gbr, both.mbr), (qci(1), BitRate(1_064_000), BitRate(3_064_000)));
        assert!(!both.is_elastic);
        let all = Bearer::together([Bearer::default(), video].into_iter());
        assert!(all.is_elastic && all.qci == qci(2), "QCI 2 has priority 4, QCI 9 priority 9");
        let alone = Bearer::together([call].into_iter());
        assert_eq!((alone.gbr, alone.mbr), (call.gbr, call.mbr));
    }
}

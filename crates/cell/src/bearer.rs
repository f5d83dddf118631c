//! Bearers of UEs.

use crate::qci::Qci;
use crate::settings::Rlc;
use airwnd_units::BitRate;
use std::sync::Arc;

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
            let most = |bearer: &Bearer| bearer.mbr.max(bearer.gbr).0;
            Bearer {
                qci: if other.qci.priority() < one.qci.priority() { other.qci } else { one.qci },
                gbr: BitRate(one.gbr.0 + other.gbr.0),
                mbr: BitRate(most(&one) + most(&other)),
                is_elastic: one.is_elastic || other.is_elastic,
            }
        };
        bearers.reduce(join).expect("a UE has a default bearer")
    }
}

/// A bearer of a UE, as set up.
#[derive(Clone, Debug)]
pub struct BearerSetup {
    /// Quality of service.
    pub qos: Bearer,
    /// Prioritized bit rate (PBR) in each direction.
    pub pbr: BitRate,
    /// RLC in both directions; `None`: as in the whole network.
    pub rlc: Option<Arc<Rlc>>,
}

impl BearerSetup {
    /// Maximum number of bearers of a UE: logical channel identities 3 to 10 (TS 36.321 Table 6.2.1-1).
    pub const MOST: usize = 8;
    /// Prioritized bit rate of a bearer without a guaranteed rate.
    // A choice: `kBps8`, the lowest rate of TS 36.331 §6.3.2, LogicalChannelConfig, other than zero.
    pub const USUAL_PBR: BitRate = BitRate(64_000);

    /// A bearer with the usual prioritized bit rate: the guaranteed one, otherwise [`BearerSetup::USUAL_PBR`].
    pub fn new(qos: Bearer) -> BearerSetup {
        let pbr = if qos.gbr > BitRate(0) { qos.gbr } else { BearerSetup::USUAL_PBR };
        BearerSetup { qos, pbr, rlc: None }
    }
}

impl Default for BearerSetup {
    /// Best effort.
    fn default() -> Self {
        BearerSetup::new(Bearer::default())
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

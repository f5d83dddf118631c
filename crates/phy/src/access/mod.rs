//! Radio access technology: what the cells, their UEs and the schedulers take as given. Timing, MCSs and CQIs, transport
//! block sizes, the carrier's resource blocks.

mod control_region;
mod grid;
mod protocol;
mod timing;

use crate::carrier::Carrier;
use crate::{Cqi, Mcs, Prbs, Scheme};
use airwnd_catalog::family;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Db, Hertz, SlotClock};
use std::sync::Arc;

pub use control_region::{ControlRegion, Level};
pub use grid::Grid;
pub use protocol::Protocol;
pub use timing::Timing;

/// CQIs, with CQI 0.
const CQIS: usize = Cqi::MAX.0 as usize + 1;

/// Upper ends in bytes of the levels 1 to 62 in a BSR; level 63 is beyond (TS 36.321 Table 6.1.3.1-1).
pub const BUFFER_LEVELS: [u64; 62] = [
    10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234, 274, 321, 376,
    440, 515, 603, 706, 826, 967, 1132, 1326, 1552, 1817, 2127, 2490, 2915, 3413, 3995, 4677, 5476, 6411,
    7505, 8787, 10287, 12043, 14099, 16507, 19325, 22624, 26487, 31009, 36304, 42502, 49759, 58255, 68201,
    79846, 93749, 109_439, 128_125, 150_000,
];

/// Highest carrier frequency of LTE.
// The bands of TS 36.101 §5.5 end at 5.925 GHz.
const HIGHEST_LTE: Hertz = Hertz(6e9);

/// Highest downlink frequency of FDD in NR.
// The FDD bands of TS 38.104 Table 5.2-1 end at 2.69 GHz.
const HIGHEST_FDD: Hertz = Hertz(3e9);

/// Radio access technology of all cells and UEs.
#[family(name = "access")]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Lte(lte::Params),
    Nr(nr::Params),
}

impl Spec {
    /// Its own generation of RLC and PDCP.
    pub fn protocol(&self) -> Protocol {
        match self {
            Spec::Lte(_) => Protocol::Lte,
            Spec::Nr(_) => Protocol::Nr,
        }
    }

    /// Checks the frequencies of the primary carrier in FDD, which needs two.
    ///
    /// # Errors
    /// The key of the carrier at fault and a message.
    pub fn check_duplex(&self, carrier: &Carrier) -> Result<(), (&'static str, String)> {
        if matches!(self, Spec::Nr(params) if params.pattern.is_some()) {
            return Ok(());
        }
        let downlink = carrier.downlink_frequency;
        let (key, message) = match (self, carrier.uplink_frequency) {
            (Spec::Lte(_), Some(uplink)) if uplink == downlink => {
                ("uplink_frequency", format!("FDD needs two frequencies; {uplink} is the downlink's, too"))
            }
            (Spec::Nr(_), Some(uplink)) if uplink == downlink => (
                "uplink_frequency",
                format!(
                    "FDD needs two frequencies; {uplink} is the downlink's, too: set radio.access.pattern for TDD"
                ),
            ),
            (Spec::Nr(_), None) if downlink > HIGHEST_FDD => (
                "downlink_frequency",
                format!(
                    "NR has no FDD band at {downlink}: set radio.access.pattern for TDD, or carrier.uplink_frequency"
                ),
            ),
            _ => return Ok(()),
        };
        Err((key, message))
    }

    /// Builds the access on a carrier.
    ///
    /// # Errors
    /// The key of the carrier at fault and a message, if the access does not have this carrier.
    pub fn on(&self, carrier: &Carrier) -> Result<Access, (&'static str, String)> {
        match self {
            Spec::Lte(params) => {
                let Some(prbs) = carrier.bandwidth.lte_prbs() else {
                    let word = carrier.bandwidth.word();
                    return Err(("bandwidth", format!("LTE has no carrier of {word}; NR has: radio.access")));
                };
                for (key, frequency) in [
                    ("downlink_frequency", carrier.downlink_frequency),
                    ("uplink_frequency", self.uplink_frequency(carrier)),
                ] {
                    if frequency > HIGHEST_LTE {
                        return Err((key, format!("{frequency} is above {HIGHEST_LTE}, where LTE ends")));
                    }
                }
                Ok(params.on(prbs))
            }
            Spec::Nr(params) => params.access(carrier),
        }
    }

    /// The control region of a slot with this many symbols of PDCCH on a carrier of this many PRBs; `None`: the usual
    /// ones.
    ///
    /// # Errors
    /// A message, if the carrier cannot have as many.
    pub fn control_region(&self, prbs: Prbs, symbols: Option<u8>) -> Result<ControlRegion, String> {
        match self {
            Spec::Lte(params) => params.control_region(prbs, symbols),
            Spec::Nr(params) => params.control_region(prbs, symbols),
        }
    }

    /// The carrier frequency of the uplink.
    pub fn uplink_frequency(&self, carrier: &Carrier) -> Hertz {
        carrier.uplink(matches!(self, Spec::Nr(nr::Params { pattern: Some(_), .. })))
    }
}

/// A radio access on a carrier.
#[derive(Clone, Debug)]
pub struct Access {
    /// Delays of the MAC.
    pub timing: Timing,
    /// Clock of its slots.
    pub clock: SlotClock,
    /// PRBs of the carrier.
    pub prbs: Prbs,
    /// PRBs of an RBG.
    pub rbg_prbs: Prbs,
    /// RBGs that can be scheduled.
    pub rbgs: u8,
    /// Bandwidth of a PRB.
    pub prb_bandwidth: Hertz,
    /// Whether the uplink's DFT limits the widths of grants.
    //= TS 36.211 §5.3.3
    pub precodes_uplink: bool,
    /// Whether a cell learns the channel of a UE by its blocks only.
    pub learns_by_blocks: bool,
    /// Upper ends in bytes of the levels in a BSR, from level 1 on, without the highest level.
    pub buffer_levels: &'static [u64],
    /// MCSs with a code rate of their own, lowest first, and their modulation and rate.
    mcss: Vec<Mcs>,
    schemes: Vec<Scheme>,
    /// Information bits per symbol, by CQI.
    cqi_efficiencies: [f64; CQIS],
    /// The highest MCS that is not more efficient than each CQI.
    mcs_by_cqi: [Mcs; CQIS],
    /// The CQI that a UE reports if it can decode up to this MCS.
    cqi_by_mcs: Vec<Cqi>,
    /// SINR of each layer over that of one antenna at each end, by rank; empty: one antenna at each end.
    pub layers: Vec<Vec<Db>>,
    /// Transport block sizes in bytes, `[mcs * (PRBs + 1) + prbs]`, by rank and kind of slot: whole, then special.
    downlink: Vec<Vec<Vec<u32>>>,
    uplink: Vec<u32>,
    /// The access with the MCSs of the uplink, if they are not those of the downlink.
    other_uplink: Option<Arc<Access>>,
}

impl Access {
    /// LTE with its defaults on a carrier of this many PRBs.
    pub fn lte(prbs: Prbs) -> Access {
        lte::Params::default().on(prbs)
    }

    /// The access with the MCSs of the uplink.
    pub fn in_uplink(self: &Arc<Access>) -> Arc<Access> {
        self.other_uplink.as_ref().unwrap_or(self).clone()
    }

    /// The MCSs with a code rate of their own, lowest first.
    pub fn schemes(&self) -> impl Iterator<Item = Mcs> + '_ {
        self.mcss.iter().copied()
    }

    /// The MCSs with a code rate of their own, in groups with one modulation.
    pub fn schemes_by_modulation(&self) -> impl Iterator<Item = &[Mcs]> {
        self.mcss.chunk_by(|a, b| self.scheme(*a).modulation == self.scheme(*b).modulation)
    }

    /// Modulation and code rate of an MCS.
    pub fn scheme(&self, mcs: Mcs) -> Scheme {
        self.schemes[usize::from(mcs.0)]
    }

    /// The highest MCS that is not more efficient than a CQI; MCS 0 for CQI 0.
    pub fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.mcs_by_cqi[usize::from(cqi.0)]
    }

    /// The CQI that a UE reports if it can decode up to this MCS.
    pub fn cqi_of(&self, fastest: Mcs) -> Cqi {
        self.cqi_by_mcs[usize::from(fastest.0)]
    }

    /// Information bits per symbol of a CQI; zero for CQI 0.
    pub fn cqi_efficiency(&self, cqi: Cqi) -> f64 {
        self.cqi_efficiencies[usize::from(cqi.0)]
    }

    /// The highest CQI that is less efficient than `efficiency`; CQI 0 if there is none.
    pub fn cqi_below(&self, efficiency: f64) -> Cqi {
        let below = (1..=Cqi::MAX.0).take_while(|cqi| self.cqi_efficiencies[usize::from(*cqi)] < efficiency);
        Cqi(below.last().unwrap_or(Cqi::OUT_OF_RANGE.0))
    }

    /// The access with the block sizes of a rank instead of those of one layer, for link adaptation.
    pub fn of_rank(&self, rank: u8) -> Access {
        Access { downlink: vec![self.downlink[usize::from(rank) - 1].clone()], ..self.clone() }
    }

    /// The transport block size of an MCS on one layer and this many PRBs of a whole slot; zero on none. Panics beyond
    /// the carrier.
    pub fn block(&self, direction: Direction, mcs: Mcs, prbs: Prbs) -> Bytes {
        match direction {
            Direction::Down => self.block_in(1, 0, mcs, prbs),
            Direction::Up => self.size(&self.uplink, mcs, prbs),
        }
    }

    /// Transport block size in the downlink on this many layers, in a kind of slot: 0 for whole slots, 1 for special ones.
    pub fn block_in(&self, rank: u8, kind: u8, mcs: Mcs, prbs: Prbs) -> Bytes {
        self.size(&self.downlink[usize::from(rank) - 1][usize::from(kind)], mcs, prbs)
    }

    fn size(&self, sizes: &[u32], mcs: Mcs, prbs: Prbs) -> Bytes {
        let row = usize::from(self.prbs.0) + 1;
        Bytes(sizes[usize::from(mcs.0) * row..][..row][usize::from(prbs.0)].into())
    }

    /// PRBs of this many RBGs, at most those of the carrier.
    pub fn prbs_of(&self, rbgs: u32) -> Prbs {
        Prbs((rbgs as u16 * self.rbg_prbs.0).min(self.prbs.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{McsTable, scheme, transport_block};

    #[test]
    fn lte_has_the_tables_of_the_standard() {
        for prbs in [6, 15, 25, 50, 75, 100].map(Prbs) {
            let access = Access::lte(prbs);
            assert_eq!(access.schemes().collect::<Vec<_>>(), Mcs::all().collect::<Vec<_>>());
            for mcs in access.schemes() {
                assert_eq!(access.scheme(mcs), scheme(mcs));
                for width in (0..=prbs.0).map(Prbs) {
                    for direction in Direction::BOTH {
                        assert_eq!(
                            access.block(direction, mcs, width),
                            transport_block(direction, mcs, width)
                        );
                    }
                }
            }
            for cqi in (1..=Cqi::MAX.0).map(Cqi) {
                let efficiency = McsTable::Qam64.cqi_efficiency(cqi);
                assert_eq!(access.cqi_below(efficiency), Cqi(cqi.0 - 1));
                assert_eq!(access.cqi_below(efficiency + 0.005), cqi);
            }
        }
    }
}

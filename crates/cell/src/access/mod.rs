//! Radio access technology: what the cells, their UEs and the schedulers take as given. Timing, MCSs and CQIs, transport
//! block sizes, the carrier's resource blocks.

mod timing;

use crate::phy::link_budget::PRB_BANDWIDTH;
use crate::phy::tables::{cqi_efficiency, mcs_efficiency, mcs_of, rbg_size, scheme, transport_block};
use crate::phy::{Cqi, Mcs, Prbs, Scheme};
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Hertz, SlotClock};

pub(crate) use timing::Timing;

/// CQIs, with CQI 0.
const CQIS: usize = Cqi::MAX.0 as usize + 1;

/// A radio access on a carrier.
#[derive(Clone, Debug)]
pub struct Access {
    pub(crate) timing: Timing,
    pub(crate) clock: SlotClock,
    /// PRBs of the carrier.
    pub(crate) prbs: Prbs,
    /// PRBs of an RBG.
    pub(crate) rbg_prbs: Prbs,
    /// RBGs that can be scheduled.
    pub(crate) rbgs: u8,
    /// Bandwidth of a PRB.
    pub(crate) prb_bandwidth: Hertz,
    /// Whether the uplink's DFT limits the widths of grants.
    //= TS 36.211 §5.3.3
    pub(crate) precodes_uplink: bool,
    /// MCSs with a code rate of their own, lowest first, and their modulation and rate.
    mcss: Vec<Mcs>,
    schemes: Vec<Scheme>,
    /// Information bits per symbol, by MCS and by CQI.
    mcs_efficiencies: Vec<f64>,
    cqi_efficiencies: [f64; CQIS],
    /// The highest MCS that is not more efficient than each CQI.
    mcs_by_cqi: [Mcs; CQIS],
    /// Transport block sizes in bytes: `[mcs * (PRBs + 1) + prbs]`.
    downlink: Vec<u32>,
    uplink: Vec<u32>,
}

impl Access {
    /// LTE on a carrier of this many PRBs.
    pub fn lte(prbs: Prbs) -> Access {
        let rbg_prbs = rbg_size(prbs);
        let sizes = |direction| {
            let row = move |mcs: Mcs| {
                (0..=prbs.0).map(move |prbs| transport_block(direction, mcs, Prbs(prbs)).0 as u32)
            };
            Mcs::all().flat_map(row).collect()
        };
        Access {
            timing: Timing::lte(),
            clock: SlotClock::LTE,
            prbs,
            rbg_prbs,
            //= exception whole-groups-only
            rbgs: (prbs.0 / rbg_prbs.0) as u8,
            prb_bandwidth: PRB_BANDWIDTH,
            precodes_uplink: true,
            mcss: Mcs::all().collect(),
            schemes: Mcs::all().map(scheme).collect(),
            mcs_efficiencies: Mcs::all().map(mcs_efficiency).collect(),
            cqi_efficiencies: std::array::from_fn(|cqi| cqi_efficiency(Cqi(cqi as u8))),
            mcs_by_cqi: std::array::from_fn(|cqi| mcs_of(Cqi(cqi as u8))),
            downlink: sizes(Direction::Down),
            uplink: sizes(Direction::Up),
        }
    }

    /// The MCSs with a code rate of their own, lowest first.
    pub fn schemes(&self) -> impl Iterator<Item = Mcs> + '_ {
        self.mcss.iter().copied()
    }

    /// The same in groups with one modulation.
    pub fn schemes_by_modulation(&self) -> impl Iterator<Item = &[Mcs]> {
        self.mcss.chunk_by(|a, b| self.scheme(*a).modulation == self.scheme(*b).modulation)
    }

    /// The highest of them.
    pub fn highest(&self) -> Mcs {
        Mcs(self.schemes.len() as u8 - 1)
    }

    /// Modulation and code rate of an MCS.
    pub fn scheme(&self, mcs: Mcs) -> Scheme {
        self.schemes[usize::from(mcs.0)]
    }

    /// The highest MCS that is not more efficient than a CQI; MCS 0 for CQI 0.
    pub fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.mcs_by_cqi[usize::from(cqi.0)]
    }

    /// Information bits per modulation symbol of an MCS.
    pub fn efficiency(&self, mcs: Mcs) -> f64 {
        self.mcs_efficiencies[usize::from(mcs.0)]
    }

    /// The highest CQI that is less efficient than `efficiency`; CQI 0 if there is none.
    pub fn cqi_below(&self, efficiency: f64) -> Cqi {
        let below = (1..=Cqi::MAX.0).take_while(|cqi| self.cqi_efficiencies[usize::from(*cqi)] < efficiency);
        Cqi(below.last().unwrap_or(Cqi::OUT_OF_RANGE.0))
    }

    /// The transport block size of an MCS on this many PRBs; zero on none. Panics beyond the carrier.
    pub fn block(&self, direction: Direction, mcs: Mcs, prbs: Prbs) -> Bytes {
        let sizes = match direction {
            Direction::Down => &self.downlink,
            Direction::Up => &self.uplink,
        };
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
    use crate::phy::tables;

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
            for hundredth in 0..600 {
                let efficiency = f64::from(hundredth) / 100.0;
                assert_eq!(access.cqi_below(efficiency), tables::cqi_below(efficiency));
            }
        }
    }
}

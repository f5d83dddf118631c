//! LTE.

use super::{Access, BUFFER_LEVELS, ControlRegion, Timing};
use crate::link_budget::PRB_BANDWIDTH;
use crate::mimo;
use crate::tables::{McsTable, rbg_size, transport_block};
use crate::{Cqi, Mcs, Prbs};
use airwnd_catalog::Params;
use airwnd_kernel::Direction;
use airwnd_units::SlotClock;
use std::sync::Arc;

/// Quirks of ns-3's LTE.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 LteEnbPhy, LteUePhy")]
pub struct Quirks {
    /// TTIs from a transmission to its retransmission, in both directions; 8 in TS 36.213 §8 and §10.1.
    #[param(default = 8, range = 7..=8, unit = "TTI", source = "ns-3 LteEnbPhy, LteUePhy: 7")]
    pub harq_round_trip: u8,
}

/// LTE in FDD: TTIs of 1 ms, PRBs of 180 kHz, 8 HARQ processes, turbo codes.
///
/// `radio.error_model` selects the block errors.
///
/// With `mimo`, blocks of two to four layers have two codewords: on one layer each, on one and two, or on two each. Both
/// have the same MCS, and they are sent and acknowledged as one block with the sum of their sizes.
//= exception codewords-as-one-block
//= exception transmission-modes
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.211 to TS 36.213; ns-3 LENA", check)]
pub struct Params {
    /// MCS and CQI table of the downlink; the uplink is always up to 64QAM.
    #[param(basic, default = McsTable::Qam64)]
    #[param(unit = "word", source = "TS 36.213 Tables 7.1.7.1-1, 7.1.7.1-1A, 7.2.3-1 and 7.2.3-2")]
    pub mcs_table: McsTable,
    /// Single-user MIMO in the downlink; `none`: one antenna at each end.
    #[param(basic, default = None, unit = "1", source = "a choice: one layer, as in ns-3 LENA")]
    pub mimo: Option<mimo::Params>,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        match self.mimo {
            Some(mimo::Params { cell_antennas: 3, .. }) => {
                Err(("mimo", "an LTE cell has 1, 2 or 4 antennas, not 3".into()))
            }
            _ => Ok(()),
        }
    }

    /// The control region with this many symbols of PDCCH, by default three, as in ns-3 LENA.
    pub(super) fn control_region(&self, prbs: Prbs, symbols: Option<u8>) -> Result<ControlRegion, String> {
        //= TS 36.211 §6.7
        let allowed = if prbs.0 > 10 { 1..=3 } else { 2..=4 };
        let symbols = symbols.unwrap_or(3);
        if !allowed.contains(&symbols) {
            let (min, max) = (allowed.start(), allowed.end());
            return Err(format!(
                "LTE has {min} to {max} symbols of PDCCH on {} PRBs, found {symbols}",
                prbs.0
            ));
        }
        let ports = self.mimo.as_ref().map_or(1, |mimo| mimo.cell_antennas);
        Ok(ControlRegion::lte(prbs, symbols, ports))
    }

    /// The access on this many PRBs.
    pub(super) fn on(&self, prbs: Prbs) -> Access {
        let (table, mimo, rbg_prbs) = (self.mcs_table, self.mimo.as_ref(), rbg_size(prbs));
        let widths = move || (0..=prbs.0).map(Prbs);
        let of_rank = |layers: u8| -> Vec<u32> {
            let row = move |mcs| widths().map(move |prbs| table.block(mcs, prbs, layers).0 as u32);
            table.mcss().flat_map(row).collect()
        };
        let row = move |mcs| widths().map(move |prbs| transport_block(Direction::Up, mcs, prbs).0 as u32);
        let highest = table.mcss().last();
        let other_uplink = Params { mcs_table: McsTable::Qam64, mimo: None, ..self.clone() };
        Access {
            timing: Timing::lte(self.quirks.harq_round_trip.into()),
            clock: SlotClock::LTE,
            prbs,
            rbg_prbs,
            //= exception whole-groups-only
            rbgs: (prbs.0 / rbg_prbs.0) as u8,
            prb_bandwidth: PRB_BANDWIDTH,
            precodes_uplink: true,
            learns_by_blocks: false,
            buffer_levels: &BUFFER_LEVELS,
            mcss: table.mcss().collect(),
            schemes: table.mcss().map(|mcs| table.scheme(mcs)).collect(),
            cqi_efficiencies: std::array::from_fn(|cqi| table.cqi_efficiency(Cqi(cqi as u8))),
            mcs_by_cqi: std::array::from_fn(|cqi| table.mcs_of(Cqi(cqi as u8))),
            //= exception strict-cqi
            cqi_by_mcs: table
                .mcss()
                .map(|mcs| if Some(mcs) == highest { Cqi::MAX } else { table.cqi_below(mcs) })
                .collect(),
            layers: mimo.map_or(Vec::new(), mimo::Params::gains),
            downlink: (1..=mimo.map_or(1, mimo::Params::max_layers))
                .map(|layers| vec![of_rank(layers)])
                .collect(),
            uplink: Mcs::all().flat_map(row).collect(),
            other_uplink: (table != McsTable::Qam64).then(|| Arc::new(other_uplink.on(prbs))),
        }
    }
}

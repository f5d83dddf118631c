//! Log of downlink transmissions in a range of TTIs.

use crate::identity::{CarrierId, CellId, UeId};
use crate::mac::Reception;
use crate::mac::sched::Rbgs;
use airwnd_phy::Mcs;
use airwnd_units::{Bytes, Tti};
use std::ops::Range;

/// A transmission of a downlink block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// TTI of the transmission.
    pub tti: Tti,
    /// Cell that sent it.
    pub cell: CellId,
    /// Carrier of the cell.
    pub carrier: CarrierId,
    /// UE that it was sent to.
    pub ue: UeId,
    /// Its RBGs.
    pub rbgs: Rbgs,
    /// Transmission number of its block: 1 is new data, higher numbers are retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    pub mcs: Mcs,
    /// Size of the transport block.
    pub size: Bytes,
    /// Outcome at the UE.
    pub reception: Reception,
}

/// The transmissions of a cell in a range of TTIs.
pub(crate) struct Log {
    pub ttis: Range<Tti>,
    pub rows: Vec<Allocation>,
}

impl Log {
    pub fn note(&mut self, allocation: Allocation) {
        if self.ttis.contains(&allocation.tti) {
            self.rows.push(allocation);
        }
    }
}

//! What went over the downlink's resource blocks, written down for a while.

use super::sched::Rbgs;
use crate::identity::{CellId, UeId};
use crate::phy::Mcs;
use airwnd_units::{Bytes, Tti};
use std::ops::Range;

/// A transmission of a downlink block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// When it was on air.
    pub tti: Tti,
    /// Who sent it.
    pub cell: CellId,
    /// Whom it was for.
    pub ue: UeId,
    /// The resource-block groups that it took.
    pub rbgs: Rbgs,
    /// Counts the transmissions of its block: 1 is new data, more are retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    pub mcs: Mcs,
    /// Size of the transport block.
    pub size: Bytes,
    /// What the UE made of it.
    pub reception: Reception,
}

/// What a UE made of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The block was decoded.
    Decoded,
    /// It was not, and may be sent again.
    Failed,
    /// The UE did not hear that there was something for it.
    AssignmentLost,
}

/// The transmissions of a cell in a stretch of TTIs.
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

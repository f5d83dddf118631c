//! HARQ of a UE.

use crate::mac::BlockFigures;
use crate::rlc;
use airwnd_kernel::Stream;
use airwnd_units::Tti;

/// HARQ of a UE in one direction.
pub(crate) struct Harq {
    pub(super) errors: Stream,
    /// Bits of the number of a HARQ process of a carrier.
    pub(super) process_bits: u32,
    pub blocks: BlockFigures,
    /// Bearers and PDUs in the block of each process; empty for a UE with one bearer.
    pub(super) parts: Vec<Vec<(u8, rlc::Content)>>,
}

impl Harq {
    /// A number uniform in [0, 1) for the block of a carrier's process in this TTI.
    pub fn draw(&self, tti: Tti, carrier: u8, process: u8) -> f64 {
        let errors = if carrier == 0 { self.errors } else { self.errors.child(carrier.into()) };
        errors.at(tti.0 << self.process_bits | u64::from(process))
    }
}

//! HARQ of a UE.

use crate::identity::CarrierId;
use crate::mac::BlockFigures;
use airwnd_kernel::Stream;
use airwnd_rlc as rlc;
use airwnd_units::Tti;

/// HARQ of a UE in one direction.
pub(crate) struct Harq {
    errors: Stream,
    /// Bits of the number of a HARQ process of a carrier.
    process_bits: u32,
    pub blocks: BlockFigures,
    /// Bearers and PDUs in the block of each process; empty for a UE with one bearer.
    pub(super) parts: Vec<Vec<(u8, rlc::Content)>>,
}

impl Harq {
    /// HARQ with block errors drawn from a stream. The carriers have `per_carrier` processes each; the blocks of all
    /// `processes` keep the PDUs of several bearers apart.
    pub fn new(errors: Stream, per_carrier: u8, processes: u8, bearers: usize) -> Harq {
        let apart = if bearers > 1 { processes } else { 0 };
        Harq {
            errors,
            process_bits: per_carrier.next_power_of_two().ilog2(),
            blocks: BlockFigures::default(),
            parts: (0..apart).map(|_| Vec::with_capacity(bearers)).collect(),
        }
    }

    /// A number uniform in [0, 1) for the block of a carrier's process in this TTI.
    pub fn draw(&self, tti: Tti, carrier: CarrierId, process: u8) -> f64 {
        let errors = match carrier {
            CarrierId::PRIMARY => self.errors,
            CarrierId(number) => self.errors.child(number.into()),
        };
        errors.at(tti.0 << self.process_bits | u64::from(process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_by_tti_carrier_and_process() {
        let harq = Harq::new(Stream::new(1, "block errors"), 8, 16, 1);
        let mut draws = Vec::new();
        for tti in 0..20 {
            for carrier in (0..3).map(CarrierId) {
                draws.extend((0..8).map(|process| harq.draw(Tti(tti), carrier, process).to_bits()));
            }
        }
        let count = draws.len();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), count);
        let primary = CarrierId::PRIMARY;
        assert_eq!(harq.draw(Tti(7), primary, 3), harq.draw(Tti(7), primary, 3));
    }

    #[test]
    fn blocks_of_one_bearer_are_not_stored_apart() {
        let parts = |bearers| Harq::new(Stream::new(1, "block errors"), 8, 16, bearers).parts.len();
        assert_eq!((parts(1), parts(2)), (0, 16));
    }
}

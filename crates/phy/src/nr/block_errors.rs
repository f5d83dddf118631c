//! Block errors of NR's LDPC code as an error model.

use super::ldpc::{self, BlockErrors, Combining};
use super::tables::CodeRate;
use super::transport_block::{Segmentation, segment};
use crate::Scheme;
use crate::error_model::{ErrorModel, SoftBits};
use airwnd_units::{Bytes, Db};

/// The error model of NR: [`BlockErrors`] with combining by HARQ and a receiver loss.
///
/// A transmission has as many coded bits as its target code rate demands. Rounding of transport block sizes and, for
/// retransmissions in slots with another number of symbols, the difference in resource elements are left out.
//= exception nr-nominal-code-rate
#[derive(Clone, Debug)]
pub struct NrBlockErrors {
    errors: BlockErrors,
    combining: Combining,
    loss: Db,
}

impl NrBlockErrors {
    /// A model with the simulated curves; each SINR is reduced by `loss`.
    pub fn new(combining: Combining, loss: Db) -> NrBlockErrors {
        NrBlockErrors { errors: BlockErrors::default(), combining, loss }
    }
}

/// Code blocks of a transport block with this scheme.
fn cut(block: Bytes, scheme: Scheme) -> Segmentation {
    segment(block.bits() as u32, CodeRate(libm::round(scheme.rate * 2048.0) as u32))
}

impl ErrorModel for NrBlockErrors {
    fn loss(&self, _scheme: Scheme) -> Db {
        self.loss
    }

    fn receive_mean(&self, before: SoftBits, scheme: Scheme, block: Bytes, mean: f64) -> SoftBits {
        let cut = cut(block, scheme);
        let coded = libm::round(f64::from(cut.blocks * cut.filled) / scheme.rate) as u32;
        let soft = ldpc::SoftBits { coded: before.coded, information: before.information };
        let soft = soft.receive_mean(self.combining, scheme.modulation, coded, mean);
        SoftBits { coded: soft.coded, information: soft.information, scheme, uncounted: None }
    }

    fn block_error(&self, block: Bytes, soft: SoftBits) -> f64 {
        let received = ldpc::SoftBits { coded: soft.coded, information: soft.information };
        self.errors.block_error(soft.scheme.modulation, &cut(block, soft.scheme), received)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Table;
    use super::*;
    use crate::error_model::Transmission;
    use crate::error_model::block_error_curves::Curve;
    use crate::{Mcs, Sinr};

    fn sent(mcs: u8, block: u64, sinr: f64) -> Transmission<'static> {
        let row = Table::Qam256.mcs(Mcs(mcs)).unwrap();
        let scheme = Scheme { modulation: row.modulation, rate: row.rate.ratio() };
        Transmission { scheme, block: Bytes(block), sinr: Sinr::Flat(Db(sinr)) }
    }

    /// The curve of each code block of a first transmission.
    fn curve(sent: &Transmission) -> (Curve, f64) {
        let cut = cut(sent.block, sent.scheme);
        let curves = BlockErrors::default();
        let curve = curves.curve(cut.graph, sent.scheme.modulation, cut.filled, sent.scheme.rate);
        (curve, f64::from(cut.blocks))
    }

    #[test]
    fn a_first_transmission_fails_as_its_code_blocks_do() {
        let model = NrBlockErrors::new(Combining::IncrementalRedundancy, Db(0.0));
        for (mcs, block) in [(2, 100), (5, 800), (15, 4000), (27, 12_000)] {
            let (curve, blocks) = curve(&sent(mcs, block, 0.0));
            for widths in [-1.0, 0.0, 1.3, 2.0] {
                let sinr = curve.half + Db(widths * curve.width.0);
                let expected = 1.0 - libm::pow(1.0 - curve.error(sinr), blocks);
                let found = model.first_block_error(&sent(mcs, block, sinr.0));
                assert!((found - expected).abs() < 0.01, "MCS {mcs}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_loss_shifts_every_curve_and_combining_gains() {
        let [plain, lossy] = [0.0, 2.0].map(|loss| NrBlockErrors::new(Combining::Chase, Db(loss)));
        for (mcs, block) in [(3, 500), (12, 3000), (24, 9000)] {
            let tenth = curve(&sent(mcs, block, 0.0)).0.tenth().0;
            let here = plain.first_block_error(&sent(mcs, block, tenth));
            let there = lossy.first_block_error(&sent(mcs, block, tenth + 2.0));
            assert!((here - there).abs() < 1e-9 && here > 0.09, "MCS {mcs}: {here} {there}");
            // Two transmissions have the SINR of one that is 3.01 dB better.
            let below = sent(mcs, block, tenth - 10.0 * libm::log10(2.0));
            let first = plain.receive(SoftBits::default(), &below);
            let second = plain.receive(first, &below);
            let errors = [first, second].map(|soft| plain.block_error(below.block, soft));
            assert!(errors[0] > 0.99 && (errors[1] - here).abs() < 0.01, "MCS {mcs}: {errors:?}");
        }
    }
}

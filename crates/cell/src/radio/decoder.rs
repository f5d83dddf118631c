//! Decoding of transport blocks.

use crate::mac::Block;
use airwnd_phy::access::Access;
use airwnd_phy::error_model::{ErrorModel, SoftBits, Transmission};
use airwnd_phy::{Mcs, Prbs, Sinr};
use airwnd_units::{Bytes, Db};
use std::ops::Range;
use std::sync::Arc;

/// Cached first transmissions over flat channels in all cells, and least number in a part of them.
const CACHED: usize = 1024;
const MIN_CACHED: usize = 128;
/// Factor that distributes keys over the places of caches.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Cached outcomes, by size, MCS and number of transmissions.
const OUTCOMES: usize = 256;
/// Probability of the other outcome below which one is certain, and a draw outside of this part of the range decides.
const UNLIKELY: f64 = 1e-6;
const DECIDED: Range<f64> = 2.0 * UNLIKELY..1.0 - 2.0 * UNLIKELY;

/// The receivers' error model with caches.
pub(crate) struct Decoder {
    errors: Arc<dyn ErrorModel>,
    access: Arc<Access>,
    known: Vec<Decoded>,
    outcomes: Vec<Outcomes>,
}

/// Result of a first transmission over a flat channel.
#[derive(Clone, Copy, Default)]
struct Decoded {
    sinr: Db,
    size: Bytes,
    mcs: Mcs,
    soft: SoftBits,
    error: f64,
}

/// The receptions of blocks of a size and MCS whose outcome is certain.
///
/// A reception is measured by its SINR in decibels if it is the first one of a block, otherwise by the information in the
/// soft bits: errors never increase with either.
#[derive(Clone, Copy)]
struct Outcomes {
    size: Bytes,
    mcs: Mcs,
    transmissions: u8,
    /// Measure of a block that has almost certainly failed; so do all with less. No number: not known yet.
    fails_at: f64,
    /// Measure of a block that was almost certainly decoded; so are all with more. No number: not known
    /// yet.
    decodes_at: f64,
}

impl Outcomes {
    /// Outcomes that are still unknown.
    fn of(block: &Block) -> Outcomes {
        let Block { size, mcs, transmissions, .. } = *block;
        Outcomes { size, mcs, transmissions, fails_at: f64::NAN, decodes_at: f64::NAN }
    }

    /// Whether a block with a measure in this range fails, if that is certain.
    #[inline]
    fn fails(&self, min: f64, max: f64) -> Option<bool> {
        if min >= self.decodes_at {
            Some(false)
        } else if max <= self.fails_at {
            Some(true)
        } else {
            None
        }
    }

    /// Notes the error probability of a block with a measure in this range.
    fn note(&mut self, min: f64, max: f64, error: f64) {
        if error <= UNLIKELY {
            self.decodes_at = self.decodes_at.min(max);
        } else if error >= 1.0 - UNLIKELY {
            self.fails_at = self.fails_at.max(min);
        }
    }
}

impl Decoder {
    /// The decoder of receivers in one of this many parts of the cells.
    pub fn new(errors: Arc<dyn ErrorModel>, access: &Arc<Access>, parts: usize) -> Decoder {
        let known = vec![Decoded::default(); (CACHED / parts).max(MIN_CACHED)];
        let none =
            Outcomes { size: Bytes::ZERO, mcs: Mcs(0), transmissions: 0, fails_at: 0.0, decodes_at: 0.0 };
        Decoder { errors, access: access.clone(), known, outcomes: vec![none; OUTCOMES] }
    }

    /// Receives a block over runs of PRBs, each with its SINR, and over layers with these gains, which are empty without
    /// MIMO. Returns whether it fails: whether `draw`, uniform in [0, 1), is less than its error probability. Adds to the
    /// soft bits of a block that fails.
    pub fn fails(&mut self, runs: &[(Db, Prbs)], layers: &[Db], block: &mut Block, draw: f64) -> bool {
        if !layers.is_empty() {
            return draw < self.error(&Sinr::Layers(runs, layers), block);
        }
        let sinr = match runs {
            [(sinr, _)] => Sinr::Flat(*sinr),
            _ => Sinr::Groups(runs),
        };
        let place = self.outcomes_of(block);
        if block.transmissions > 1 {
            self.receive(&sinr, block);
            let information = block.soft.information + block.soft.uncounted.unwrap_or(0.0);
            let outcome = self.outcomes[place].fails(information, information);
            return match outcome.filter(|_| DECIDED.contains(&draw)) {
                Some(fails) => fails,
                None => {
                    let error = self.errors.block_error(block.size, block.soft);
                    self.outcomes[place].note(information, information, error);
                    draw < error
                }
            };
        }
        let range = |(min, max): (f64, f64), (sinr, _): &(Db, Prbs)| (min.min(sinr.0), max.max(sinr.0));
        let (min, max) = match sinr {
            Sinr::Flat(sinr) => (sinr.0, sinr.0),
            _ => runs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range),
        };
        match self.outcomes[place].fails(min, max).filter(|_| DECIDED.contains(&draw)) {
            Some(false) => false,
            Some(true) => {
                self.receive(&sinr, block);
                true
            }
            None => {
                let error = match sinr {
                    Sinr::Flat(sinr) => self.flat_error(sinr, block),
                    _ => self.error(&sinr, block),
                };
                self.outcomes[place].note(min, max, error);
                draw < error
            }
        }
    }

    /// Place of the outcomes of such a block.
    #[inline]
    fn outcomes_of(&mut self, block: &Block) -> usize {
        let mixed = block.size.0 << 16 | u64::from(block.mcs.0) << 8 | u64::from(block.transmissions);
        let place = (mixed.wrapping_mul(MIX) >> 32) as usize % OUTCOMES;
        let known = &mut self.outcomes[place];
        if known.size != block.size || known.mcs != block.mcs || known.transmissions != block.transmissions {
            *known = Outcomes::of(block);
        }
        place
    }

    /// Adds to a block's soft bits.
    fn receive(&self, sinr: &Sinr<'_>, block: &mut Block) {
        let transmission =
            Transmission { scheme: self.access.scheme(block.mcs), block: block.size, sinr: *sinr };
        block.soft = self.errors.receive(block.soft, &transmission);
    }

    /// Adds to a block's soft bits and returns the probability that it is not decoded.
    fn error(&self, sinr: &Sinr<'_>, block: &mut Block) -> f64 {
        self.receive(sinr, block);
        self.errors.block_error(block.size, block.soft)
    }

    /// Decodes a first transmission over a flat channel.
    fn flat_error(&mut self, sinr: Db, block: &mut Block) -> f64 {
        let mixed = sinr.0.to_bits() ^ block.size.0.rotate_left(32) ^ u64::from(block.mcs.0);
        let place = (((mixed.wrapping_mul(MIX) >> 32) * self.known.len() as u64) >> 32) as usize;
        let known = &self.known[place];
        if known.sinr == sinr && known.size == block.size && known.mcs == block.mcs {
            block.soft = known.soft;
            return known.error;
        }
        let error = self.error(&Sinr::Flat(sinr), block);
        self.known[place] = Decoded { sinr, size: block.size, mcs: block.mcs, soft: block.soft, error };
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::Direction;
    use airwnd_phy::error_model::{block_error_curves, mutual_information, none};
    use proptest::prelude::*;

    fn models() -> [Arc<dyn ErrorModel>; 4] {
        let quirks = mutual_information::Quirks {
            code_blocks: mutual_information::CodeBlocks::Ns3,
            sixteen_bits: true,
        };
        let as_in_ns3 = mutual_information::Params { quirks, ..Default::default() };
        [
            Arc::new(mutual_information::MutualInformation::new(Default::default())),
            Arc::new(mutual_information::MutualInformation::new(as_in_ns3)),
            Arc::new(block_error_curves::BlockErrorCurves::new(Default::default())),
            Arc::new(none::NoErrors),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Cached outcomes of earlier blocks do not change those of later ones.
        #[test]
        fn blocks_fail_as_by_the_error_model(
            blocks in prop::collection::vec(
                (0u8..=28, prop_oneof![Just(6u16), Just(50)], -20.0f64..40.0,
                    prop::collection::vec((-3.0f64..3.0, any::<bool>(), 0.0f64..1.0), 1..=4)),
                1..200,
            ),
        ) {
            let access = Arc::new(Access::lte(Prbs(50)));
            for errors in models() {
                let mut decoder = Decoder::new(errors.clone(), &access, 1);
                for (mcs, prbs, sinr, transmissions) in &blocks {
                    let (mcs, prbs) = (Mcs(*mcs), Prbs(*prbs));
                    let size = access.block(Direction::Up, mcs, prbs);
                    let soft = SoftBits::default();
                    let mut block = Block { mcs, rank: 1, size, content: None, soft, transmissions: 1 };
                    let mut expected = soft;
                    for (off, is_flat, draw) in transmissions {
                        let groups = [(Db(*sinr), Prbs(2)), (Db(sinr + off), prbs)];
                        let runs = &groups[usize::from(*is_flat)..];
                        let sinr = if *is_flat { Sinr::Flat(groups[1].0) } else { Sinr::Groups(runs) };
                        let sent = Transmission { scheme: access.scheme(mcs), block: size, sinr };
                        expected = errors.receive(expected, &sent);
                        let fails = *draw < errors.block_error(size, expected);
                        prop_assert_eq!(decoder.fails(runs, &[], &mut block, *draw), fails);
                        if !fails {
                            break;
                        }
                        prop_assert_eq!(block.soft, expected);
                        block.transmissions += 1;
                    }
                }
            }
        }
    }
}

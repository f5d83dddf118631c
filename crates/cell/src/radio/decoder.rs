//! Decoding of transport blocks.

use crate::access::Access;
use crate::mac::Block;
use crate::phy::error_model::{ErrorModel, SoftBits, Transmission};
use crate::phy::{Mcs, Prbs, Sinr};
use airwnd_units::{Bytes, Db};
use std::sync::Arc;

/// Cached first transmissions over flat channels in all cells, and least number in a part of them.
const CACHED: usize = 1024;
const LEAST_CACHED: usize = 128;

/// The receivers' error model with a cache.
pub(crate) struct Decoder {
    errors: Arc<dyn ErrorModel>,
    access: Arc<Access>,
    known: Vec<Decoded>,
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

impl Decoder {
    /// The decoder of receivers in one of this many parts of the cells.
    pub fn new(errors: Arc<dyn ErrorModel>, access: &Arc<Access>, parts: usize) -> Decoder {
        let known = vec![Decoded::default(); (CACHED / parts).max(LEAST_CACHED)];
        Decoder { errors, access: access.clone(), known }
    }

    /// Receives a block over runs of PRBs, each with its SINR, and over layers with these gains, which are empty without
    /// MIMO. Adds to the block's soft bits and returns the probability that it is not decoded.
    pub fn decode(&mut self, runs: &[(Db, Prbs)], layers: &[Db], block: &mut Block) -> f64 {
        let sinr = match runs {
            _ if !layers.is_empty() => Sinr::Layers(runs, layers),
            [(sinr, _)] => Sinr::Flat(*sinr),
            _ => Sinr::Groups(runs),
        };
        let place = match sinr {
            Sinr::Flat(sinr) if block.transmissions == 1 => {
                let mixed = sinr.0.to_bits() ^ block.size.0.rotate_left(32) ^ u64::from(block.mcs.0);
                let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.known.len();
                let known = &self.known[place];
                if known.sinr == sinr && known.size == block.size && known.mcs == block.mcs {
                    block.soft = known.soft;
                    return known.error;
                }
                Some((place, sinr))
            }
            _ => None,
        };
        let transmission = Transmission { scheme: self.access.scheme(block.mcs), block: block.size, sinr };
        block.soft = self.errors.receive(block.soft, &transmission);
        let error = self.errors.block_error(block.size, block.soft);
        if let Some((place, sinr)) = place {
            self.known[place] = Decoded { sinr, size: block.size, mcs: block.mcs, soft: block.soft, error };
        }
        error
    }
}

//! Link-level simulation of LTE's and NR's shared channels in white noise, from transport block to transport block.
//!
//! The tool that generates `crates/phy/data/block_error_curves.csv`: it encodes random blocks, sends them over the
//! channel and decodes them. It is not linked into the engine.
//!
//! ```sh
//! cargo run --release -p airwnd-linklevel -- simulate tools/linklevel/data/block_errors.csv 2026-11-24
//! cargo run --release -p airwnd-linklevel -- fit tools/linklevel/data/block_errors.csv crates/phy/data/block_error_curves.csv
//! ```

pub mod campaign;
pub mod crc;
pub mod curve;
pub mod decoder;
pub mod encoder;
pub mod interleaver;
pub mod lanes;
pub mod link;
pub mod modulation;
pub mod noise;
pub mod nr;
pub mod rate_matching;
pub mod record;
pub mod segmentation;

use airwnd_phy::tables::{MAX_CODE_BLOCK, MIN_CODE_BLOCK, code_block_at_least};

/// All code block sizes, in bits.
//= TS 36.212 Table 5.1.3-3
pub fn all_sizes() -> impl Iterator<Item = usize> {
    let next = |size: &u32| (*size < MAX_CODE_BLOCK).then(|| code_block_at_least(size + 1));
    std::iter::successors(Some(MIN_CODE_BLOCK), next).map(|size| size as usize)
}

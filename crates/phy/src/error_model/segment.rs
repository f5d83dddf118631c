//! Segmentation of a transport block into code blocks.

use crate::tables::{MAX_CODE_BLOCK, code_block_at_least, code_block_below};
use airwnd_units::Bytes;

/// Bits of the CRCs of transport blocks and code blocks (TS 36.212 §5.1.1, §5.1.2).
const CRC: u32 = 24;

/// Bits of a transport block with its CRC.
pub fn with_crc(block: Bytes) -> u32 {
    block.bits() as u32 + CRC
}

/// Bits of a transport block with its CRC and those of its code blocks.
//= TS 36.212 §5.1.2
pub fn with_all_crcs(block: Bytes) -> u32 {
    let [(larger, _), (smaller, _)] = segment(block);
    let blocks = larger + smaller;
    with_crc(block) + if blocks > 1 { blocks * CRC } else { 0 }
}

/// Code blocks of a transport block: number and size of the larger ones, then of the smaller ones.
pub fn segment(block: Bytes) -> [(u32, u32); 2] {
    segment_bits(with_crc(block))
}

/// Code blocks of a transport block of this many bits including its CRC.
//= TS 36.212 §5.1.2
pub fn segment_bits(bits: u32) -> [(u32, u32); 2] {
    if bits <= MAX_CODE_BLOCK {
        return [(1, code_block_at_least(bits)), (0, 0)];
    }
    let count = bits.div_ceil(MAX_CODE_BLOCK - CRC);
    let total = bits + count * CRC;
    let larger = code_block_at_least(total.div_ceil(count));
    let smaller = code_block_below(larger).expect("several code blocks are large");
    let smaller_count = (count * larger - total) / (larger - smaller);
    [(count - smaller_count, larger), (smaller_count, smaller)]
}

/// The probability that all code blocks are decoded, given their numbers and sizes and the error probability by size.
pub fn decodes_all(blocks: [(u32, u32); 2], code_block_error: impl Fn(u32) -> f64) -> f64 {
    blocks.iter().filter(|(count, _)| *count > 0).fold(1.0, |decoded, (count, size)| {
        let one = 1.0 - code_block_error(*size);
        decoded * if *count == 1 { one } else { libm::pow(one, f64::from(*count)) }
    })
}

/// The probability that a transport block is not decoded, given the error probability of a code block by size.
pub fn block_error(block: Bytes, code_block_error: impl Fn(u32) -> f64) -> f64 {
    1.0 - decodes_all(segment(block), code_block_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segmentation_follows_the_standard() {
        // 6120 + 24 = 6144: one block. 6200 + 24 = 6224 > 6144: two; 6224 + 48 = 6272 = 2 x 3136
        assert_eq!(segment(Bytes(6120 / 8)), [(1, 6144), (0, 0)]);
        assert_eq!(segment(Bytes(6200 / 8)), [(2, 3136), (0, 3072)]);
        assert_eq!((with_all_crcs(Bytes(6120 / 8)), with_all_crcs(Bytes(6200 / 8))), (6144, 6272));
        assert_eq!(segment(Bytes(2)), [(1, 40), (0, 0)]);
        // 75376 + 24 = 75400: ceil(75400 / 6120) = 13; 75400 + 13 x 24 = 75712 = 13 x 5824
        assert_eq!(segment(Bytes(75376 / 8)), [(13, 5824), (0, 5760)]);
    }
}

//! Code block segmentation and CRC attachment.

use crate::crc::Crc;
use airwnd_phy::error_model::segment::segment;
use airwnd_units::Bytes;

/// A segmented transport block, ready for the encoder.
#[derive(Clone, Debug)]
pub struct CodeBlocks {
    /// Code blocks, each with its CRC.
    pub blocks: Vec<Vec<u8>>,
    /// Zero bits at the beginning of the first one.
    pub filler: usize,
    /// CRC at the end of each code block.
    pub crc: Crc,
}

/// Attaches the CRCs and segments a transport block.
//= TS 36.212 §5.1.1, §5.1.2
pub fn cut(mut block: Vec<u8>) -> CodeBlocks {
    let sizes: Vec<usize> = sizes(block.len());
    let crc = if sizes.len() == 1 { Crc::A } else { Crc::B };
    Crc::A.attach(&mut block);
    let checks = if sizes.len() == 1 { 0 } else { crate::crc::CRC_BITS };
    let filler = sizes.iter().map(|size| size - checks).sum::<usize>() - block.len();
    let mut bits = std::iter::repeat_n(0, filler).chain(block);
    let blocks = sizes.iter().map(|size| {
        let mut part: Vec<u8> = bits.by_ref().take(size - checks).collect();
        if checks > 0 {
            crc.attach(&mut part);
        }
        part
    });
    CodeBlocks { blocks: blocks.collect(), filler, crc }
}

/// Code block sizes of a transport block, the smaller ones first.
pub fn sizes(transport_block_bits: usize) -> Vec<usize> {
    let [larger, smaller] = segment(Bytes(transport_block_bits as u64 / 8));
    let repeat = |(count, size): (u32, u32)| std::iter::repeat_n(size as usize, count as usize);
    repeat(smaller).chain(repeat(larger)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::Stream;

    #[test]
    fn blocks_are_cut_and_joined_without_loss() {
        // one block without and with filler, two blocks without and with (6424 + 48 = 2 x 3264 - 56), the largest
        for (bits, filler) in [(6120, 0), (1000, 0), (1008, 24), (6200, 0), (6400, 56), (75376, 0)] {
            let mut stream = Stream::new(2, "test").child(bits as u64);
            let block: Vec<u8> = (0..bits).map(|_| (stream.next_u64() & 1) as u8).collect();
            let cut = cut(block.clone());
            assert_eq!(cut.filler, filler, "{bits} bits");
            assert!(cut.blocks.iter().all(|part| cut.crc.holds(part)));
            let checks = if cut.blocks.len() > 1 { 24 } else { 0 };
            let joined: Vec<u8> = cut
                .blocks
                .iter()
                .flat_map(|part| &part[..part.len() - checks])
                .copied()
                .skip(filler)
                .collect();
            assert!(Crc::A.holds(&joined));
            assert_eq!(joined[..bits], block);
        }
    }
}

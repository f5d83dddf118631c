//! Rate matching: selection of the coded bits of a transmission.

use crate::encoder::TAIL_BITS;

/// Columns of the sub-block interleaver.
const COLUMNS: usize = 32;

/// The inter-column permutation of the sub-block interleaver.
//= TS 36.212 Table 5.1.4-1
const COLUMN_ORDER: [usize; COLUMNS] = [
    0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30, 1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7,
    23, 15, 31,
];

/// The redundancy versions of successive transmissions of a block.
//= TS 36.321 §5.4.2.2
pub const VERSIONS: [usize; 4] = [0, 2, 3, 1];

/// The circular buffer of a code block.
#[derive(Clone, Debug)]
pub struct CircularBuffer {
    rows: usize,
    /// Positions in the encoder's output; `None` for dummy and filler bits, which are never sent.
    bits: Vec<Option<u32>>,
}

impl CircularBuffer {
    /// The buffer of a code block of `size` bits, of which the first `filler` are filler bits. The receiver is assumed
    /// to store all coded bits.
    pub fn new(size: usize, filler: usize) -> CircularBuffer {
        let length = size + TAIL_BITS;
        let rows = length.div_ceil(COLUMNS);
        let sub_block = rows * COLUMNS;
        let dummies = sub_block - length;
        let place = |stream: usize, padded: usize| {
            let bit = padded.checked_sub(dummies)?;
            //= TS 36.212 §5.1.3.2.1: filler bits are null in the first two streams
            (stream == 2 || bit >= filler).then_some((stream * length + bit) as u32)
        };
        //= TS 36.212 §5.1.4.1.1
        let (column, row) = (|k: usize| COLUMN_ORDER[k / rows], |k: usize| k % rows);
        let straight = |k| COLUMNS * row(k) + column(k);
        let shifted = |k| (straight(k) + 1) % sub_block;
        //= TS 36.212 §5.1.4.1.2: the systematic bits, then both parities by turns
        let systematic = (0..sub_block).map(|k| place(0, straight(k)));
        let parity = (0..sub_block).flat_map(|k| [place(1, straight(k)), place(2, shifted(k))]);
        CircularBuffer { rows, bits: systematic.chain(parity).collect() }
    }

    /// Positions in the encoder's output of the `count` bits that a transmission of this redundancy version carries.
    //= TS 36.212 §5.1.4.1.2
    pub fn select(&self, version: usize, count: usize) -> Vec<u32> {
        let start = self.rows * (2 * self.bits.len().div_ceil(8 * self.rows) * version + 2);
        let (before, after) = self.bits.split_at(start % self.bits.len());
        after.iter().chain(before).flatten().copied().cycle().take(count).collect()
    }
}

/// Bits for each of `blocks` code blocks in a transmission of `total` bits.
//= TS 36.212 §5.1.4.1.2
pub fn shares(total: usize, blocks: usize, order: usize) -> Vec<usize> {
    let symbols = total / order;
    let longer = symbols % blocks;
    (0..blocks).map(|block| order * (symbols / blocks + usize::from(block >= blocks - longer))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all_sizes;

    #[test]
    fn the_circular_buffer_holds_every_bit_once() {
        for size in all_sizes() {
            let distinct = 3 * (size + TAIL_BITS);
            for version in VERSIONS {
                let mut places = CircularBuffer::new(size, 0).select(version, distinct);
                places.sort_unstable();
                assert!(places.iter().copied().eq(0..distinct as u32), "{size}");
            }
        }
    }

    #[test]
    fn version_0_begins_with_the_systematic_bits_except_two_columns() {
        for size in all_sizes() {
            let rows = (size + TAIL_BITS).div_ceil(COLUMNS);
            let places = CircularBuffer::new(size, 0).select(0, size);
            let systematic = places.iter().filter(|place| **place < (size + TAIL_BITS) as u32).count();
            assert!(systematic >= size + TAIL_BITS - 2 * rows && systematic <= size, "{size}: {systematic}");
            assert!(places[..systematic].iter().all(|place| *place < (size + TAIL_BITS) as u32));
        }
    }

    #[test]
    fn versions_begin_a_quarter_of_the_buffer_apart() {
        // K = 6144: R = ceil(6148 / 32) = 193, 3 x 32 = 96 columns; k_0 = R (24 rv + 2)
        let buffer = CircularBuffer::new(6144, 0);
        assert_eq!((buffer.rows, buffer.bits.len()), (193, 193 * 96));
        for version in 0..4 {
            let first = buffer.bits[193 * (24 * version + 2)..].iter().flatten().next();
            assert_eq!(buffer.select(version, 1).first(), first);
        }
    }

    #[test]
    fn sub_blocks_are_read_column_by_column() {
        // K = 40: 44 bits in 2 rows after 20 dummies. Column 16 holds y_16, a dummy, and y_48: bit 28. It is the second
        // column read; k_0 = 2 x 2 skips the first two columns, and column 8 is next: y_40 = bit 20.
        let buffer = CircularBuffer::new(40, 0);
        assert_eq!(buffer.bits[..4], [None, Some(12), None, Some(28)]);
        assert_eq!(buffer.select(0, 3), [20, 4, 36]);
        // the second parity is shifted by one: pi(0) = 1, a dummy; pi(1) = 33: bit 13
        assert_eq!((buffer.bits[65], buffer.bits[67]), (None, Some(2 * 44 + 13)));
    }

    #[test]
    fn filler_bits_are_not_sent() {
        let sent = CircularBuffer::new(64, 10).select(0, 3 * 68 - 20);
        assert!(sent.iter().all(|place| *place >= 10 && !(68..78).contains(place)));
    }

    #[test]
    fn shares_differ_by_one_symbol_at_most() {
        // 25 symbols of 4 bits for 3 blocks: 8, 8, 9
        assert_eq!(shares(100, 3, 4), [32, 32, 36]);
        assert_eq!(shares(96, 3, 4), [32, 32, 32]);
    }
}

//! Rate matching of NR's LDPC code: selection and interleaving of the coded bits of a transmission.

use super::code::Code;

/// The redundancy versions of successive transmissions of a block, in the order in which a version adds most bits that
/// were not sent before.
pub const VERSIONS: [usize; 4] = [0, 2, 3, 1];

/// Starting positions of the redundancy versions in units of the lifting size, for base graphs 1 and 2.
//= TS 38.212 Table 5.4.2.1-2
const STARTS: [[usize; 4]; 2] = [[0, 17, 33, 56], [0, 13, 25, 43]];

/// Positions in the codeword of the `count` bits of a transmission with this redundancy version, in the order of the
/// modulation symbols of `order` bits.
///
/// The circular buffer holds the whole codeword but its first two columns: limited-buffer rate matching, which shortens
/// it for the largest transport blocks of a carrier, is not simulated.
//= TS 38.212 §5.4.2.1, §5.4.2.2
pub fn select(code: &Code, version: usize, count: usize, order: usize) -> Vec<u32> {
    let starts = STARTS[usize::from(code.systematic == 10)];
    let buffer = 2 * code.lifting..code.length();
    let start = starts[version] * code.lifting;
    let filler = code.filler();
    let selected: Vec<u32> = (buffer.clone().cycle().skip(start).take(buffer.len()))
        .filter(|place| !filler.contains(place))
        .map(|place| place as u32)
        .collect();
    let at = |place: usize| selected[place % selected.len()];
    let symbols = count / order;
    (0..symbols).flat_map(|symbol| (0..order).map(move |bit| at(bit * symbols + symbol))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc::Crc;
    use airwnd_phy::nr::tables::CodeRate;
    use airwnd_phy::nr::transport_block::{BaseGraph, base_graph};

    #[test]
    fn coded_bits_are_those_of_generator_matrices() {
        // Bits, coded bits and their CRC24A by the generator matrices with which Sionna's encoder is tested
        // (github.com/NVlabs/sionna, commit 20d2bcaec8d4, test/codes/ldpc). A bit is 1 if its number is 0 modulo 3 or 2
        // modulo 7.
        let rows: [(u32, u32, u32); 7] = [
            (64, 128, 0x82_a781),
            (200, 220, 0x91_a2aa),
            (275, 510, 0x46_ad0d),
            (698, 878, 0x33_bf2a),
            (948, 1024, 0x9e_72c3),
            (1487, 3554, 0xde_977e),
            (8445, 18_665, 0xcb_7e13),
        ];
        for (block_bits, count, crc) in rows {
            let rate = CodeRate((2048 * block_bits).div_ceil(count));
            let code = Code::new(base_graph(block_bits, rate), block_bits as usize);
            let block: Vec<u8> = (0..block_bits).map(|bit| u8::from(bit % 3 == 0 || bit % 7 == 2)).collect();
            let word = code.encode(&block);
            let mut bits: Vec<u8> =
                select(&code, 0, count as usize, 1).into_iter().map(|place| word[place as usize]).collect();
            bits.extend((0..24).rev().map(|place| (crc >> place & 1) as u8));
            assert!(Crc::A.holds(&bits), "{block_bits} {count}");
        }
    }

    #[test]
    fn a_buffer_holds_every_bit_once() {
        for (graph, block_bits) in [(BaseGraph::One, 352), (BaseGraph::Two, 160), (BaseGraph::Two, 1280)] {
            let code = Code::new(graph, block_bits);
            let count = code.length() - 2 * code.lifting - code.filler().len();
            for version in VERSIONS {
                let mut places = select(&code, version, count, 1);
                places.sort_unstable();
                let expected: Vec<u32> = (2 * code.lifting..code.length())
                    .filter(|place| !code.filler().contains(place))
                    .map(|place| place as u32)
                    .collect();
                assert_eq!(places, expected, "{graph:?} {block_bits} {version}");
            }
        }
    }

    #[test]
    fn versions_start_at_their_columns() {
        // base graph 1 with Z = 16 and without filler: the buffer's position 33 Z is column 35
        let code = Code::new(BaseGraph::One, 352);
        let first = |version| select(&code, version, 4, 1)[0];
        assert_eq!([0, 1, 2, 3].map(first), [32, 19 * 16, 35 * 16, 58 * 16]);
        // base graph 2 with Z = 28: 160 bits and 120 filler bits; the buffer's position 13 Z is column 15
        let code = Code::new(BaseGraph::Two, 160);
        assert_eq!([0, 1].map(|version| select(&code, version, 4, 1)[0]), [56, 15 * 28]);
    }

    #[test]
    fn the_first_bits_of_all_symbols_are_sent_first() {
        // 8 bits in symbols of 4: e_0 e_2 e_4 e_6, e_1 e_3 e_5 e_7 from position 2 Z = 32
        let code = Code::new(BaseGraph::One, 352);
        assert_eq!(select(&code, 0, 8, 4), [32, 34, 36, 38, 33, 35, 37, 39]);
    }
}

//! Transport block sizes of NR, the base graph of their LDPC code and their code blocks.

use super::tables::{CodeRate, Scheme};
use crate::Prbs;

/// Subcarriers of a resource block.
const SUBCARRIERS: u32 = 12;

/// Resource elements of one PRB in a slot that an allocation can use for data.
//= TS 38.214 §5.1.3.2: step 1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Allocated symbols N_symb, without those of the PDCCH.
    pub symbols: u8,
    /// Resource elements of one PRB that DMRS take, N_DMRS, with the overhead of CDM groups without data. One symbol
    /// of configuration type 1 takes 6 per CDM group, one of type 2 takes 4.
    pub dmrs: u8,
    /// xOverhead N_oh for CSI-RS and the like: 0, 6, 12 or 18.
    pub other: u8,
}

impl Overhead {
    /// N'_RE, the resource elements of one PRB.
    pub fn resource_elements(self) -> u32 {
        let taken = u32::from(self.dmrs) + u32::from(self.other);
        (SUBCARRIERS * u32::from(self.symbols)).saturating_sub(taken)
    }
}

/// Resource elements of one PRB that count towards the size of a transport block, at most.
const MAX_ELEMENTS: u32 = 156;

/// Sizes up to 3824 bits.
//= TS 38.214 Table 5.1.3.2-1
const SIZES: [u32; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];

/// Size of a transport block in bits; zero without resource elements.
///
/// `layers` are the MIMO layers of the block, 1 to 4. N_info is a fraction with the denominator 2048, so the result is
/// exact.
//= TS 38.214 §5.1.3.2
pub fn size(scheme: Scheme, overhead: Overhead, prbs: Prbs, layers: u8) -> u32 {
    let elements = overhead.resource_elements().min(MAX_ELEMENTS) * u32::from(prbs.0);
    // N_info in units of 1 / 2048
    let info = u64::from(elements)
        * u64::from(scheme.rate.0)
        * u64::from(scheme.modulation.order())
        * u64::from(layers);
    if info == 0 {
        0
    } else if info <= 3824 * 2048 {
        small(info)
    } else {
        large(info, scheme.rate)
    }
}

/// The size for N_info up to 3824, in units of 1 / 2048.
fn small(info: u64) -> u32 {
    let step = u64::max(1 << 3, power_below(info).map_or(0, |power| power >> 6));
    let quantized = u64::max(24, info / (step * 2048) * step) as u32;
    SIZES[SIZES.partition_point(|size| *size < quantized)]
}

/// The size for N_info above 3824, in units of 1 / 2048.
fn large(info: u64, rate: CodeRate) -> u32 {
    let payload = info - 24 * 2048;
    let step = power_below(payload).expect("more than 3800 bits") >> 5;
    // ties are rounded up
    let quantized = u64::max(3840, (payload + step * 1024) / (step * 2048) * step) as u32;
    let blocks = if rate <= CodeRate(512) {
        (quantized + 24).div_ceil(3816)
    } else if quantized > 8424 {
        (quantized + 24).div_ceil(8424)
    } else {
        1
    };
    8 * blocks * (quantized + 24).div_ceil(8 * blocks) - 24
}

/// Bytes of a code block's CRC.
const CRC: u32 = 3;

/// Size of a transport block in bits in 5G-LENA: of each PRB and symbol, 11 resource elements carry data, at the code
/// rate in hundredths, and a CRC is subtracted for each whole code block.
// From 5G-LENA v4.0, NrEesmErrorModel::GetPayloadSize and NrAmc::CalculateTbSize, and the sizes that these returned
pub fn size_in_lena(scheme: Scheme, symbols: u8, prbs: Prbs, layers: u8) -> u32 {
    let elements = (SUBCARRIERS - 1) * u32::from(symbols) * u32::from(prbs.0);
    let rate = match scheme.rate {
        // 797 / 1024, of MCS 23 with 256QAM, is 0.77 there.
        CodeRate(1594) => 0.77,
        CodeRate(_) => (scheme.rate.ratio() * 100.0).round() / 100.0,
    };
    let bits = f64::from(elements * scheme.modulation.order()) * rate * f64::from(layers);
    let payload = (bits / 8.0) as u32;
    let largest = match base_graph(8 * payload, scheme.rate) {
        BaseGraph::One => 8448 / 8,
        BaseGraph::Two => 3840 / 8,
    };
    let whole = payload.saturating_sub(CRC) / largest;
    8 * if payload < CRC { payload } else { payload - CRC * whole.max(1) }
}

/// The highest power of two that is not above a number in units of 1 / 2048, if that is at least 1.
fn power_below(number: u64) -> Option<u64> {
    (number / 2048).checked_ilog2().map(|exponent| 1 << exponent)
}

/// A base graph of NR's LDPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseGraph {
    /// Base graph 1: rates of 1/3 and more, up to 8448 bits.
    One,
    /// Base graph 2: rates of 1/5 and more, up to 3840 bits.
    Two,
}

/// The base graph of a transport block of this many bits without CRC at this target rate.
//= TS 38.212 §7.2.2
pub fn base_graph(bits: u32, rate: CodeRate) -> BaseGraph {
    // 0.67 is 1372.16 / 2048
    if bits <= 292 || (bits <= 3824 && rate <= CodeRate(1372)) || rate <= CodeRate(512) {
        BaseGraph::Two
    } else {
        BaseGraph::One
    }
}

/// Code blocks of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Base graph of the code.
    pub graph: BaseGraph,
    /// Code blocks C.
    pub blocks: u32,
    /// Bits K' of each code block with all CRCs, without filler bits.
    pub filled: u32,
    /// Lifting size Z_c.
    pub lifting: u32,
    /// Bits K of each code block with filler bits.
    pub size: u32,
}

/// The code blocks of a transport block of this many bits without CRC, at most one of each size by [`size`].
//= TS 38.212 §5.2.2
pub fn segment(bits: u32, rate: CodeRate) -> Segmentation {
    let graph = base_graph(bits, rate);
    //= TS 38.212 §7.2.1
    let with_crc = bits + if bits > 3824 { 24 } else { 16 };
    let largest = match graph {
        BaseGraph::One => 8448,
        BaseGraph::Two => 3840,
    };
    let (blocks, total) = if with_crc <= largest {
        (1, with_crc)
    } else {
        let blocks = with_crc.div_ceil(largest - 24);
        (blocks, with_crc + blocks * 24)
    };
    let filled = total.div_ceil(blocks);
    let lifting = lifting_size(graph, with_crc, filled);
    let columns = match graph {
        BaseGraph::One => 22,
        BaseGraph::Two => 10,
    };
    Segmentation { graph, blocks, filled, lifting, size: columns * lifting }
}

/// The lifting size Z_c of code blocks with `filled` bits of a transport block with `with_crc` bits.
//= TS 38.212 §5.2.2
pub fn lifting_size(graph: BaseGraph, with_crc: u32, filled: u32) -> u32 {
    let used = match graph {
        BaseGraph::One => 22,
        BaseGraph::Two if with_crc > 640 => 10,
        BaseGraph::Two if with_crc > 560 => 9,
        BaseGraph::Two if with_crc > 192 => 8,
        BaseGraph::Two => 6,
    };
    lifting_at_least(filled.div_ceil(used))
}

/// The lifting sizes: a x 2^j up to 384.
//= TS 38.212 Table 5.3.2-1
const LIFTING_SIZES: [u32; 51] = [
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52,
    56, 60, 64, 72, 80, 88, 96, 104, 112, 120, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352,
    384,
];

/// The smallest lifting size that is at least `size`.
fn lifting_at_least(size: u32) -> u32 {
    let fitting = LIFTING_SIZES.get(LIFTING_SIZES.partition_point(|lifting| *lifting < size));
    *fitting.expect("a code block has at most 22 x 384 bits")
}

#[cfg(test)]
mod tests {
    use super::super::tables::{Modulation, Table};
    use super::*;
    use crate::Mcs;

    #[test]
    fn lifting_sizes_are_products_with_powers_of_two() {
        let products = [2, 3, 5, 7, 9, 11, 13, 15].into_iter().flat_map(|a| (0..8).map(move |j| a << j));
        let mut sizes: Vec<u32> = products.filter(|size| *size <= 384).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, LIFTING_SIZES);
        assert_eq!([1, 2, 17, 353, 384].map(lifting_at_least), [2, 2, 18, 384, 384]);
    }

    const ONE_DMRS: Overhead = Overhead { symbols: 12, dmrs: 12, other: 0 };
    const FULL: Overhead = Overhead { symbols: 12, dmrs: 0, other: 0 };

    #[test]
    fn payloads_of_the_fixed_reference_channels() {
        // TS 38.104 Tables A.1-1 (QPSK, 308 / 1024) and A.2-1 (16QAM, 658 / 1024): 12 data symbols on n PRBs
        let qpsk = Scheme { modulation: Modulation::Qpsk, rate: CodeRate(616) };
        let sizes = [25, 11, 106, 51, 24].map(|prbs| size(qpsk, FULL, Prbs(prbs), 1));
        assert_eq!(sizes, [2152, 984, 9224, 4352, 2088]);
        let qam16 = Scheme { modulation: Modulation::Qam16, rate: CodeRate(1316) };
        let sizes = [25, 11, 106].map(|prbs| size(qam16, FULL, Prbs(prbs), 1));
        assert_eq!(sizes, [9224, 4032, 38936]);
        assert_eq!([2152, 9224, 4352].map(|bits| segment(bits, CodeRate(616)).blocks), [1, 2, 1]);
        assert_eq!(segment(38936, CodeRate(1316)).blocks, 5);
    }

    #[test]
    fn a_full_carrier_by_hand() {
        // 273 x 132 x 8 x 948 / 1024 = 266889.09; less 24; step 2^(18 - 5) = 8192; 32.58 -> 33 x 8192 = 270336;
        // C = ceil(270360 / 8424) = 33; 8 x 33 x ceil(270360 / 264) - 24 = 264 x 1025 - 24
        let highest = Table::Qam256.mcs(Mcs(27)).unwrap();
        assert_eq!(size(highest, ONE_DMRS, Prbs(273), 1), 264 * 1025 - 24);
        // 106 PRBs: 103627.1 - 24; step 2^(16 - 5) = 2048; 50.59 -> 51; C = 13; 104 x 1005 - 24
        assert_eq!(size(highest, ONE_DMRS, Prbs(106), 1), 104 * 1005 - 24);
    }

    #[test]
    fn sizes_equal_those_of_srsran() {
        // table, MCS, PRBs, symbols, resource elements of DMRS, layers and size, computed with srsRAN Project's
        // tbs_calculator.cpp (commit 4bf1543936d0), which its developers compare with MATLAB's nrTBS
        let rows = [
            (Table::LowEfficiency, 1, 46, 14, 12, 2, 1128),
            (Table::LowEfficiency, 4, 71, 9, 12, 3, 3104),
            (Table::Qam64, 1, 83, 4, 12, 1, 928),
            (Table::LowEfficiency, 11, 87, 4, 24, 1, 1544),
            (Table::LowEfficiency, 1, 11, 14, 6, 4, 552),
            (Table::Qam64, 3, 35, 9, 6, 2, 3496),
            (Table::Qam256, 2, 4, 14, 24, 4, 1416),
            (Table::Qam64, 18, 51, 4, 24, 1, 3368),
            (Table::LowEfficiency, 4, 252, 9, 24, 1, 3240),
            (Table::LowEfficiency, 9, 149, 12, 12, 2, 19464),
            (Table::LowEfficiency, 6, 144, 12, 24, 3, 12040),
            (Table::LowEfficiency, 8, 121, 9, 12, 3, 13064),
            (Table::LowEfficiency, 0, 263, 12, 12, 3, 6024),
            (Table::Qam64, 4, 111, 4, 24, 4, 6400),
            (Table::LowEfficiency, 2, 143, 12, 12, 3, 5512),
            (Table::Qam64, 24, 106, 9, 24, 1, 39936),
            (Table::Qam64, 2, 181, 14, 24, 3, 29736),
            (Table::LowEfficiency, 17, 32, 9, 12, 4, 21000),
            (Table::Qam64, 21, 201, 12, 12, 1, 96264),
            (Table::Qam256, 10, 130, 12, 6, 4, 184_424),
            (Table::Qam64, 26, 211, 9, 12, 1, 104_496),
            (Table::Qam64, 18, 236, 9, 6, 2, 131_176),
            (Table::Qam256, 26, 272, 12, 12, 1, 258_144),
            (Table::Qam256, 26, 208, 9, 24, 4, 500_136),
            (Table::Qam256, 25, 273, 12, 12, 3, 753_816),
        ];
        for (table, mcs, prbs, symbols, dmrs, layers, expected) in rows {
            let scheme = table.mcs(Mcs(mcs)).unwrap();
            let found = size(scheme, Overhead { symbols, dmrs, other: 0 }, Prbs(prbs), layers);
            assert_eq!(found, expected, "{table:?} {mcs} {prbs} {symbols} {dmrs} {layers}");
        }
    }

    #[test]
    fn sizes_follow_the_text_in_floating_point() {
        // an independent evaluation of the steps of TS 38.214 §5.1.3.2
        let by_text = |elements: f64, prbs: f64, rate: f64, order: f64, layers: f64| -> f64 {
            let info = elements.min(156.0) * prbs * rate * order * layers;
            if info <= 3824.0 {
                let step = 2f64.powf(f64::max(3.0, info.log2().floor() - 6.0));
                let quantized = f64::max(24.0, step * (info / step).floor());
                f64::from(*SIZES.iter().find(|size| f64::from(**size) >= quantized).unwrap())
            } else {
                let step = 2f64.powf((info - 24.0).log2().floor() - 5.0);
                let quantized = f64::max(3840.0, step * ((info - 24.0) / step).round());
                let blocks = if rate <= 0.25 {
                    ((quantized + 24.0) / 3816.0).ceil()
                } else if quantized > 8424.0 {
                    ((quantized + 24.0) / 8424.0).ceil()
                } else {
                    1.0
                };
                8.0 * blocks * ((quantized + 24.0) / (8.0 * blocks)).ceil() - 24.0
            }
        };
        for table in Table::ALL {
            for scheme in (0..=table.highest().0).map(|mcs| table.mcs(Mcs(mcs)).unwrap()) {
                for prbs in (1..=275).step_by(3) {
                    for symbols in [1, 4, 12, 14] {
                        for layers in 1..=4 {
                            let overhead = Overhead { symbols, dmrs: 6, other: 0 };
                            let (rate, order) = (scheme.rate.ratio(), scheme.modulation.order());
                            let found = size(scheme, overhead, Prbs(prbs), layers);
                            let elements = f64::from(overhead.resource_elements());
                            let expected =
                                by_text(elements, f64::from(prbs), rate, f64::from(order), f64::from(layers));
                            assert_eq!(f64::from(found), expected, "{scheme:?} {prbs} {symbols} {layers}");
                            assert_eq!(found % 8, 0);
                        }
                    }
                }
            }
        }
        assert_eq!(size(Table::Qam64.mcs(Mcs(0)).unwrap(), ONE_DMRS, Prbs(0), 1), 0);
    }

    #[test]
    fn sizes_in_lena_are_those_that_it_returned() {
        // returned by NrAmc::CalculateTbSize of 5G-LENA v4.0
        for (table, mcs, prbs, symbols, bytes) in [
            (Table::Qam256, 27, 106, 12, 12976),
            (Table::Qam256, 27, 273, 12, 33420),
            (Table::Qam256, 27, 273, 13, 36204),
            (Table::Qam256, 27, 1, 13, 129),
            (Table::Qam256, 23, 51, 13, 5600),
            (Table::Qam256, 5, 1, 13, 23),
            (Table::Qam64, 28, 106, 12, 9732),
            (Table::Qam64, 0, 106, 12, 416),
            (Table::Qam64, 0, 1, 6, 1),
            (Table::Qam64, 0, 1, 1, 0),
        ] {
            let scheme = table.mcs(Mcs(mcs)).unwrap();
            let found = size_in_lena(scheme, symbols, Prbs(prbs), 1);
            assert_eq!(found, 8 * bytes, "{table:?} {mcs} {prbs} {symbols}");
        }
    }

    #[test]
    fn code_blocks_of_a_transport_block_are_equal_and_whole() {
        // the purpose of step 4: all code blocks have the same number of bits
        for table in Table::ALL {
            for scheme in (0..=table.highest().0).map(|mcs| table.mcs(Mcs(mcs)).unwrap()) {
                for prbs in 1..=273 {
                    let bits = size(scheme, ONE_DMRS, Prbs(prbs), 1);
                    let cut = segment(bits, scheme.rate);
                    let crcs = if bits > 3824 { 24 } else { 16 };
                    let crcs = crcs + if cut.blocks > 1 { 24 * cut.blocks } else { 0 };
                    assert_eq!(cut.blocks * cut.filled, bits + crcs, "{scheme:?} {prbs}");
                    assert!(cut.filled <= cut.size && cut.lifting <= 384);
                }
            }
        }
    }

    #[test]
    fn base_graphs_at_their_bounds() {
        use BaseGraph::{One, Two};
        for (bits, rate, graph) in [
            (292, 1896, Two),
            (296, 1896, One),
            (3824, 1372, Two),
            (3824, 1373, One),
            (3840, 1372, One),
            (100_000, 512, Two),
            (100_000, 513, One),
        ] {
            assert_eq!(base_graph(bits, CodeRate(rate)), graph, "{bits} {rate}");
        }
        // 8424 + 24 = 8448 = 22 x 384: the largest code block; 24 + 16 = 40 <= 6 x 7: Z_c = 7
        assert_eq!(segment(8424, CodeRate(1896)).lifting, 384);
        assert_eq!(
            segment(24, CodeRate(616)),
            Segmentation { graph: Two, blocks: 1, filled: 40, lifting: 7, size: 70 }
        );
    }
}

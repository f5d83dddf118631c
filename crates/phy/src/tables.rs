//! Tables of TS 36.213 and TS 36.212 for link adaptation.

use super::{Cqi, Mcs, Prbs, Scheme};
use airwnd_catalog::Choice;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Hertz};

/// Maximum resource allocation with a transport block size.
pub const MAX_PRBS: Prbs = Prbs(110);

/// A modulation of the shared channels of LTE and NR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// Two bits per symbol.
    #[default]
    Qpsk,
    /// Four bits per symbol.
    Qam16,
    /// Six bits per symbol.
    Qam64,
    /// Eight bits per symbol.
    Qam256,
}

impl Modulation {
    /// All modulations, most robust first.
    pub const ALL: [Modulation; 4] =
        [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256];

    /// Q_m, the coded bits per symbol.
    pub const fn order(self) -> u32 {
        match self {
            Modulation::Qpsk => 2,
            Modulation::Qam16 => 4,
            Modulation::Qam64 => 6,
            Modulation::Qam256 => 8,
        }
    }
}

/// TS 36.213 Table 7.1.7.2.1-1, in bits. The entry (1 PRB, I_TBS 6) is the standard's 328, not ns-3's 88.
const TRANSPORT_BLOCK_BITS: [[u32; 34]; 110] = rows(include_str!("../data/transport_block_bits.csv"));

/// Bits of a codeword on one layer, and of the same on two.
const TWO_LAYER_BITS: [[u32; 2]; 120] = rows(include_str!("../data/two_layer_block_bits.csv"));

/// Downlink Q_m and I_TBS, uplink Q_m and I_TBS, efficiency in hundredths of a bit per symbol.
const MCS: [[u32; 5]; 29] = rows(include_str!("../data/mcs.csv"));

/// Downlink Q_m and I_TBS, efficiency in hundredths of a bit per symbol.
const MCS_256QAM: [[u32; 3]; 28] = rows(include_str!("../data/mcs_256qam.csv"));

/// Efficiency of each CQI in hundredths of a bit per symbol: TS 36.213 Table 7.2.3-1 rounded as in R1-081483,
/// so that a CQI and its MCS have the same number.
const CQI_EFFICIENCY: [u32; 16] = [0, 15, 23, 38, 60, 88, 118, 148, 191, 241, 273, 332, 390, 452, 512, 555];

/// Efficiency of each CQI of TS 36.213 Table 7.2.3-2.
const CQI_EFFICIENCY_256QAM: [u32; 16] =
    [0, 15, 38, 88, 148, 191, 241, 273, 332, 390, 452, 512, 555, 623, 691, 741];

/// Parses whole numbers separated by commas and line ends; lines that begin with '#' are comments.
const fn rows<const COLUMNS: usize, const ROWS: usize>(csv: &str) -> [[u32; COLUMNS]; ROWS] {
    let text = csv.as_bytes();
    let mut table = [[0; COLUMNS]; ROWS];
    let (mut at, mut row, mut column) = (0, 0, 0);
    while at < text.len() {
        match text[at] {
            b'#' => {
                while text[at] != b'\n' {
                    at += 1;
                }
            }
            b',' => column += 1,
            b'\n' => {
                assert!(column + 1 == COLUMNS, "a row has a value for every column");
                (row, column) = (row + 1, 0);
            }
            digit => table[row][column] = table[row][column] * 10 + (digit - b'0') as u32,
        }
        at += 1;
    }
    assert!(row == ROWS, "the table has all its rows");
    table
}

/// MCS and CQI tables of the downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum McsTable {
    /// Up to 64QAM.
    #[word = "64qam"]
    Qam64,
    /// Up to 256QAM, with half as many MCSs and CQIs in QPSK.
    #[word = "256qam"]
    Qam256,
}

impl McsTable {
    /// Modulation, I_TBS and efficiency in hundredths of a bit per symbol.
    //= TS 36.213 Table 7.1.7.1-1
    //= TS 36.213 Table 7.1.7.1-1A
    fn row(self, mcs: Mcs) -> (Modulation, u8, u32) {
        let place = usize::from(mcs.0);
        let (order, index, efficiency) = match self {
            McsTable::Qam64 => (MCS[place][0], MCS[place][1], MCS[place][4]),
            McsTable::Qam256 => MCS_256QAM[place].into(),
        };
        (modulation_of(order), index as u8, efficiency)
    }

    /// The MCSs with a transport block size, lowest first.
    pub fn mcss(self) -> impl Iterator<Item = Mcs> + Clone {
        let count = match self {
            McsTable::Qam64 => MCS.len(),
            McsTable::Qam256 => MCS_256QAM.len(),
        };
        (0..count as u8).map(Mcs)
    }

    /// Modulation and nominal code rate of an MCS: efficiency / Q_m.
    //= exception nominal-code-rate
    pub fn scheme(self, mcs: Mcs) -> Scheme {
        let (modulation, _, efficiency) = self.row(mcs);
        Scheme { modulation, rate: f64::from(efficiency) / 100.0 / f64::from(modulation.order()) }
    }

    /// Size of a block on `prbs` resource blocks of one to four layers: the sum of its codewords.
    ///
    /// Panics above 110 blocks.
    //= TS 36.211 Table 6.3.3.2-1
    pub fn block(self, mcs: Mcs, prbs: Prbs, layers: u8) -> Bytes {
        let index = self.row(mcs).1;
        let bits = match layers {
            1 => one_layer_bits(index, prbs),
            2 => 2 * one_layer_bits(index, prbs),
            3 => one_layer_bits(index, prbs) + two_layer_bits(index, prbs),
            4 => 2 * two_layer_bits(index, prbs),
            _ => panic!("{layers} layers: a block has one to four"),
        };
        Bytes(u64::from(bits / 8))
    }

    /// Information bits per modulation symbol at a CQI, two decimals.
    pub fn cqi_efficiency(self, cqi: Cqi) -> f64 {
        f64::from(self.cqi_efficiency_x100(cqi)) / 100.0
    }

    fn cqi_efficiency_x100(self, cqi: Cqi) -> u32 {
        let efficiencies = match self {
            McsTable::Qam64 => &CQI_EFFICIENCY,
            McsTable::Qam256 => &CQI_EFFICIENCY_256QAM,
        };
        efficiencies[usize::from(cqi.0)]
    }

    /// The highest MCS that is not more efficient than the CQI; MCS 0 for CQI 0.
    pub fn mcs_of(self, cqi: Cqi) -> Mcs {
        let within = |mcs: &Mcs| self.row(*mcs).2 <= self.cqi_efficiency_x100(cqi);
        self.mcss().take_while(within).last().unwrap_or(Mcs(0))
    }

    /// The highest CQI that is less efficient than an MCS; CQI 0 if there is none.
    pub fn cqi_below(self, mcs: Mcs) -> Cqi {
        let efficiency = self.row(mcs).2;
        let below = (1..=Cqi::MAX.0).map(Cqi).take_while(|cqi| self.cqi_efficiency_x100(*cqi) < efficiency);
        below.last().unwrap_or(Cqi::OUT_OF_RANGE)
    }
}

/// The modulation with these bits per symbol.
fn modulation_of(order: u32) -> Modulation {
    let found = Modulation::ALL.into_iter().find(|modulation| modulation.order() == order);
    found.expect("the tables have known modulations")
}

/// Bits of a codeword on one layer; zero on no resource blocks.
//= TS 36.213 §7.1.7.2.1
fn one_layer_bits(index: u8, prbs: Prbs) -> u32 {
    match prbs.0 {
        0 => 0,
        prbs => TRANSPORT_BLOCK_BITS[usize::from(prbs) - 1][usize::from(index)],
    }
}

/// Bits of a codeword on two layers.
//= TS 36.213 §7.1.7.2.2
fn two_layer_bits(index: u8, prbs: Prbs) -> u32 {
    if 2 * prbs.0 <= MAX_PRBS.0 {
        return one_layer_bits(index, Prbs(2 * prbs.0));
    }
    let one = one_layer_bits(index, prbs);
    let place = TWO_LAYER_BITS.binary_search_by_key(&one, |[one, _]| *one);
    TWO_LAYER_BITS[place.expect("the table has all sizes above 55 resource blocks")][1]
}

/// The modulation of an MCS up to 64QAM.
///
/// Panics above MCS 28: 29 to 31 only mark retransmissions.
pub fn modulation(direction: Direction, mcs: Mcs) -> Modulation {
    match direction {
        Direction::Down => McsTable::Qam64.row(mcs).0,
        Direction::Up => modulation_of(MCS[usize::from(mcs.0)][2]),
    }
}

/// The row I_TBS of the transport block size table for an MCS up to 64QAM.
pub fn tbs_index(direction: Direction, mcs: Mcs) -> u8 {
    match direction {
        Direction::Down => McsTable::Qam64.row(mcs).1,
        Direction::Up => MCS[usize::from(mcs.0)][3] as u8,
    }
}

/// The transport block size of an MCS up to 64QAM on `prbs` blocks in one TTI; zero on no blocks.
///
/// Panics above 110 blocks.
pub fn transport_block(direction: Direction, mcs: Mcs, prbs: Prbs) -> Bytes {
    Bytes(u64::from(one_layer_bits(tbs_index(direction, mcs), prbs) / 8))
}

/// Information bits per modulation symbol of an MCS up to 64QAM (R1-081483, two decimals).
pub fn mcs_efficiency(mcs: Mcs) -> f64 {
    f64::from(McsTable::Qam64.row(mcs).2) / 100.0
}

/// The nominal code rate of an MCS up to 64QAM in the downlink.
pub fn code_rate(mcs: Mcs) -> f64 {
    scheme(mcs).rate
}

/// Modulation and nominal code rate of an MCS up to 64QAM, in the downlink.
//= exception uplink-modulation
pub fn scheme(mcs: Mcs) -> Scheme {
    McsTable::Qam64.scheme(mcs)
}

/// The highest MCS up to 64QAM that is not more efficient than the CQI; MCS 0 for CQI 0.
pub fn mcs_of(cqi: Cqi) -> Mcs {
    McsTable::Qam64.mcs_of(cqi)
}

/// The resource-block group size P of allocation type 0 (TS 36.213 Table 7.1.6.1-1).
pub fn rbg_size(bandwidth: Prbs) -> Prbs {
    Prbs(match bandwidth.0 {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    })
}

/// The transmission bandwidth N_RB of a channel bandwidth (TS 36.101 Table 5.6-1); `None` if it is not an LTE
/// bandwidth.
pub fn transmission_bandwidth(channel: Hertz) -> Option<Prbs> {
    let known = [(1.4e6, 6), (3e6, 15), (5e6, 25), (10e6, 50), (15e6, 75), (20e6, 100)];
    known.iter().find(|(hertz, _)| *hertz == channel.0).map(|(_, blocks)| Prbs(*blocks))
}

/// The largest turbo code block (TS 36.212 Table 5.1.3-3).
pub const MAX_CODE_BLOCK: u32 = 6144;
/// The smallest turbo code block.
pub const MIN_CODE_BLOCK: u32 = 40;

/// The step to the next size in TS 36.212 Table 5.1.3-3 for sizes up to and including this one.
fn code_block_step(size: u32) -> u32 {
    match size {
        0..=512 => 8,
        513..=1024 => 16,
        1025..=2048 => 32,
        _ => 64,
    }
}

/// The smallest turbo code block that holds `bits`, at most 6144 (TS 36.212 Table 5.1.3-3).
pub fn code_block_at_least(bits: u32) -> u32 {
    assert!(bits <= MAX_CODE_BLOCK, "{bits} bits need more than one code block");
    bits.next_multiple_of(code_block_step(bits)).max(MIN_CODE_BLOCK)
}

/// The next smaller turbo code block, if there is one.
pub fn code_block_below(size: u32) -> Option<u32> {
    (size > MIN_CODE_BLOCK).then(|| size - code_block_step(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model::segment::segment;

    #[test]
    fn transport_blocks_of_known_entries() {
        // MCS 28 is I_TBS 26; 48 PRB carry 35160 bits
        assert_eq!(transport_block(Direction::Down, Mcs(28), Prbs(48)), Bytes(35160 / 8));
        assert_eq!(transport_block(Direction::Down, Mcs(28), Prbs(100)), Bytes(75376 / 8));
        assert_eq!(transport_block(Direction::Down, Mcs(0), Prbs(1)), Bytes(2));
        assert_eq!(transport_block(Direction::Down, Mcs(6), Prbs(1)), Bytes(328 / 8));
        assert_eq!(transport_block(Direction::Down, Mcs(6), Prbs(0)), Bytes(0));
        // the uplink reaches 64QAM later, so its MCS 17 is one row further
        assert_eq!(tbs_index(Direction::Up, Mcs(17)), 16);
        assert_eq!(tbs_index(Direction::Down, Mcs(17)), 15);
    }

    #[test]
    fn transport_blocks_grow_with_blocks_and_with_the_index_and_are_whole_bytes() {
        for (n, row) in TRANSPORT_BLOCK_BITS.iter().enumerate() {
            for (index, bits) in row.iter().enumerate() {
                assert_eq!(bits % 8, 0);
                let exception = (n, index) == (0, 6);
                assert!(n + 1 == 110 || exception || TRANSPORT_BLOCK_BITS[n + 1][index] >= *bits);
                // I_TBS 26 exceeds its efficiency; 256QAM has 25, 27 and so on
                let next = if index == 25 { 27 } else { index + 1 };
                assert!(next == 34 || index == 26 || exception || row[next] >= *bits);
                assert!(index != 25 || row[26] >= *bits);
            }
        }
    }

    /// TS 36.306 Table 4.1-1: most bits of a codeword of categories 3 and 4, of a TTI of 4 and of 5; of a codeword with
    /// 256QAM of categories 11 and 12 on one layer and on two.
    #[test]
    fn peak_rates_are_those_of_the_ue_categories() {
        let bits = |table: McsTable, layers| {
            let highest = table.mcss().last().unwrap();
            table.block(highest, Prbs(100), layers).bits()
        };
        assert_eq!([1, 2, 4].map(|layers| bits(McsTable::Qam64, layers)), [75_376, 150_752, 299_552]);
        assert_eq!([1, 2, 4].map(|layers| bits(McsTable::Qam256, layers)), [97_896, 2 * 97_896, 2 * 195_816]);
    }

    #[test]
    fn blocks_on_layers_are_the_sums_of_their_codewords() {
        for table in [McsTable::Qam64, McsTable::Qam256] {
            for (mcs, prbs) in table.mcss().flat_map(|mcs| (0..=110).map(move |prbs| (mcs, Prbs(prbs)))) {
                let [one, two, three, four] =
                    [1, 2, 3, 4].map(|layers| table.block(mcs, prbs, layers).bits());
                assert_eq!((two, 2 * three), (2 * one, 2 * one + four), "{mcs:?} {prbs:?}");
                // from 56 PRBs on by translation, the nearest size
                let off = (four as f64 / (4 * one) as f64 - 1.0).abs();
                assert!(prbs < Prbs(56) || off < 0.02, "{mcs:?} {prbs:?}: {four} of {one}");
            }
        }
        // 55 PRBs on two layers are 110 on one
        let four = McsTable::Qam64.block(Mcs(28), Prbs(55), 4);
        assert_eq!(four, Bytes(2 * 75_376 / 8));
    }

    /// Sizes of two layers are the multiples of a code block size less their CRCs that are nearest to twice that of one
    /// layer; code blocks have no filler bits (TS 36.212 §5.1.2).
    #[test]
    fn sizes_of_two_layers_fill_their_code_blocks() {
        let filled = |bits: u32| {
            let [(count, size), (smaller, _)] = segment(Bytes(u64::from(bits / 8)));
            let crcs = if count + smaller > 1 { count * 24 } else { 0 };
            smaller == 0 && bits + 24 + crcs == count * size
        };
        for [one, two] in TWO_LAYER_BITS {
            assert!(filled(one) && filled(two), "{one} {two}");
            assert!((f64::from(two) / f64::from(2 * one) - 1.0).abs() < 0.02, "{one} {two}");
        }
        assert!(TWO_LAYER_BITS.is_sorted());
        let rows = TRANSPORT_BLOCK_BITS.iter().flatten();
        assert!(rows.clone().all(|bits| filled(*bits)));
        let wide: std::collections::BTreeSet<u32> =
            TRANSPORT_BLOCK_BITS[55..].iter().flatten().copied().collect();
        assert!(TWO_LAYER_BITS.iter().map(|[one, _]| *one).eq(wide));
    }

    /// I_TBS 27 to 32 carry their efficiency on 120 resource elements per PRB, I_TBS 33 on 136.
    #[test]
    fn sizes_of_256qam_follow_from_their_efficiency() {
        for mcs in (21..=27).map(Mcs) {
            let (modulation, index, efficiency) = McsTable::Qam256.row(mcs);
            assert_eq!((modulation, u32::from(index)), (Modulation::Qam256, u32::from(mcs.0) + 6));
            let (elements, max) = if mcs == Mcs(27) { (136.0, 0.05) } else { (120.0, 0.03) };
            for prbs in (10..=100).map(Prbs) {
                let bits = elements * f64::from(prbs.0) * f64::from(efficiency) / 100.0;
                let off = McsTable::Qam256.block(mcs, prbs, 1).bits() as f64 / bits - 1.0;
                assert!(off.abs() < max, "{mcs:?} {prbs:?}: {off}");
            }
        }
    }

    /// LTE's tables with 256QAM and NR's have the same modulations, CQIs and, from 64QAM on, MCSs.
    #[test]
    fn tables_with_256qam_are_those_of_nr() {
        let nr = crate::nr::tables::Table::Qam256;
        for mcs in McsTable::Qam256.mcss() {
            let (ours, theirs) = (McsTable::Qam256.scheme(mcs), nr.mcs(mcs).unwrap());
            assert_eq!(ours.modulation, theirs.modulation);
            let off = ours.efficiency() / theirs.efficiency() - 1.0;
            assert!(ours.modulation < Modulation::Qam64 || off.abs() < 0.005, "{mcs:?}: {off}");
        }
        assert_eq!(nr.mcs(Mcs(28)), None);
        for cqi in (1..=15).map(Cqi) {
            let off = McsTable::Qam256.cqi_efficiency(cqi) - nr.cqi(cqi).unwrap().efficiency();
            assert!(off.abs() < 0.006, "{cqi:?}: {off}");
        }
    }

    #[test]
    fn every_second_mcs_belongs_to_a_cqi() {
        // R1-081483 places MCS 2 (i - 1) at CQI i and the odd ones between; with 256QAM three CQIs less are in QPSK
        for cqi in (1..=15).map(Cqi) {
            let mcs = McsTable::Qam64.mcs_of(cqi);
            assert_eq!(mcs, Mcs(2 * (cqi.0 - 1)));
            assert_eq!(mcs_efficiency(mcs), McsTable::Qam64.cqi_efficiency(cqi));
            let mcs = McsTable::Qam256.mcs_of(cqi);
            let expected = if cqi.0 < 7 { 2 * (cqi.0 - 1) } else { 2 * cqi.0 - 3 };
            assert_eq!(mcs, Mcs(expected));
            assert!(
                (McsTable::Qam256.scheme(mcs).efficiency() - McsTable::Qam256.cqi_efficiency(cqi)).abs()
                    < 1e-9
            );
        }
        assert_eq!((mcs_of(Cqi(0)), McsTable::Qam256.mcs_of(Cqi(0))), (Mcs(0), Mcs(0)));
    }

    #[test]
    fn a_cqi_must_be_exceeded() {
        // 0.15 bit of CQI 1
        assert_eq!(McsTable::Qam64.cqi_below(Mcs(0)), Cqi(0));
        assert_eq!(McsTable::Qam64.cqi_below(Mcs(1)), Cqi(1));
        assert_eq!(McsTable::Qam64.cqi_below(Mcs(15)), Cqi(8));
        assert_eq!(McsTable::Qam256.cqi_below(Mcs(27)), Cqi(14));
    }

    #[test]
    fn modulations_and_code_rates_of_mcs() {
        let orders: Vec<u32> = Mcs::all().map(|mcs| modulation(Direction::Down, mcs).order()).collect();
        assert_eq!(orders, [vec![2; 10], vec![4; 7], vec![6; 12]].concat());
        let orders: Vec<u32> = Mcs::all().map(|mcs| modulation(Direction::Up, mcs).order()).collect();
        assert_eq!(orders, [vec![2; 11], vec![4; 10], vec![6; 8]].concat());
        // 5.55 bit / 6 bit
        assert!((code_rate(Mcs(28)) - 0.925).abs() < 1e-12);
        assert!(Mcs::all().all(|mcs| (0.07..0.93).contains(&code_rate(mcs))));
    }

    #[test]
    fn there_are_188_code_block_sizes() {
        let mut sizes = vec![MIN_CODE_BLOCK];
        while let Some(last) = sizes.last().copied().filter(|last| *last < MAX_CODE_BLOCK) {
            sizes.push(code_block_at_least(last + 1));
        }
        assert_eq!(sizes.len(), 188);
        assert!(sizes.windows(2).all(|pair| code_block_below(pair[1]) == Some(pair[0])));
        assert_eq!(code_block_below(40), None);
        assert_eq!(
            (code_block_at_least(1), code_block_at_least(513), code_block_at_least(6144)),
            (40, 528, 6144)
        );
    }

    #[test]
    fn bandwidths_have_their_rbg_sizes() {
        let sizes: Vec<u16> = [6, 15, 25, 50, 75, 100].map(|n| rbg_size(Prbs(n)).0).to_vec();
        assert_eq!(sizes, [1, 2, 2, 3, 4, 4]);
        assert_eq!(transmission_bandwidth(Hertz(10e6)), Some(Prbs(50)));
        assert_eq!(transmission_bandwidth(Hertz(7e6)), None);
    }
}

//! Tables of TS 36.213 and TS 36.212 for link adaptation.

use super::{Cqi, Mcs, Prbs, Scheme};
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
    /// Eight bits per symbol; in airwnd of NR only.
    Qam256,
}

impl Modulation {
    /// LTE's modulations, most robust first.
    pub const LTE: [Modulation; 3] = [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64];

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
const TRANSPORT_BLOCK_BITS: [[u32; 27]; 110] = rows(include_str!("../../data/transport_block_bits.csv"));

/// Downlink Q_m and I_TBS, uplink Q_m and I_TBS, efficiency in hundredths of a bit per symbol.
const MCS: [[u32; 5]; 29] = rows(include_str!("../../data/mcs.csv"));

/// Efficiency of each CQI in hundredths of a bit per symbol: TS 36.213 Table 7.2.3-1 rounded as in R1-081483,
/// so that a CQI and its MCS have the same number.
const CQI_EFFICIENCY: [u32; 16] = [0, 15, 23, 38, 60, 88, 118, 148, 191, 241, 273, 332, 390, 452, 512, 555];

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

/// The modulation of an MCS.
///
/// Panics above MCS 28: 29 to 31 only mark retransmissions.
pub fn modulation(direction: Direction, mcs: Mcs) -> Modulation {
    let [downlink, _, uplink, _, _] = MCS[usize::from(mcs.0)];
    match (direction, downlink, uplink) {
        (Direction::Down, 2, _) | (Direction::Up, _, 2) => Modulation::Qpsk,
        (Direction::Down, 4, _) | (Direction::Up, _, 4) => Modulation::Qam16,
        _ => Modulation::Qam64,
    }
}

/// The row I_TBS of the transport block size table for an MCS.
pub fn tbs_index(direction: Direction, mcs: Mcs) -> u8 {
    let [_, downlink, _, uplink, _] = MCS[usize::from(mcs.0)];
    match direction {
        Direction::Down => downlink as u8,
        Direction::Up => uplink as u8,
    }
}

/// The transport block size of an MCS on `prbs` blocks in one TTI; zero on no blocks.
///
/// Panics above 110 blocks.
pub fn transport_block(direction: Direction, mcs: Mcs, prbs: Prbs) -> Bytes {
    if prbs == Prbs(0) {
        return Bytes::ZERO;
    }
    let bits = TRANSPORT_BLOCK_BITS[usize::from(prbs.0) - 1][usize::from(tbs_index(direction, mcs))];
    Bytes(u64::from(bits / 8))
}

/// Information bits per modulation symbol of an MCS (R1-081483, two decimals).
pub fn mcs_efficiency(mcs: Mcs) -> f64 {
    f64::from(mcs_efficiency_x100(mcs)) / 100.0
}

/// Information bits per modulation symbol at a CQI (TS 36.213 Table 7.2.3-1, two decimals).
pub fn cqi_efficiency(cqi: Cqi) -> f64 {
    f64::from(CQI_EFFICIENCY[usize::from(cqi.0)]) / 100.0
}

/// The nominal code rate of an MCS in the downlink: efficiency / Q_m.
//= exception nominal-code-rate
pub fn code_rate(mcs: Mcs) -> f64 {
    mcs_efficiency(mcs) / f64::from(modulation(Direction::Down, mcs).order())
}

/// Modulation and nominal code rate of an MCS, in the downlink.
//= exception uplink-modulation
pub fn scheme(mcs: Mcs) -> Scheme {
    Scheme { modulation: modulation(Direction::Down, mcs), rate: code_rate(mcs) }
}

/// The highest CQI that is less efficient than `efficiency`; CQI 0 if there is none.
pub fn cqi_below(efficiency: f64) -> Cqi {
    let below = (1..=Cqi::MAX.0).map(Cqi).take_while(|cqi| cqi_efficiency(*cqi) < efficiency);
    below.last().unwrap_or(Cqi::OUT_OF_RANGE)
}

/// The highest MCS that is not more efficient than the CQI; MCS 0 for CQI 0.
pub fn mcs_of(cqi: Cqi) -> Mcs {
    let within = |mcs: &Mcs| mcs_efficiency_x100(*mcs) <= CQI_EFFICIENCY[usize::from(cqi.0)];
    Mcs::all().take_while(within).last().unwrap_or(Mcs(0))
}

fn mcs_efficiency_x100(mcs: Mcs) -> u32 {
    MCS[usize::from(mcs.0)][4]
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
                assert!(index == 26 || exception || row[index + 1] >= *bits);
            }
        }
    }

    #[test]
    fn every_second_mcs_belongs_to_a_cqi() {
        // R1-081483 places MCS 2 (i - 1) at CQI i and the odd ones between
        for cqi in 1..=15 {
            assert_eq!(mcs_of(Cqi(cqi)), Mcs(2 * (cqi - 1)));
            assert_eq!(mcs_efficiency(mcs_of(Cqi(cqi))), cqi_efficiency(Cqi(cqi)));
        }
        assert_eq!(mcs_of(Cqi(0)), Mcs(0));
    }

    #[test]
    fn a_cqi_must_be_exceeded() {
        assert_eq!(cqi_below(0.15), Cqi(0));
        assert_eq!(cqi_below(0.1501), Cqi(1));
        assert_eq!(cqi_below(mcs_efficiency(Mcs(15))), Cqi(8));
        assert_eq!(cqi_below(100.0), Cqi(15));
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

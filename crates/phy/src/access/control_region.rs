//! The control channel elements (CCEs) of a slot, and the places in which a UE looks for its PDCCHs.

use crate::Prbs;
use airwnd_units::{Db, SlotClock, Tti};

/// D of the hash functions of both standards.
const MODULUS: u32 = 65_537;
/// Milliseconds of a radio frame.
const FRAME: u64 = 10;
/// The first C-RNTI of a cell.
//= TS 36.321 §7.1: below are those of random access
const FIRST_RNTI: u32 = 0x3d;

/// Aggregation level of a PDCCH: it has 1, 2, 4, 8 or 16 CCEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Gain over 8 CCEs.
    // The same bits in half as many resource elements. The loss of the higher code rate at one CCE is left out.
    pub fn gain(self) -> Db {
        Db::from_linear(f64::from(self.cces()) / f64::from(Level::OF_8.cces()))
    }

    /// The level with 8 CCEs, which all PDCCHs have if their number is not limited.
    pub const OF_8: Level = Level(3);

    /// All levels, lowest first.
    pub fn all() -> impl Iterator<Item = Level> {
        (0..5).map(Level)
    }

    /// Number of CCEs.
    pub fn cces(self) -> u16 {
        1 << self.0
    }

    /// Its index among all levels.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// The control region of a slot with its search spaces.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlRegion {
    /// Number of CCEs.
    pub cces: u16,
    /// Candidates of a UE by aggregation level; zero for levels that do not exist.
    candidates: [u16; 5],
    /// Whether the candidates of a UE are spread over the CCEs; otherwise they follow one another.
    spreads: bool,
    /// A^(k + 1) mod D, by slot k of a radio frame.
    powers: Vec<u32>,
}

impl ControlRegion {
    /// The REGs of LTE in a control region of this many symbols, with four or fewer ports of reference signals.
    //= TS 36.211 §6.2.4
    //= TS 36.211 §6.7.4: PCFICH
    //= TS 36.211 §6.9: PHICH, with N_g = 1
    pub fn lte(Prbs(prbs): Prbs, symbols: u8, ports: u8) -> ControlRegion {
        // The first symbol has the reference signals of two ports at least, the second one those of the other two.
        let of_symbol = |symbol| if symbol == 0 || symbol == 1 && ports > 2 { 2 } else { 3 };
        let all = (0..symbols).map(of_symbol).sum::<u16>() * prbs;
        let (pcfich, phich) = (4, 3 * prbs.div_ceil(8));
        //= TS 36.211 §6.8.1
        let cces = (all - pcfich - phich) / 9;
        //= TS 36.213 §9.1.1
        ControlRegion::new(cces, [6, 6, 2, 2, 0], false, 39_827, SlotClock::LTE)
    }

    /// A CORESET of NR over the carrier, with this many symbols.
    //= TS 38.211 §7.3.2.2: groups of six PRBs, and six REGs of one PRB and symbol in a CCE
    //= TS 38.213 §10.1
    pub fn nr(Prbs(prbs): Prbs, symbols: u8, clock: SlotClock) -> ControlRegion {
        // A choice, with two sizes of DCI within Table 10.1-2: 44 and 36, or 22 and 20 candidates.
        let candidates = if clock.per_millisecond() > 2 { [3, 3, 2, 1, 1] } else { [6, 6, 2, 2, 1] };
        // A_p of a CORESET p = 1
        ControlRegion::new(prbs / 6 * u16::from(symbols), candidates, true, 39_829, clock)
    }

    fn new(cces: u16, candidates: [u16; 5], spreads: bool, factor: u32, clock: SlotClock) -> ControlRegion {
        let slots = (FRAME * clock.per_millisecond()) as usize;
        let next = |power: &u32| Some((u64::from(*power) * u64::from(factor) % u64::from(MODULUS)) as u32);
        ControlRegion {
            cces,
            candidates,
            spreads,
            powers: std::iter::successors(Some(factor), next).take(slots).collect(),
        }
    }

    /// The aggregation levels that fit into it, lowest first.
    pub fn levels(&self) -> impl Iterator<Item = Level> + '_ {
        Level::all().filter(|level| level.cces() <= self.cces && self.candidates[level.index()] > 0)
    }

    /// The first CCEs of the candidates of the UE in a slot of the cell, at a level that exists.
    //= TS 36.213 §9.1.1
    //= TS 38.213 §10.1
    pub fn search_space(&self, tti: Tti, slot: u16, level: Level) -> impl Iterator<Item = u16> + '_ {
        let power = self.powers[(tti.0 % self.powers.len() as u64) as usize];
        let hash = (u64::from(power) * u64::from(FIRST_RNTI + u32::from(slot)) % u64::from(MODULUS)) as u32;
        let (size, count) = (level.cces(), self.candidates[level.index()]);
        let places = u32::from(self.cces / size);
        (0..count).map(move |candidate| {
            let step = if self.spreads { candidate * self.cces / (size * count) } else { candidate };
            size * ((hash + u32::from(step)) % places) as u16
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lte_has_the_cces_that_other_channels_leave() {
        // 50 x 2 - 4 - 3 x 7 = 75 REGs, 8 x 9 = 72
        let cces = |prbs, symbols, ports| ControlRegion::lte(Prbs(prbs), symbols, ports).cces;
        assert_eq!([1, 2, 3].map(|symbols| cces(50, symbols, 1)), [8, 25, 41]);
        assert_eq!([1, 2, 3].map(|symbols| cces(100, symbols, 2)), [17, 50, 84]);
        // 6 x (2 + 3 + 3 + 3) - 4 - 3 = 59
        assert_eq!([2, 3, 4].map(|symbols| cces(6, symbols, 2)), [2, 4, 6]);
        // Ports 2 and 3 take one REG of each PRB in the second symbol: 100 x (2 + 2) - 4 - 39 = 357
        assert_eq!([1, 2].map(|symbols| cces(100, symbols, 4)), [17, 39]);
    }

    #[test]
    fn nr_has_a_cce_for_six_prbs_and_a_symbol() {
        let cces = |prbs, symbols| ControlRegion::nr(Prbs(prbs), symbols, SlotClock::of_numerology(1)).cces;
        assert_eq!([cces(51, 1), cces(51, 2), cces(106, 1), cces(273, 3)], [8, 16, 17, 135]);
        let region = ControlRegion::nr(Prbs(51), 1, SlotClock::of_numerology(1));
        assert_eq!(region.levels().map(Level::cces).collect::<Vec<_>>(), [1, 2, 4, 8]);
    }

    /// Y follows the recursion of the standards from slot to slot.
    #[test]
    fn search_spaces_are_those_of_the_standards() {
        for (numerology, is_nr) in [(0, false), (0, true), (1, true), (3, true)] {
            let clock = SlotClock::of_numerology(numerology);
            let region = match is_nr {
                true => ControlRegion::nr(Prbs(106), 2, clock),
                false => ControlRegion::lte(Prbs(50), 2, 1),
            };
            let factor = if is_nr { 39_829 } else { 39_827 };
            let slots = 10 * clock.per_millisecond();
            for slot in [0, 1, 7, 300] {
                let mut y = u64::from(FIRST_RNTI) + u64::from(slot);
                for tti in 0..slots {
                    y = factor * y % 65_537;
                    for level in region.levels() {
                        let (l, n) = (u64::from(level.cces()), u64::from(region.cces));
                        let m = u64::from(region.candidates[level.index()]);
                        let step = |candidate| if is_nr { candidate * n / (l * m) } else { candidate };
                        let expected: Vec<u16> =
                            (0..m).map(|candidate| (l * ((y + step(candidate)) % (n / l))) as u16).collect();
                        let found: Vec<u16> =
                            region.search_space(Tti(7 * slots + tti), slot, level).collect();
                        assert_eq!(found, expected, "{region:?} {slot} {tti}");
                        assert!(found.iter().all(|first| first + level.cces() <= region.cces));
                    }
                }
            }
        }
    }
}

//! TDD patterns: direction of each symbol.

use super::slots::{Numerology, SYMBOLS};
use airwnd_units::Span;

/// One pattern of a TDD-UL-DL-ConfigCommon: downlink from the start, uplink up to the end, and flexible symbols in
/// between.
//= TS 38.331 §6.3.2: TDD-UL-DL-Config
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// dl-UL-TransmissionPeriodicity in slots.
    pub slots: u16,
    /// nrofDownlinkSlots.
    pub downlink_slots: u16,
    /// nrofDownlinkSymbols, in the slot after the downlink slots.
    pub downlink_symbols: u8,
    /// nrofUplinkSymbols, in the slot before the uplink slots.
    pub uplink_symbols: u8,
    /// nrofUplinkSlots.
    pub uplink_slots: u16,
}

/// Direction of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Downlink.
    Down,
    /// Flexible: neither in airwnd, a gap.
    Flexible,
    /// Uplink.
    Up,
}

/// Symbols of a slot by direction: downlink first, uplink last, flexible ones in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotUse {
    /// Downlink symbols.
    pub downlink: u8,
    /// Uplink symbols.
    pub uplink: u8,
}

impl SlotUse {
    /// The direction of a symbol of the slot.
    pub fn symbol(self, symbol: u8) -> Use {
        assert!(symbol < SYMBOLS, "a slot has {SYMBOLS} symbols");
        if symbol < self.downlink {
            Use::Down
        } else if symbol >= SYMBOLS - self.uplink {
            Use::Up
        } else {
            Use::Flexible
        }
    }
}

/// Reason why a TDD pattern cannot be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// A letter other than `D`, `S` and `U`, or the letters not in the order downlink, special, uplink.
    Letters,
    /// More downlink and uplink symbols than the special slots have.
    Symbols,
    /// No downlink symbol.
    NoDownlink,
    /// No uplink symbol.
    NoUplink,
    /// No periodicity that RRC can configure at this numerology, or patterns that do not divide 20 ms.
    Period,
}

impl Pattern {
    /// Parses a pattern of slots such as `DDDSU`, with the downlink and uplink symbols of its special slot `S`.
    ///
    /// Of several `S`, the first has the downlink symbols and the last the uplink symbols. The period is not checked here,
    /// but with the numerology: [`Configuration::new`].
    pub fn parse(letters: &str, downlink_symbols: u8, uplink_symbols: u8) -> Result<Pattern, Invalid> {
        let leading = |text: &str, letter: char| text.chars().take_while(|next| *next == letter).count();
        let down = leading(letters, 'D');
        let special = leading(&letters[down..], 'S');
        let up = leading(&letters[down + special..], 'U');
        if down + special + up != letters.len() {
            return Err(Invalid::Letters);
        }
        let count = |slots: usize| u16::try_from(slots).map_err(|_| Invalid::Period);
        let pattern = Pattern {
            slots: count(letters.len())?,
            downlink_slots: count(down)?,
            downlink_symbols: if special > 0 { downlink_symbols } else { 0 },
            uplink_symbols: if special > 0 { uplink_symbols } else { 0 },
            uplink_slots: count(up)?,
        };
        pattern.check_symbols()?;
        Ok(pattern)
    }

    /// Checks that downlink and uplink do not overlap.
    fn check_symbols(self) -> Result<(), Invalid> {
        let whole = u32::from(SYMBOLS);
        let [downlink, uplink] = self.symbols();
        let fits = self.downlink_symbols < SYMBOLS && self.uplink_symbols < SYMBOLS;
        let total = u32::from(self.slots) * whole;
        if fits && downlink + uplink <= total { Ok(()) } else { Err(Invalid::Symbols) }
    }

    /// Downlink and uplink symbols of a period.
    pub fn symbols(self) -> [u32; 2] {
        let count = |slots: u16, symbols: u8| u32::from(slots) * u32::from(SYMBOLS) + u32::from(symbols);
        [count(self.downlink_slots, self.downlink_symbols), count(self.uplink_slots, self.uplink_symbols)]
    }

    /// The use of a slot, counted from the start of the pattern.
    //= TS 38.213 §11.1
    pub fn slot(self, slot: u16) -> SlotUse {
        assert!(slot < self.slots, "a pattern of {} slots has no slot {slot}", self.slots);
        let place = |slots: u16, symbols: u8, from_edge: u16| match from_edge.cmp(&slots) {
            std::cmp::Ordering::Less => SYMBOLS,
            std::cmp::Ordering::Equal => symbols,
            std::cmp::Ordering::Greater => 0,
        };
        SlotUse {
            downlink: place(self.downlink_slots, self.downlink_symbols, slot),
            uplink: place(self.uplink_slots, self.uplink_symbols, self.slots - 1 - slot),
        }
    }

    /// The duration of the pattern.
    pub fn period(self, numerology: Numerology) -> Span {
        Span(numerology.slot().0 * u64::from(self.slots))
    }
}

/// Values of dl-UL-TransmissionPeriodicity in microseconds with the lowest numerology μ that has them.
//= TS 38.213 §11.1; TS 38.331 §6.3.2: TDD-UL-DL-Config
const PERIODS: [(u64, u8); 10] = [
    (500, 1),
    (625, 3),
    (1000, 0),
    (1250, 2),
    (2000, 0),
    (2500, 1),
    (3000, 0),
    (4000, 0),
    (5000, 0),
    (10_000, 0),
];

/// The durations in milliseconds that a pattern can have at a numerology, for messages.
pub fn periods_ms(numerology: Numerology) -> String {
    let periods = PERIODS.iter().filter(|(_, lowest)| numerology.exponent() >= *lowest);
    let millis: Vec<String> = periods.map(|(micros, _)| (*micros as f64 / 1e3).to_string()).collect();
    let (last, others) = millis.split_last().expect("each numerology has periods");
    format!("{} or {last}", others.join(", "))
}

/// A TDD-UL-DL-ConfigCommon: one pattern, or two that alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    first: Pattern,
    second: Option<Pattern>,
}

impl Configuration {
    /// Checks patterns for a numerology.
    pub fn new(
        numerology: Numerology,
        first: Pattern,
        second: Option<Pattern>,
    ) -> Result<Configuration, Invalid> {
        let mut symbols = [0; 2];
        let mut period = 0;
        for pattern in [Some(first), second].into_iter().flatten() {
            pattern.check_symbols()?;
            let span = pattern.period(numerology).0;
            let known =
                |(micros, lowest): &(u64, u8)| micros * 1000 == span && numerology.exponent() >= *lowest;
            if !PERIODS.iter().any(known) {
                return Err(Invalid::Period);
            }
            period += span;
            for (total, part) in symbols.iter_mut().zip(pattern.symbols()) {
                *total += part;
            }
        }
        match symbols {
            _ if !20_000_000_u64.is_multiple_of(period) => Err(Invalid::Period),
            [0, _] => Err(Invalid::NoDownlink),
            [_, 0] => Err(Invalid::NoUplink),
            _ => Ok(Configuration { first, second }),
        }
    }

    /// The second pattern, if there is one.
    pub fn second(&self) -> Option<Pattern> {
        self.second
    }

    /// Slots until the patterns repeat.
    pub fn slots(&self) -> u64 {
        u64::from(self.first.slots) + self.second.map_or(0, |second| u64::from(second.slots))
    }

    /// The use of a slot, counted from time zero.
    pub fn slot(&self, slot: u64) -> SlotUse {
        let place = (slot % self.slots()) as u16;
        match self.second {
            Some(second) if place >= self.first.slots => second.slot(place - self.first.slots),
            _ => self.first.slot(place),
        }
    }

    /// The first slot from `slot` on of which `fits` is true; `None` if no slot of the configuration fits.
    pub fn next(&self, slot: u64, fits: impl Fn(SlotUse) -> bool) -> Option<u64> {
        (slot..slot + self.slots()).find(|slot| fits(self.slot(*slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(configuration: &Configuration, slots: u64) -> Vec<(u8, u8)> {
        (0..slots)
            .map(|slot| {
                let SlotUse { downlink, uplink } = configuration.slot(slot);
                (downlink, uplink)
            })
            .collect()
    }

    #[test]
    fn dddsu_repeats_every_five_slots() {
        let pattern = Pattern::parse("DDDSU", 10, 2).unwrap();
        let configuration = Configuration::new(Numerology::ALL[1], pattern, None).unwrap();
        let period = [(14, 0), (14, 0), (14, 0), (10, 2), (0, 14)];
        assert_eq!(uses(&configuration, 10), [period, period].concat());
        assert_eq!(pattern.period(Numerology::ALL[1]), Span(2_500_000));
        let special = configuration.slot(3);
        let symbols: Vec<Use> = (0..14).map(|symbol| special.symbol(symbol)).collect();
        assert_eq!(symbols, [vec![Use::Down; 10], vec![Use::Flexible; 2], vec![Use::Up; 2]].concat());
        // HARQ-ACK waits for the next slot with uplink symbols at its end
        assert_eq!(configuration.next(5, |slot| slot.uplink > 0), Some(8));
        assert_eq!(configuration.next(5, |slot| slot.uplink == 14), Some(9));
        assert_eq!(configuration.next(5, |slot| slot.downlink == 7), None);
    }

    #[test]
    fn seven_downlink_and_two_uplink_slots() {
        let pattern = Pattern::parse("DDDDDDDSUU", 6, 4).unwrap();
        let configuration = Configuration::new(Numerology::ALL[1], pattern, None).unwrap();
        assert_eq!(uses(&configuration, 10), [vec![(14, 0); 7], vec![(6, 4)], vec![(0, 14); 2]].concat());
        assert_eq!(pattern.symbols(), [7 * 14 + 6, 2 * 14 + 4]);
    }

    #[test]
    fn two_patterns_alternate() {
        let [first, second] = ["DDDSU", "DDSUU"].map(|letters| Pattern::parse(letters, 10, 2).unwrap());
        let configuration = Configuration::new(Numerology::ALL[1], first, Some(second)).unwrap();
        assert_eq!(configuration.slot(7), SlotUse { downlink: 10, uplink: 2 });
        assert_eq!(configuration.slot(13), configuration.slot(3));
        assert_eq!(configuration.slot(18), SlotUse { downlink: 0, uplink: 14 });
    }

    #[test]
    fn patterns_of_3_and_2_milliseconds() {
        // 30 kHz in band n41: DDD, a special slot with 6 and 4 symbols and UU in 3 ms, then DDDD in 2 ms
        let [first, second] = ["DDDSUU", "DDDD"].map(|letters| Pattern::parse(letters, 6, 4).unwrap());
        let configuration = Configuration::new(Numerology::ALL[1], first, Some(second)).unwrap();
        let period = [vec![(14, 0); 3], vec![(6, 4)], vec![(0, 14); 2], vec![(14, 0); 4]].concat();
        assert_eq!(uses(&configuration, 20), [period.clone(), period].concat());
        // 3 ms alone does not divide 20 ms
        assert_eq!(Configuration::new(Numerology::ALL[1], first, None), Err(Invalid::Period));
    }

    #[test]
    fn special_slots_in_a_row_have_downlink_first_and_uplink_last() {
        let pattern = Pattern::parse("DDSSSU", 10, 6).unwrap();
        let slots: Vec<_> =
            (0..6).map(|slot| pattern.slot(slot)).map(|slot| (slot.downlink, slot.uplink)).collect();
        assert_eq!(slots, [(14, 0), (14, 0), (10, 0), (0, 0), (0, 6), (0, 14)]);
    }

    #[test]
    fn invalid_patterns_have_a_reason() {
        let configure = |letters: &str, down, up, exponent: usize| {
            Configuration::new(Numerology::ALL[exponent], Pattern::parse(letters, down, up)?, None)
        };
        assert_eq!(configure("DDXSU", 10, 2, 1), Err(Invalid::Letters));
        assert_eq!(configure("DUD", 10, 2, 1), Err(Invalid::Letters));
        assert_eq!(configure("DÜ", 10, 2, 1), Err(Invalid::Letters));
        assert_eq!(configure("DDDSU", 10, 5, 1), Err(Invalid::Symbols));
        assert_eq!(configure("DDDDD", 10, 2, 1), Err(Invalid::NoUplink));
        assert_eq!(configure("UUUUU", 10, 2, 1), Err(Invalid::NoDownlink));
        assert_eq!(configure("DDDSU", 10, 0, 1).map(|_| ()), Ok(()));
        // seven slots of 0.5 ms: 3.5 ms; 3 ms does not divide 20 ms; 1.25 ms needs 60 kHz or more
        assert_eq!(configure("DDDDDSU", 10, 2, 1), Err(Invalid::Period));
        assert_eq!(configure("DSU", 10, 2, 0), Err(Invalid::Period));
        assert_eq!(configure("", 10, 2, 1), Err(Invalid::Period));
        assert!(configure("DDDSU", 10, 2, 2).is_ok() && configure("DDDSU", 10, 2, 3).is_ok());
    }
}

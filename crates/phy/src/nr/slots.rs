//! Slots and symbols of NR's numerologies, and the time a UE needs to process them.

use airwnd_units::Span;

/// OFDM symbols of a slot with normal cyclic prefix (TS 38.211 Table 4.3.2-1).
pub const SYMBOLS: u8 = 14;

/// Duration of 96 units T_s = 1 / (15 kHz x 2048), in nanoseconds: 96 / 30.72 MHz.
const NANOSECONDS_OF_96_UNITS: u64 = 3125;

/// A numerology μ with normal cyclic prefix, 0 to 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numerology(u8);

impl Numerology {
    /// Numerologies 0 to 3: 15, 30, 60 and 120 kHz.
    pub const ALL: [Numerology; 4] = [Numerology(0), Numerology(1), Numerology(2), Numerology(3)];

    /// The numerology with the exponent μ; `None` above 3.
    pub fn new(exponent: u8) -> Option<Numerology> {
        Numerology::ALL.get(usize::from(exponent)).copied()
    }

    /// The exponent μ.
    pub const fn exponent(self) -> u8 {
        self.0
    }

    /// The subcarrier spacing in kHz.
    //= TS 38.211 Table 4.2-1
    pub const fn kilohertz(self) -> u16 {
        15 << self.0
    }

    /// Slots of a subframe of 1 ms.
    //= TS 38.211 Table 4.3.2-1
    pub const fn slots_per_subframe(self) -> u64 {
        1 << self.0
    }

    /// The duration of a slot.
    pub const fn slot(self) -> Span {
        Span(1_000_000 >> self.0)
    }

    /// Start of a symbol within a slot, rounded down to a nanosecond; symbol 14 is the end of the slot.
    ///
    /// `slot` is any slot's number since time zero. The first symbol of each half subframe is longer by 16 T_s, so the
    /// slots of numerologies 2 and 3 differ; those that do not contain the start of a half subframe have equal symbols,
    /// and start later than a multiple of the mean slot by up to half the extension. The clock follows TS 38.211; slot
    /// boundaries for scheduling are the multiples of [`Numerology::slot`].
    //= TS 38.211 §5.3.1
    pub fn symbol_start(self, slot: u64, symbol: u8) -> Span {
        assert!(symbol <= SYMBOLS, "a slot has {SYMBOLS} symbols, not {symbol}");
        let in_subframe = slot % self.slots_per_subframe();
        let number = in_subframe * u64::from(SYMBOLS) + u64::from(symbol);
        // T_s x 2^μ, so that the symbols of every numerology are whole numbers: 2048 + 144 units each.
        let half = 7 << self.0;
        let longer = number.div_ceil(half).min(2) * (16 << self.0);
        let units = number * 2192 + longer;
        let subframes = slot / self.slots_per_subframe();
        Span(subframes * 1_000_000 + units * NANOSECONDS_OF_96_UNITS / (96 << self.0))
    }
}

/// Number of DMRS symbols on which PDSCH decoding depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dmrs {
    /// dmrs-AdditionalPosition pos0: front-loaded only.
    FrontLoaded,
    /// Additional positions; channel estimates are available only after the last of them.
    Additional,
}

/// N_1 of UE processing capability 1: symbols from the end of the PDSCH to the start of its HARQ-ACK.
///
/// At 15 kHz with additional DMRS N_1 is N_1,0, 13 symbols; the 14 for an additional DMRS in symbol 12, which only a
/// carrier shared with LTE needs, are not modelled.
//= TS 38.214 Table 5.3-1
pub fn decoding_symbols(numerology: Numerology, dmrs: Dmrs) -> u32 {
    let column = match dmrs {
        Dmrs::FrontLoaded => [8, 10, 17, 20],
        Dmrs::Additional => [13, 13, 20, 24],
    };
    column[usize::from(numerology.exponent())]
}

/// N_2 of UE processing capability 1: symbols from the end of the PDCCH with a grant to the start of the PUSCH.
//= TS 38.214 Table 6.4-1
pub fn preparation_symbols(numerology: Numerology) -> u32 {
    [10, 12, 23, 36][usize::from(numerology.exponent())]
}

/// T_proc of this many symbols: N x (2048 + 144) T_s / 2^μ, rounded up to a nanosecond.
///
/// Without the symbols d_1,1, d_2 and d_2,1 that short allocations and overlapping transmissions add.
//= TS 38.214 §5.3
//= TS 38.214 §6.4
pub fn processing_time(numerology: Numerology, symbols: u32) -> Span {
    let units = u64::from(symbols) * 2192 * NANOSECONDS_OF_96_UNITS;
    Span(units.div_ceil(96 << numerology.exponent()))
}

/// The smallest slot offset between the slot of a PDCCH or PDSCH and that of the answer for which the UE has `symbols`
/// symbols between `end`, the symbol after the first, and `start`, the first symbol of the second: lower bound of k1
/// (with N_1) and of k2 (with N_2), when both use the same numerology.
///
/// Counts symbols of equal length, as N_1 and N_2 do.
pub fn min_offset(symbols: u32, end: u8, start: u8) -> u8 {
    let needed = u32::from(end) + symbols;
    needed.saturating_sub(u32::from(start)).div_ceil(u32::from(SYMBOLS)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subframe_is_a_millisecond_in_every_numerology() {
        for numerology in Numerology::ALL {
            let slots = numerology.slots_per_subframe();
            assert_eq!(numerology.slot().0 * slots, 1_000_000);
            assert_eq!(numerology.symbol_start(slots, 0), Span::from_millis(1));
            assert_eq!(numerology.symbol_start(slots - 1, SYMBOLS), Span::from_millis(1));
            assert_eq!(u64::from(numerology.kilohertz()), 15 * slots);
            // half a subframe is exactly 0.5 ms
            let half = 7 * slots;
            let (slot, symbol) = (half / 14, (half % 14) as u8);
            assert_eq!(numerology.symbol_start(slot, symbol), Span(500_000));
        }
        assert_eq!(Numerology::new(4), None);
    }

    #[test]
    fn the_first_symbol_of_a_half_subframe_is_longer() {
        for numerology in Numerology::ALL {
            let scale = f64::from(1u32 << numerology.exponent());
            let unit = 1e9 / 30.72e6;
            let starts: Vec<f64> = (0..=14 << numerology.exponent())
                .map(|number| numerology.symbol_start(number / 14, (number % 14) as u8).0 as f64)
                .collect();
            for (number, pair) in starts.windows(2).enumerate() {
                let extension = if number % (7 << numerology.exponent()) == 0 { 16.0 } else { 0.0 };
                let expected = (2192.0 / scale + extension) * unit;
                assert!((pair[1] - pair[0] - expected).abs() < 1.01, "{numerology:?} {number}");
            }
        }
    }

    #[test]
    fn processing_times_of_capability_1() {
        // 30 kHz: N_1 = 10, 10 x 2192 / 30.72 MHz / 2 = 356.8 us; N_2 = 12: 428.1 us
        let mu = Numerology::ALL[1];
        assert_eq!(processing_time(mu, decoding_symbols(mu, Dmrs::FrontLoaded)), Span(356_771));
        assert_eq!(processing_time(mu, preparation_symbols(mu)), Span(428_125));
        let rows: Vec<[u32; 3]> = Numerology::ALL
            .iter()
            .map(|mu| {
                let [front, more] =
                    [Dmrs::FrontLoaded, Dmrs::Additional].map(|dmrs| decoding_symbols(*mu, dmrs));
                [front, more, preparation_symbols(*mu)]
            })
            .collect();
        assert_eq!(rows, [[8, 13, 10], [10, 13, 12], [17, 20, 23], [20, 24, 36]]);
    }

    #[test]
    fn minimum_offsets_leave_the_processing_time() {
        // A PDSCH that fills its slot, and HARQ-ACK in the last symbol: 14 + 10 - 13 = 11 symbols, one slot later
        assert_eq!(min_offset(10, 14, 13), 1);
        // A grant in the first two symbols and a PUSCH from the start of a slot: 2 + 12 = 14, exactly one slot
        assert_eq!(min_offset(12, 2, 0), 1);
        assert_eq!(min_offset(12, 3, 0), 2);
        assert_eq!(min_offset(36, 1, 0), 3);
        assert_eq!(min_offset(8, 2, 13), 0);
    }
}

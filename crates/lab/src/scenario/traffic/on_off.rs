//! Sources that produce data at a constant rate, continuously or in on/off periods.

use super::Write;
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span, Time};

const BITS_TIMES_NANOSECONDS: u128 = 8 * 1_000_000_000;

/// On and off periods of constant length, as in ns-3's OnOffApplication.
///
/// The defaults of ns-3 are 1 s each, so that `rate` is twice the mean rate. Here a source is continuous unless `off`
/// is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Params)]
#[params(source = "ns-3.44 OnOffApplication")]
pub struct OnOff {
    /// Length of an on period. No effect if `off` is zero.
    #[param(basic, default = Span::from_secs(1), range = Span::from_micros(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "ns-3 OnOffApplication::OnTime")]
    pub on: Span,
    /// Length of the off period before each on period, including the first. Zero: continuous.
    #[param(basic, default = Span::ZERO, range = Span::ZERO..=Span::from_secs(3600))]
    #[param(unit = "time", source = "continuous; ns-3's OnOffApplication::OffTime is 1 s by default")]
    pub off: Span,
}

/// Chunks of one size, produced at a constant rate.
///
/// A continuous source writes its first chunk when it starts. A source with off periods behaves like ns-3's
/// OnOffApplication: it starts with an off period, writes a chunk when its last bit is produced, and carries a chunk
/// interrupted by an off period over to the next on period.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    size: Bytes,
    rate: BitRate,
    on_off: OnOff,
    began: Option<Time>,
    written: u64,
}

impl Pieces {
    /// Creates a source that has not started.
    pub(super) fn new(size: Bytes, rate: BitRate, on_off: OnOff) -> Pieces {
        Pieces { size, rate, on_off, began: None, written: 0 }
    }

    /// Writes per second during on periods.
    pub(super) fn per_second(&self) -> f64 {
        self.rate.0 as f64 / self.size.bits() as f64
    }

    /// Sets the rate of a continuous source. Returns false for one with off periods, whose chunks are counted from its
    /// beginning.
    pub(super) fn set_rate(&mut self, rate: BitRate) -> bool {
        let is_continuous = self.on_off.off == Span::ZERO;
        if is_continuous {
            self.rate = rate;
        }
        is_continuous
    }

    /// Writes a chunk. Called when the flow starts, and then at each returned time.
    pub(super) fn write(&mut self, now: Time) -> Write {
        if self.on_off.off == Span::ZERO {
            return Write::Piece(self.size, now + self.rate.transmission_time(self.size));
        }
        let Some(began) = self.began else {
            self.began = Some(now);
            return Write::Later(self.produced(now, 1));
        };
        self.written += 1;
        Write::Piece(self.size, self.produced(began, self.written + 1))
    }

    /// Time at which this many chunks have been produced.
    // Computed from the beginning, not from chunk to chunk, so that rounding errors do not accumulate.
    fn produced(&self, began: Time, pieces: u64) -> Time {
        let bytes = u128::from(pieces) * u128::from(self.size.0);
        let working = bytes.saturating_mul(BITS_TIMES_NANOSECONDS) / u128::from(self.rate.0);
        let working = Span(u64::try_from(working).unwrap_or(u64::MAX));
        // A chunk completed exactly at the end of an on period belongs to that period.
        let pauses = working.0.div_ceil(self.on_off.on.0).max(1);
        began + working + Span(self.on_off.off.0.saturating_mul(pauses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEGAN: Time = Time(7_000_000_000);

    fn pieces(rate: u64, size: u64, on_ms: u64, off_ms: u64) -> Pieces {
        let on_off = OnOff { on: Span::from_millis(on_ms), off: Span::from_millis(off_ms) };
        Pieces::new(Bytes(size), BitRate(rate), on_off)
    }

    /// Times of the first writes, from the start of the flow.
    fn instants(mut pieces: Pieces, count: usize) -> Vec<Span> {
        let mut now = BEGAN;
        let mut instants = Vec::new();
        while instants.len() < count {
            now = match pieces.write(now) {
                Write::Later(next) => next,
                Write::Piece(size, next) => {
                    assert_eq!(size, pieces.size);
                    instants.push(now - BEGAN);
                    next
                }
                written => panic!("{written:?}"),
            };
        }
        instants
    }

    #[test]
    fn a_chunk_beyond_the_range_of_time_is_never_written() {
        let on_off = OnOff { on: Span::from_micros(1), off: Span::from_secs(199) };
        let mut pieces = Pieces::new(Bytes(1 << 40), BitRate(1), on_off);
        assert!(matches!(pieces.write(BEGAN), Write::Later(Time::NEVER)));
        let mut continuous = Pieces { on_off: OnOff { off: Span::ZERO, ..on_off }, ..pieces };
        assert!(matches!(continuous.write(BEGAN), Write::Piece(_, Time::NEVER)));
    }

    /// Times agree to one bit time per off period so far: ns-3 carries whole bits of an interrupted chunk over.
    fn assert_as_ns3(pieces: Pieces, ns3: &[u64]) {
        let bit = 1_000_000_000 / pieces.rate.0 + 1;
        let cycle = pieces.on_off.on.0 + pieces.on_off.off.0;
        for (number, (ours, ns3)) in instants(pieces, ns3.len()).into_iter().zip(ns3).enumerate() {
            let off_times = ours.0 / cycle + 1;
            assert!(ours.0.abs_diff(*ns3) <= bit * off_times, "piece {number}: {ours:?}, ns-3 has {ns3} ns");
        }
    }

    // Times of OnOffApplication's Tx trace in ns-3.44 with constant on and off periods, from its start.

    #[test]
    fn the_first_chunk_is_written_one_interval_after_the_initial_off_period() {
        let ns3 = [
            1_333_333_333,
            1_666_666_666,
            1_999_999_999,
            3_333_333_333,
            3_666_666_666,
            3_999_999_999,
            5_333_333_333,
        ];
        assert_as_ns3(pieces(24_000, 1000, 1000, 1000), &ns3);
    }

    #[test]
    fn a_chunk_interrupted_by_an_off_period_is_carried_over() {
        let ns3 = [
            557_692_308,
            1_115_423_077,
            1_423_115_385,
            1_980_846_154,
            2_538_576_923,
            2_846_269_231,
            3_404_000_000,
        ];
        assert_as_ns3(pieces(26_000, 1000, 500, 250), &ns3);
    }

    #[test]
    fn a_chunk_may_span_several_on_periods() {
        let ns3 = [1_943_285_714, 3_886_571_429, 5_830_000_000, 7_773_428_571, 9_716_714_286];
        assert_as_ns3(pieces(7000, 1000, 300, 200), &ns3);
    }

    #[test]
    fn ns3s_defaults_give_122_chunks_in_every_other_second() {
        let instants = instants(pieces(500_000, 512, 1000, 1000), 366);
        let in_second =
            |second: u64| instants.iter().filter(|instant| (instant.0 - 1) / 1_000_000_000 == second).count();
        assert_eq!((0..6).map(in_second).collect::<Vec<_>>(), [0, 122, 0, 122, 0, 122]);
        // During an on period chunks are written at `rate`.
        assert_eq!(instants[1] - instants[0], BitRate(500_000).transmission_time(Bytes(512)));
    }

    #[test]
    fn a_continuous_source_writes_at_once_and_at_equal_intervals() {
        let gap = BitRate(500_000).transmission_time(Bytes(512));
        let expected: Vec<Span> = (0..5).map(|number| Span(gap.0 * number)).collect();
        assert_eq!(instants(pieces(500_000, 512, 1000, 0), 5), expected);
    }

    proptest! {
        /// After n whole cycles exactly the data of n on periods has been written.
        #[test]
        fn written_bytes_match_the_on_periods(
            rate in 1_000..10_000_000_u64, size in 1..1500_u64, on_ms in 1..2000_u64, off_ms in 1..2000_u64,
            cycles in 1..50_u64,
        ) {
            let produced = u128::from(rate) * u128::from(on_ms * cycles) / 8000;
            let whole = (produced / u128::from(size)).min(5000) as usize;
            prop_assume!(whole < 5000);
            let end = Span::from_millis((on_ms + off_ms) * cycles);
            let instants = instants(pieces(rate, size, on_ms, off_ms), whole + 1);
            prop_assert!(instants[whole] > end, "one too many at {:?}", instants[whole]);
            if whole > 0 {
                prop_assert!(instants[whole - 1] <= end, "one too few");
            }
            for instant in instants {
                let phase = instant.0 % ((on_ms + off_ms) * 1_000_000);
                prop_assert!(phase == 0 || phase > off_ms * 1_000_000, "written in an off period: {:?}", instant);
            }
        }
    }
}

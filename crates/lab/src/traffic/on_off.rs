//! Sources that produce data at a constant rate, on and off in turn.

use super::Write;
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span, Time};

const BITS_TIMES_NANOSECONDS: u128 = 8 * 1_000_000_000;

/// On and off times, as ns-3's OnOffApplication has them.
///
/// Its defaults there are 1 s each, so that `rate` is twice the mean; here a source pauses only if `off` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Params)]
#[params(source = "ns-3.44 OnOffApplication")]
pub struct OnOff {
    /// How long data is produced at a time. Has no effect while `off` is zero.
    #[param(default = Span::from_secs(1), range = Span::from_micros(1)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "ns-3 OnOffApplication::OnTime")]
    pub on: Span,
    /// Pause before each on time, the first included. Zero: continuous.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(3600))]
    #[param(unit = "time", source = "continuous; ns-3's OnOffApplication::OffTime is 1 s by default")]
    pub off: Span,
}

/// Pieces of one size, produced at a rate.
///
/// A continuous source writes its first piece when it starts. One with pauses conducts itself as ns-3's
/// OnOffApplication: it starts with a pause, writes a piece when its last bit is produced, and keeps the part of a piece
/// that an off time cuts short for the next on time.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    size: Bytes,
    rate: BitRate,
    on_off: OnOff,
    began: Option<Time>,
    written: u64,
}

impl Pieces {
    /// A source that has not started.
    pub(super) fn new(size: Bytes, rate: BitRate, on_off: OnOff) -> Pieces {
        Pieces { size, rate, on_off, began: None, written: 0 }
    }

    /// How often it writes in a second, pauses left out.
    pub(super) fn per_second(&self) -> f64 {
        self.rate.0 as f64 / self.size.bits() as f64
    }

    /// What is written when the flow starts, and then at each instant named.
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

    /// When so many pieces have been produced.
    // From the beginning, not from piece to piece: what is rounded does not add up.
    fn produced(&self, began: Time, pieces: u64) -> Time {
        let bytes = u128::from(pieces) * u128::from(self.size.0);
        let working = bytes.saturating_mul(BITS_TIMES_NANOSECONDS) / u128::from(self.rate.0);
        let working = Span(u64::try_from(working).unwrap_or(u64::MAX));
        // What is produced at the very end of an on time belongs to it.
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

    /// Instants of the first writes, from the start of the flow.
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
    fn a_piece_that_takes_longer_than_all_time_is_never_written() {
        let on_off = OnOff { on: Span::from_micros(1), off: Span::from_secs(199) };
        let mut pieces = Pieces::new(Bytes(1 << 40), BitRate(1), on_off);
        assert!(matches!(pieces.write(BEGAN), Write::Later(Time::NEVER)));
        let mut continuous = Pieces { on_off: OnOff { off: Span::ZERO, ..on_off }, ..pieces };
        assert!(matches!(continuous.write(BEGAN), Write::Piece(_, Time::NEVER)));
    }

    /// Instants agree to a bit for each off time so far: ns-3 keeps whole bits of what one cuts short.
    fn assert_as_ns3(pieces: Pieces, ns3: &[u64]) {
        let bit = 1_000_000_000 / pieces.rate.0 + 1;
        let cycle = pieces.on_off.on.0 + pieces.on_off.off.0;
        for (number, (ours, ns3)) in instants(pieces, ns3.len()).into_iter().zip(ns3).enumerate() {
            let off_times = ours.0 / cycle + 1;
            assert!(ours.0.abs_diff(*ns3) <= bit * off_times, "piece {number}: {ours:?}, ns-3 has {ns3} ns");
        }
    }

    // The instants of OnOffApplication's Tx trace in ns-3.44 with constant on and off times, from its start.

    #[test]
    fn it_starts_with_a_pause_and_the_first_piece_is_whole_an_interval_after_it() {
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
    fn an_off_time_keeps_the_part_of_a_piece_that_it_cuts_short() {
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
    fn a_piece_may_take_several_on_times() {
        let ns3 = [1_943_285_714, 3_886_571_429, 5_830_000_000, 7_773_428_571, 9_716_714_286];
        assert_as_ns3(pieces(7000, 1000, 300, 200), &ns3);
    }

    #[test]
    fn ns3s_defaults_give_122_pieces_in_each_second_second() {
        let instants = instants(pieces(500_000, 512, 1000, 1000), 366);
        let in_second =
            |second: u64| instants.iter().filter(|instant| (instant.0 - 1) / 1_000_000_000 == second).count();
        assert_eq!((0..6).map(in_second).collect::<Vec<_>>(), [0, 122, 0, 122, 0, 122]);
        // While it is on, the rate is the rate.
        assert_eq!(instants[1] - instants[0], BitRate(500_000).transmission_time(Bytes(512)));
    }

    #[test]
    fn a_source_without_pauses_writes_at_once_and_evenly() {
        let gap = BitRate(500_000).transmission_time(Bytes(512));
        let expected: Vec<Span> = (0..5).map(|number| Span(gap.0 * number)).collect();
        assert_eq!(instants(pieces(500_000, 512, 1000, 0), 5), expected);
    }

    proptest! {
        /// After n whole cycles no more and no less has been written than n on times produce.
        #[test]
        fn bytes_are_what_the_on_times_produce(
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
                prop_assert!(phase == 0 || phase > off_ms * 1_000_000, "written in a pause: {:?}", instant);
            }
        }
    }
}

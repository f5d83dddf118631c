//! A piecewise constant rate.

use super::{LONGEST, lines, place_in};
use crate::link::{Served, Service};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::sync::Arc;

/// Maximum rate in Mbit/s.
const MAX_RATE: f64 = 1e6;
/// Nanoseconds per second: a rate in bit/s times a time in ns is in billionths of a bit.
const NANOS: u128 = 1_000_000_000;

/// Rates of a file as pieces in chronological order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: Span,
    to: Span,
    rate: BitRate,
    /// Capacity of the earlier pieces in billionths of a bit.
    before: u128,
}

impl Piece {
    /// Returns the capacity of the piece until an instant within it, in billionths of a bit.
    fn until(&self, at: Span) -> u128 {
        u128::from(self.rate.0) * u128::from((at - self.from).0)
    }
}

impl Rates {
    pub fn parse(text: &str) -> Result<Rates, (usize, String)> {
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut from, mut before) = (Span::ZERO, 0);
        for (number, line) in lines(text) {
            let mut words = line.split_ascii_whitespace();
            if words.clone().count() == 1 {
                let only: String = line.trim().chars().take(40).collect();
                let why = format!("only `{only}`; a line has a time in seconds and a rate in Mbit/s");
                return Err((number, why));
            }
            let mut value = |what: &str, max: f64| {
                let word: String = words.next().unwrap_or("").chars().take(40).collect();
                match word.parse::<f64>() {
                    Ok(value) if (0.0..=max).contains(&value) => Ok(value),
                    Ok(value) if value.is_finite() => {
                        Err((number, format!("{value} {what} is outside 0..{max}")))
                    }
                    _ => Err((number, format!("`{word}` is not a number of {what}"))),
                }
            };
            let (seconds, mbps) = (value("seconds", LONGEST.as_secs())?, value("Mbit/s", MAX_RATE)?);
            if let Some(more) = words.next() {
                let more: String = more.chars().take(40).collect();
                return Err((
                    number,
                    format!("unexpected `{more}` after the rate; a line has a time and a rate"),
                ));
            }
            let to = Span::from_secs_f64(seconds);
            if to < from || (to == from && number > 1) {
                return Err((
                    number,
                    format!("{seconds} s is not after the previous line; times must ascend"),
                ));
            }
            // A first line at time 0 has no piece before it.
            if to > from {
                let piece = Piece { from, to, rate: BitRate((mbps * 1e6).round() as u64), before };
                before += piece.until(to);
                pieces.push(piece);
            }
            from = to;
        }
        match (pieces.is_empty(), before) {
            (true, _) => Err((1, "the file is empty".into())),
            (false, 0) => Err((1, "all rates are 0: no packet would ever be sent".into())),
            _ => Ok(Rates(pieces)),
        }
    }

    pub fn period(&self) -> Span {
        self.0.last().map_or(Span::ZERO, |last| last.to)
    }

    /// Returns the capacity of one pass in billionths of a bit.
    fn whole(&self) -> u128 {
        self.0.last().map_or(0, |last| last.before + last.until(last.to))
    }

    /// Returns the capacity from the start of the file to an instant, in billionths of a bit.
    fn until(&self, elapsed: Span) -> u128 {
        let (passes, place) = place_in(elapsed, self.period());
        let piece = &self.0[self.0.partition_point(|piece| piece.to <= place)];
        u128::from(passes) * self.whole() + piece.before + piece.until(place)
    }

    /// Returns the first instant at which the capacity reaches `amount`, which must not be zero.
    fn reached(&self, amount: u128) -> Span {
        // An amount that ends with a pass is reached in that pass, not in the next one.
        let passes = amount.saturating_sub(1) / self.whole();
        let rest = amount - passes * self.whole();
        let piece = &self.0[self.0.partition_point(|piece| piece.before + piece.until(piece.to) < rest)];
        let within = (rest - piece.before).div_ceil(u128::from(piece.rate.0));
        self.period() * passes as u64 + piece.from + Span(within as u64)
    }
}

/// Periodic replay of a link trace.
pub(super) struct Profile {
    rates: Arc<Rates>,
    /// Bytes added to each packet.
    framing: Bytes,
    /// Simulation time at which the link trace is at `offset`.
    start: Time,
    offset: Span,
    free_at: Time,
}

impl Profile {
    pub fn new(rates: Arc<Rates>, framing: Bytes, start: Time, offset: Span) -> Profile {
        Profile { rates, framing, start, offset, free_at: Time::ZERO }
    }

    fn elapsed(&self, now: Time) -> Span {
        now.since(self.start) + self.offset
    }
}

impl Service for Profile {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        let begins = self.begins(now);
        let amount = self.rates.until(self.elapsed(begins)) + u128::from(size.bits()) * NANOS;
        self.free_at = self.start + (self.rates.reached(amount) - self.offset);
        Served { begins, ends: self.free_at }
    }

    fn begins(&self, now: Time) -> Time {
        now.max(self.free_at)
    }

    fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        let until = |at: Time| self.rates.until(self.elapsed(at));
        Some(Bytes(((until(to) - until(from)) / (8 * NANOS)) as u64))
    }

    fn alone(&self, from: Time, size: Bytes) -> Span {
        let begins = self.elapsed(from);
        self.rates.reached(self.rates.until(begins) + u128::from(size.bits()) * NANOS) - begins
    }

    fn framing(&self) -> Bytes {
        self.framing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(text: &str) -> Profile {
        Profile::new(Arc::new(Rates::parse(text).unwrap()), Bytes::ZERO, Time::ZERO, Span::ZERO)
    }

    const fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// 1 Mbit/s until 1 s, zero until 2 s, 2 Mbit/s until 3 s, then repeated.
    const STEPS: &str = "0 7\n1\t1\n2.0 0\n3 2\n";

    #[test]
    fn a_packet_is_sent_at_the_rates_of_its_transmission_time() {
        let mut profile = profile(STEPS);
        // 125000 B are 1 Mbit: the first second; then one second at rate zero.
        assert_eq!(profile.serve(ms(0), Bytes(125_000)).ends, ms(1000));
        assert_eq!(profile.serve(ms(0), Bytes(125_000)).ends, ms(2500));
        // Half of it is sent at 2 Mbit/s, the other half in the next pass at 1 Mbit/s.
        assert_eq!(profile.serve(ms(2750), Bytes(125_000)).ends, ms(3500));
        assert_eq!(profile.serve(ms(6_000_900), Bytes(12_500)).ends, ms(6_001_000));
        assert_eq!(profile.capacity(ms(500), ms(6500)), Some(Bytes(6_000_000 / 8)));
        assert_eq!(profile.alone(ms(2750), Bytes(125_000)), Span::from_millis(750));
        assert_eq!(profile.alone(ms(1000), Bytes(125_000)), Span::from_millis(1500));
    }

    #[test]
    fn a_replay_can_start_at_any_offset() {
        let rates = Arc::new(Rates::parse(STEPS).unwrap());
        let mut profile = Profile::new(rates, Bytes::ZERO, ms(500), Span::from_millis(5500));
        assert_eq!(profile.serve(ms(500), Bytes(125_000)).ends, ms(1000));
        assert_eq!(profile.serve(ms(500), Bytes(125_000)).ends, ms(2000));
    }

    #[test]
    fn errors_name_their_line() {
        let error = |text: &str| Rates::parse(text).unwrap_err();
        assert_eq!(error(""), (1, "the file is empty".into()));
        assert_eq!(error("0 5"), (1, "the file is empty".into()));
        assert_eq!(error("1 0\n2 0"), (1, "all rates are 0: no packet would ever be sent".into()));
        assert_eq!(error("1 x"), (1, "`x` is not a number of Mbit/s".into()));
        assert_eq!(error("1 nan"), (1, "`nan` is not a number of Mbit/s".into()));
        let one = |word: &str| format!("only `{word}`; a line has a time in seconds and a rate in Mbit/s");
        assert_eq!(error("1"), (1, one("1")));
        assert_eq!(error("0 1\n1;2"), (2, one("1;2")));
        assert_eq!(error("1 2\n2 -3"), (2, "-3 Mbit/s is outside 0..1000000".into()));
        assert_eq!(error("1 2\n1 3"), (2, "1 s is not after the previous line; times must ascend".into()));
        assert_eq!(error("1 2 3"), (1, "unexpected `3` after the rate; a line has a time and a rate".into()));
    }

    proptest! {
        /// `reached` is the inverse of `until`, the integral of the rate over time.
        #[test]
        fn reached_is_the_inverse_of_until(
            pieces in prop::collection::vec((1u64..2000, 0u64..20_000_000), 1..20),
            amount in 1u128..1_000_000_000_000_000_000,
        ) {
            let (mut at, mut text) = (0, String::from("0 1\n"));
            for (length, rate) in &pieces {
                at += length;
                text += &format!("{} {}\n", at as f64 / 1e3, *rate as f64 / 1e6);
            }
            let Ok(rates) = Rates::parse(&text) else { return Ok(()) };
            let instant = rates.reached(amount);
            prop_assert!(rates.until(instant) >= amount);
            prop_assert!(rates.until(Span(instant.0 - 1)) < amount);
        }
    }
}

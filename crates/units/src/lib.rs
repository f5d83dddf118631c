//! Physical units as types.
//!
//! Separate types keep byte counts apart from packet counts and decibels apart from ratios. Text carries its unit:
//! `"20ms"`, `"64KiB"`, `"-96dBm"`. Counted quantities (nanoseconds, bytes, bits per second) are integers; quantities
//! on a logarithmic or continuous scale are floats.
//!
//! ```
//! use airwnd_units::{BitRate, Bytes, Span};
//! let span: Span = "20ms".parse().unwrap();
//! assert_eq!(span, Span::from_millis(20));
//! assert_eq!(BitRate(10_000_000).transmission_time(Bytes(1250)), Span::from_millis(1));
//! assert!("20".parse::<Span>().unwrap_err().to_string().contains("needs a unit"));
//! ```

mod power;
mod text;

use power::power_of_ten;
pub use text::{Quantity, UnitError};

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Rem, Sub, SubAssign};

/// An instant: nanoseconds since the start of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A number of bytes (octets).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

/// A transmission time interval: the count of LTE subframes (1 ms) since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tti(pub u64);

/// The clock of a radio access: slots of 1 ms / 2^μ, counted by [`Tti`] from the start of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotClock(u8);

/// A ratio in decibels.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Db(pub f64);

/// A power in decibels above one milliwatt.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

/// A frequency or bandwidth in hertz.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Hertz(pub f64);

/// A distance or height in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

/// A speed in metres per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Speed(pub f64);

/// An angle in degrees, anticlockwise from the x axis (east).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Degrees(pub f64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// Sentinel later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the seconds since the start, for reports.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time since `earlier`, or zero if `earlier` is in the future.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Span = Span(0);
    /// The maximum duration; longer than any simulation.
    pub const MAX: Span = Span(u64::MAX);

    /// Creates a span of whole nanoseconds.
    pub const fn from_nanos(n: u64) -> Span {
        Span(n)
    }
    /// Creates a span of whole microseconds.
    pub const fn from_micros(n: u64) -> Span {
        Span(n * 1_000)
    }
    /// Creates a span of whole milliseconds.
    pub const fn from_millis(n: u64) -> Span {
        Span(n * 1_000_000)
    }
    /// Creates a span of whole seconds.
    pub const fn from_secs(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }
    /// Creates the span nearest to a number of seconds; negative numbers and NaN give zero.
    pub fn from_secs_f64(seconds: f64) -> Span {
        Span((seconds * 1e9).round() as u64)
    }
    /// Returns the span in seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the span in milliseconds.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// Returns the difference, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// Returns the number of bits.
    pub fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl BitRate {
    /// Returns the serialization time of `bytes` at this rate, rounded up to a nanosecond. Rate zero denotes a link
    /// without serialization and gives zero.
    pub fn transmission_time(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::ZERO;
        }
        // A packet's product fits 64 bits; 64-bit division is several times faster than 128-bit division.
        match bytes.bits().checked_mul(1_000_000_000) {
            Some(bit_nanos) => Span(bit_nanos.div_ceil(self.0)),
            None => {
                let bit_nanos = u128::from(bytes.bits()) * 1_000_000_000;
                Span(u64::try_from(bit_nanos.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
            }
        }
    }

    /// Returns the average rate of `bytes` over `span`; zero for an empty span.
    pub fn of(bytes: Bytes, span: Span) -> BitRate {
        if span.0 == 0 {
            return BitRate(0);
        }
        BitRate((u128::from(bytes.bits()) * 1_000_000_000 / u128::from(span.0)) as u64)
    }

    /// Returns the rate in kbit/s, for reports.
    pub fn as_kbps(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Tti {
    /// Duration of a TTI of LTE: one subframe (TS 36.211 §4).
    pub const SPAN: Span = Span::from_millis(1);

    /// Returns the start time of this TTI of LTE.
    pub fn start(self) -> Time {
        Time(self.0 * Tti::SPAN.0)
    }
}

impl SlotClock {
    /// The clock of LTE: a slot is a TTI of 1 ms.
    pub const LTE: SlotClock = SlotClock(0);

    /// Returns the clock of a numerology (TS 38.211 Table 4.3.2-1).
    pub const fn of_numerology(exponent: u8) -> SlotClock {
        SlotClock(exponent)
    }

    /// Returns the number of slots in a millisecond.
    pub fn per_millisecond(self) -> u64 {
        1 << self.0
    }

    /// Returns the duration of a slot.
    pub fn slot(self) -> Span {
        Span(Tti::SPAN.0 >> self.0)
    }

    /// Returns the start time of a slot.
    pub fn start(self, slot: Tti) -> Time {
        Time(slot.0 * self.slot().0)
    }

    /// Returns the slot that contains a time.
    pub fn at(self, now: Time) -> Tti {
        Tti(now.0 / self.slot().0)
    }

    /// Returns the first slot that does not start before a time.
    pub fn from(self, now: Time) -> Tti {
        Tti(now.0.div_ceil(self.slot().0))
    }

    /// Returns the number of slots that cover a duration.
    pub fn count(self, span: Span) -> u64 {
        span.0.div_ceil(self.slot().0)
    }
}

impl Db {
    /// Converts to a power ratio.
    pub fn linear(self) -> f64 {
        power_of_ten(self.0 / 10.0)
    }
    /// Converts from a power ratio.
    pub fn from_linear(ratio: f64) -> Db {
        Db(10.0 * libm::log10(ratio))
    }
}

impl Dbm {
    /// Converts to milliwatts.
    pub fn milliwatts(self) -> f64 {
        power_of_ten(self.0 / 10.0)
    }
    /// Converts from milliwatts.
    pub fn from_milliwatts(power: f64) -> Dbm {
        Dbm(10.0 * libm::log10(power))
    }
}

macro_rules! additive {
    ($($unit:ident),*) => {$(
        impl Add for $unit {
            type Output = $unit;
            fn add(self, other: $unit) -> $unit { $unit(self.0 + other.0) }
        }
        impl Sub for $unit {
            type Output = $unit;
            fn sub(self, other: $unit) -> $unit { $unit(self.0 - other.0) }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: $unit) { self.0 += other.0; }
        }
        impl SubAssign for $unit {
            fn sub_assign(&mut self, other: $unit) { self.0 -= other.0; }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = $unit>>(items: I) -> $unit {
                items.fold($unit::default(), |total, item| total + item)
            }
        }
    )*};
}
additive!(Span, Bytes, BitRate, Db, Metres, Hertz, Degrees);

/// Saturates at [`Time::NEVER`].
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}
impl Rem<Span> for Time {
    type Output = Span;
    fn rem(self, period: Span) -> Span {
        Span(self.0 % period.0)
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}
impl Add<u64> for Tti {
    type Output = Tti;
    fn add(self, count: u64) -> Tti {
        Tti(self.0 + count)
    }
}
impl Sub for Tti {
    type Output = u64;
    fn sub(self, earlier: Tti) -> u64 {
        self.0 - earlier.0
    }
}
impl Mul<Span> for Speed {
    type Output = Metres;
    fn mul(self, span: Span) -> Metres {
        Metres(self.0 * span.as_secs())
    }
}
impl Add<Db> for Dbm {
    type Output = Dbm;
    fn add(self, gain: Db) -> Dbm {
        Dbm(self.0 + gain.0)
    }
}
impl Sub<Db> for Dbm {
    type Output = Dbm;
    fn sub(self, loss: Db) -> Dbm {
        Dbm(self.0 - loss.0)
    }
}
impl Sub for Dbm {
    type Output = Db;
    fn sub(self, other: Dbm) -> Db {
        Db(self.0 - other.0)
    }
}
impl Neg for Db {
    type Output = Db;
    fn neg(self) -> Db {
        Db(-self.0)
    }
}

impl fmt::Display for Tti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TTI {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_is_bits_over_rate_rounded_up() {
        // 1500 B at 1 Gbit/s: 12000 bit / 1e9 bit/s = 12 us
        assert_eq!(BitRate(1_000_000_000).transmission_time(Bytes(1500)), Span::from_micros(12));
        // 1 B at 3 bit/s: 8/3 s
        assert_eq!(BitRate(3).transmission_time(Bytes(1)), Span(2_666_666_667));
        assert_eq!(BitRate(0).transmission_time(Bytes(1500)), Span::ZERO);
        // 1 TB at 1 bit/s: saturates
        assert_eq!(BitRate(1).transmission_time(Bytes(1 << 40)), Span::MAX);
        assert_eq!(Time(5) + Span::MAX, Time::NEVER);
        // 8 TB at 8 Tbit/s: bits times nanoseconds exceed 64 bits
        assert_eq!(
            BitRate(8_000_000_000_000).transmission_time(Bytes(8_000_000_000_001)),
            Span(8_000_000_001)
        );
    }

    #[test]
    fn rate_is_the_inverse_of_transmission_time() {
        assert_eq!(BitRate::of(Bytes(1250), Span::from_millis(1)), BitRate(10_000_000));
        assert_eq!(BitRate::of(Bytes(1), Span::ZERO), BitRate(0));
    }

    #[test]
    fn speed_times_time_is_distance() {
        assert_eq!(Speed(20.0) * Span::from_millis(250), Metres(5.0));
    }

    #[test]
    fn decibels_and_ratios_are_inverse() {
        assert!((Db(3.0).linear() - 1.995).abs() < 1e-3);
        assert!((Db::from_linear(Db(-7.4).linear()).0 + 7.4).abs() < 1e-12);
        assert!((Dbm(30.0).milliwatts() - 1000.0).abs() < 1e-9);
    }
}

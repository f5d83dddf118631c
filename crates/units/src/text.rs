//! Text that carries its unit.

use crate::{BitRate, Bytes, Db, Dbm, Degrees, Hertz, Metres, Span, Speed, Time};
use std::fmt;
use std::str::FromStr;

/// Error from parsing a quantity; the message lists the allowed forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for UnitError {}

/// A unit type with a text form: a number followed by a unit.
pub trait Quantity: Sized + Copy + PartialOrd + FromStr<Err = UnitError> + fmt::Display {
    /// Noun phrase for the measured quantity, such as "a time".
    const WHAT: &'static str;
    /// Accepted unit names with their factors; the first with factor one is the base unit.
    const UNITS: &'static [(&'static str, f64)];
    /// Example for messages.
    const EXAMPLE: &'static str;

    /// Converts from a number in the base unit; the error is the reason for rejection.
    fn from_base(value: f64) -> Result<Self, String>;
    /// Converts to a number in the base unit.
    fn to_base(self) -> f64;
}

fn parse<Q: Quantity>(text: &str) -> Result<Q, UnitError> {
    let shape = || format!("is not {}; write a number and a unit, as in \"{}\"", Q::WHAT, Q::EXAMPLE);
    // A line break or a tab is no space between number and unit.
    if text.contains(char::is_control) {
        return Err(UnitError(format!("`{}` {}", text.escape_debug(), shape())));
    }
    let trimmed = text.trim();
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_');
    let mut split = trimmed.find(|c| !digits(c)).unwrap_or(trimmed.len());
    // "1e6bps": the exponent belongs to the number when a digit or sign follows it.
    if trimmed[split..].starts_with(['e', 'E']) {
        let rest = &trimmed[split + 1..];
        let signed = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let length = signed.find(|c: char| !c.is_ascii_digit()).unwrap_or(signed.len());
        if length > 0 {
            split += 1 + (rest.len() - signed.len()) + length;
        }
    }
    let (number, unit) = trimmed.split_at(split);
    let units = || Q::UNITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let value: f64 =
        number.replace('_', "").parse().map_err(|_| UnitError(format!("`{text}` {}", shape())))?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(UnitError(format!(
            "`{text}` needs a unit, as in \"{}\"; allowed units: {}",
            Q::EXAMPLE,
            units()
        )));
    }
    let factor =
        Q::UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(|| {
            UnitError(format!("`{unit}` is not a unit of {}; allowed units: {}", Q::WHAT, units()))
        })?;
    Q::from_base(value * factor).map_err(|why| UnitError(format!("`{text}` {why}")))
}

fn show<Q: Quantity>(quantity: Q, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = quantity.to_base();
    let exact = |factor: f64| {
        let scaled = value / factor;
        scaled.abs() >= 1.0 && scaled * factor == value && (scaled - scaled.round()).abs() < 1e-9
    };
    let base = Q::UNITS.iter().find(|(_, factor)| *factor == 1.0).expect("every quantity has a base unit");
    let (unit, factor) = Q::UNITS
        .iter()
        .rev() // among equal factors the first is the usual spelling
        .filter(|(_, factor)| exact(*factor))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(base);
    write!(f, "{}{unit}", value / factor)
}

macro_rules! quantity {
    ($type:ident, $what:literal, $example:literal, [$(($unit:literal, $factor:expr)),*], $from:expr, $to:expr) => {
        impl Quantity for $type {
            const WHAT: &'static str = $what;
            const UNITS: &'static [(&'static str, f64)] = &[$(($unit, $factor)),*];
            const EXAMPLE: &'static str = $example;
            fn from_base(value: f64) -> Result<Self, String> {
                let convert: fn(f64) -> Result<Self, String> = $from;
                convert(value)
            }
            fn to_base(self) -> f64 {
                let convert: fn(Self) -> f64 = $to;
                convert(self)
            }
        }
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> { parse(text) }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { show(*self, f) }
        }
    };
}

/// Rounds to a non-negative whole number, tolerating the rounding error of a decimal fraction times its factor.
fn whole(value: f64, unit: &str) -> Result<u64, String> {
    if value < 0.0 {
        return Err("must not be negative".into());
    }
    if !value.is_finite() || value > 9e18 {
        return Err("is too large".into());
    }
    if (value - value.round()).abs() > 1e-6 * value.abs().max(1e-3) {
        return Err(format!("is not a whole number of {unit}"));
    }
    Ok(value.round() as u64)
}

fn finite(value: f64) -> Result<f64, String> {
    // Normalizes -0.0, which users read as 0.
    if value.is_finite() { Ok(value + 0.0) } else { Err("is not a finite number".into()) }
}

const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

macro_rules! time_quantity {
    ($type:ident) => {
        impl Quantity for $type {
            const WHAT: &'static str = "a time";
            const UNITS: &'static [(&'static str, f64)] = TIMES;
            const EXAMPLE: &'static str = "20ms";
            fn from_base(value: f64) -> Result<Self, String> {
                whole(value, "nanoseconds").map($type)
            }
            fn to_base(self) -> f64 {
                self.0 as f64
            }
        }
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(*self, f)
            }
        }
    };
}
time_quantity!(Span);
time_quantity!(Time);

quantity!(
    Bytes,
    "a number of bytes",
    "64KiB",
    [
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0)
    ],
    |value| whole(value, "bytes").map(Bytes),
    |bytes| bytes.0 as f64
);
quantity!(
    BitRate,
    "a rate",
    "10Mbps",
    [
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9)
    ],
    |value| whole(value, "bits per second").map(BitRate),
    |rate| rate.0 as f64
);
quantity!(Db, "a ratio", "3dB", [("dB", 1.0)], |value| finite(value).map(Db), |ratio| ratio.0);
quantity!(Dbm, "a power", "-96dBm", [("dBm", 1.0)], |value| finite(value).map(Dbm), |power| power.0);
quantity!(
    Hertz,
    "a frequency",
    "10MHz",
    [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
    |value| finite(value).map(Hertz),
    |frequency| frequency.0
);
quantity!(
    Metres,
    "a distance",
    "500m",
    [("m", 1.0), ("km", 1e3)],
    |value| finite(value).map(Metres),
    |distance| distance.0
);
quantity!(
    Speed,
    "a speed",
    "3km/h",
    [("m/s", 1.0), ("km/h", 1.0 / 3.6)],
    |value| finite(value).map(Speed),
    |speed| speed.0
);
quantity!(
    Degrees,
    "an angle",
    "120deg",
    [("deg", 1.0), ("°", 1.0)],
    |value| finite(value).map(Degrees),
    |angle| angle.0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_are_inverse() {
        for text in ["20ms", "1.5s", "1us", "7ns"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span, "{text}");
        }
        assert_eq!("0.03ms".parse::<Span>().unwrap(), Span::from_micros(30));
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes(65536));
        assert_eq!("1e6bps".parse::<BitRate>().unwrap(), BitRate(1_000_000));
        assert_eq!("100 Gbps".parse::<BitRate>().unwrap(), BitRate(100_000_000_000));
        assert_eq!("-96dBm".parse::<Dbm>().unwrap(), Dbm(-96.0));
        assert_eq!("-0km".parse::<Metres>().unwrap().to_string(), "0m");
        assert_eq!("36km/h".parse::<Speed>().unwrap(), Speed(10.0));
        for text in ["3km/h", "60km/h", "20m/s", "1.4m/s"] {
            let speed: Speed = text.parse().unwrap();
            assert_eq!(speed.to_string().parse::<Speed>().unwrap(), speed, "{text}");
        }
        assert_eq!(Span::from_millis(1500).to_string(), "1500ms");
        assert_eq!(Bytes(51200).to_string(), "50KiB");
    }

    #[test]
    fn messages_say_what_is_allowed() {
        let message = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(
            message("20"),
            "`20` needs a unit, as in \"20ms\"; allowed units: ns, us, µs, ms, s, min, h"
        );
        assert_eq!(message("20MB"), "`MB` is not a unit of a time; allowed units: ns, us, µs, ms, s, min, h");
        assert_eq!(message("-1s"), "`-1s` must not be negative");
        assert_eq!(message("5\nms"), "`5\\nms` is not a time; write a number and a unit, as in \"20ms\"");
        assert_eq!(message("5ms\n"), "`5ms\\n` is not a time; write a number and a unit, as in \"20ms\"");
        assert_eq!(message("soon"), "`soon` is not a time; write a number and a unit, as in \"20ms\"");
        assert_eq!("0.5B".parse::<Bytes>().unwrap_err().to_string(), "`0.5B` is not a whole number of bytes");
        assert_eq!("1e30s".parse::<Span>().unwrap_err().to_string(), "`1e30s` is too large");
    }
}

//! Numbers and quantities within a range.

use airwnd_units::{BitRate, Bytes, Db, Dbm, Degrees, Hertz, Metres, Span, Speed};
use arbitrary::{Result, Unstructured};
use serde_json::{Value as Json, json};

/// Allowed numbers or quantities of a parameter.
#[derive(Clone, Debug)]
pub struct Range {
    /// Minimum and maximum in written form.
    pub ends: [Json; 2],
    low: f64,
    high: f64,
    unit: Unit,
}

/// Notation of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Whole,
    Number,
    /// A quantity in whole units.
    Count(&'static str),
    /// A quantity on a continuous scale.
    Scale(&'static str),
}

/// Parses a quantity to a number and its unit.
fn quantity(text: &str) -> Option<(f64, Unit)> {
    let count = |number: u64, unit| (number as f64, Unit::Count(unit));
    let scale = |number: f64, unit| (number, Unit::Scale(unit));
    None.or_else(|| text.parse().ok().map(|Span(n)| count(n, "ns")))
        .or_else(|| text.parse().ok().map(|Bytes(n)| count(n, "B")))
        .or_else(|| text.parse().ok().map(|BitRate(n)| count(n, "bps")))
        .or_else(|| text.parse().ok().map(|Dbm(x)| scale(x, "dBm")))
        .or_else(|| text.parse().ok().map(|Db(x)| scale(x, "dB")))
        .or_else(|| text.parse().ok().map(|Hertz(x)| scale(x, "Hz")))
        .or_else(|| text.parse().ok().map(|Metres(x)| scale(x, "m")))
        .or_else(|| text.parse().ok().map(|Speed(x)| scale(x, "m/s")))
        .or_else(|| text.parse().ok().map(|Degrees(x)| scale(x, "deg")))
}

impl Range {
    /// Reads the range from a schema.
    ///
    /// # Panics
    /// If the schema has no range, or a quantity has an unknown unit.
    pub(crate) fn of(schema: &Json) -> Range {
        if let Some(unit) = match schema["type"].as_str() {
            Some("integer") => Some(Unit::Whole),
            Some("number") => Some(Unit::Number),
            _ => None,
        } {
            let ends = ["minimum", "maximum"].map(|key| schema[key].clone());
            let [low, high] = ends.each_ref().map(|end| end.as_f64().unwrap_or_else(|| panic!("{schema}")));
            return Range { ends, low, high, unit };
        }
        let ends = [0, 1].map(|place| schema["x-range"][place].clone());
        let parse = |end: &Json| end.as_str().and_then(quantity).unwrap_or_else(|| panic!("{schema}"));
        let ((low, _), (high, unit)) = (parse(&ends[0]), parse(&ends[1]));
        Range { ends, low, high, unit }
    }

    /// Returns a number in written form.
    fn write(&self, number: f64) -> Json {
        match self.unit {
            Unit::Whole if number < 0.0 => json!(number as i64),
            Unit::Whole => json!(number as u64),
            Unit::Number => json!(number),
            Unit::Count(unit) => json!(format!("{number:.0}{unit}")),
            Unit::Scale(unit) => json!(format!("{number}{unit}")),
        }
    }

    /// Returns whether the range contains this number.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// Zero in written form.
    pub fn zero(&self) -> Json {
        self.write(0.0)
    }

    /// Returns a value below the minimum and one above the maximum, as far as they can be written.
    pub fn outside(&self) -> Vec<Json> {
        let away = |end: f64| match self.unit {
            // The next whole number, or the next floating-point number.
            Unit::Whole | Unit::Count(_) => (end.abs() * f64::EPSILON).max(1.0),
            Unit::Number | Unit::Scale(_) => (end.abs() * 1e-9).max(1e-9),
        };
        let values = [self.low - away(self.low), self.high + away(self.high)];
        // Integers in TOML have 63 bits.
        values
            .into_iter()
            .filter(|value| value.abs() < i64::MAX as f64)
            .map(|value| self.write(value))
            .collect()
    }

    /// Returns the middle of the range, on a logarithmic scale if the minimum is above zero.
    pub fn middle(&self) -> Json {
        let middle =
            if self.low > 0.0 { (self.low * self.high).sqrt() } else { (self.low + self.high) / 2.0 };
        self.write(middle)
    }

    /// Draws a value of at most `max`, often an end or near `default`.
    ///
    /// # Errors
    /// As [`Unstructured`].
    pub fn draw(&self, u: &mut Unstructured<'_>, default: Option<&Json>, max: f64) -> Result<Json> {
        let default = default.and_then(|default| match default {
            Json::String(text) => quantity(text).map(|(number, _)| number),
            other => other.as_f64(),
        });
        let high = self.high.min(max).max(self.low);
        let part = f64::from(u.arbitrary::<u32>()?) / f64::from(u32::MAX);
        let drawn = match u.int_in_range(0..=9)? {
            0 => return Ok(self.ends[0].clone()),
            1 if high == self.high => return Ok(self.ends[1].clone()),
            2 => self.low + part * (high - self.low),
            3 | 4 => {
                // Logarithmic, from the minimum, or from a small number if the minimum is not positive.
                let min = if self.low > 0.0 { self.low } else { (high * 1e-9).max(f64::MIN_POSITIVE) };
                min * (high / min).max(1.0).powf(part)
            }
            _ => match default {
                Some(default) if default != 0.0 => default * 64f64.powf(part - 0.5),
                _ => self.low + part * (high - self.low) * 0.01,
            },
        };
        let drawn = if matches!(self.unit, Unit::Whole | Unit::Count(_)) { drawn.round() } else { drawn };
        Ok(self.write(drawn.clamp(self.low, high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(schema: Json) -> Range {
        Range::of(&schema)
    }

    #[test]
    fn a_range_is_read_and_values_just_outside_are_written() {
        let delay = range(json!({"type": "string", "x-range": ["0ns", "1min"]}));
        assert_eq!((delay.low, delay.high, delay.zero()), (0.0, 6e10, json!("0ns")));
        assert_eq!(delay.outside(), [json!("-1ns"), json!("60000000001ns")]);
        let part = range(json!({"type": "number", "minimum": 0.5, "maximum": 1.0}));
        assert_eq!(part.outside(), [json!(0.499999999), json!(1.000000001)]);
        assert!(part.contains(0.5) && !part.contains(0.0));
        let seed = range(json!({"type": "integer", "minimum": 1, "maximum": i64::MAX}));
        assert_eq!(seed.outside(), [json!(0)]);
    }

    #[test]
    fn drawn_values_are_within_the_range_and_include_its_ends() {
        let range = range(json!({"type": "string", "x-range": ["1B", "64KiB"]}));
        let bytes = crate::bytes(1, 10_000);
        let mut u = Unstructured::new(&bytes);
        let mut drawn = Vec::new();
        while !u.is_empty() {
            drawn.push(range.draw(&mut u, Some(&json!("1kB")), f64::INFINITY).unwrap());
        }
        assert!(drawn.contains(&json!("1B")) && drawn.contains(&json!("64KiB")));
        assert!(drawn.iter().all(|text| range.contains(quantity(text.as_str().unwrap()).unwrap().0)));
    }
}

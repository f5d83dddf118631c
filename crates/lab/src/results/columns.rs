//! Columns of results: name, unit, meaning and type, declared once on the field of a row.
//!
//! `#[derive(Columns)]` turns the fields of a struct into columns. The JSON of a run, the columns of its data frames,
//! `airwnd explain` and the reference page of results are derived from the declaration.
//!
//! ```
//! use airwnd_lab::columns::{Columns, Row};
//!
//! /// Statistics of a delay.
//! #[derive(Columns)]
//! struct Spread {
//!     /// Mean.
//!     mean: f64,
//!     /// Median.
//!     p50: Option<f64>,
//! }
//!
//! /// A row per flow.
//! #[derive(Columns)]
//! struct FlowRow {
//!     /// Packets sent.
//!     packets: u64,
//!     /// One-way delay.
//!     #[column(unit = "ms")]
//!     delay_ms: Spread,
//! }
//!
//! let names: Vec<&str> = FlowRow::columns().iter().map(|column| column.name.as_str()).collect();
//! assert_eq!(names, ["packets", "delay_ms_mean", "delay_ms_p50"]);
//! let p50 = &FlowRow::columns()[2];
//! assert_eq!((p50.unit, p50.meaning.as_str()), ("ms", "One-way delay: median."));
//! let row = FlowRow { packets: 3, delay_ms: Spread { mean: 25.5, p50: None } };
//! assert_eq!(
//!     airwnd_lab::columns::to_json(&row).to_string(),
//!     r#"{"packets":3,"delay_ms_mean":25.5,"delay_ms_p50":null}"#
//! );
//! ```
//!
//! A field without a doc comment does not compile:
//!
//! ```compile_fail
//! /// A row per flow.
//! #[derive(airwnd_lab::columns::Columns)]
//! struct FlowRow {
//!     packets: u64,
//! }
//! ```

use airwnd_cell::Reach;
use airwnd_kernel::Direction;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value as Json;
use std::ops::RangeInclusive;

pub use airwnd_derive::Columns;

/// A declared column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// Name in JSON, data frames, measures and pages.
    pub name: String,
    /// Type of the values.
    pub kind: Kind,
    /// Unit; "1" for dimensionless numbers and text.
    pub unit: &'static str,
    /// Heading in a table.
    pub short: String,
    /// Name on an axis, before the unit.
    pub label: String,
    /// Decimals in a table; 0 for whole numbers and text.
    pub digits: u8,
    /// Order of omission in a narrow table: the highest rank first, 0 never.
    pub rank: u8,
    /// Name in earlier versions.
    pub formerly: Option<&'static str>,
    /// Minimum and maximum possible value; infinite where there is no bound.
    pub range: RangeInclusive<f64>,
    /// Meaning.
    pub meaning: String,
}

/// Declaration of a field of a row or of a group of columns. `None`: the option is not written.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the field.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Unit.
    pub unit: Option<&'static str>,
    /// Minimum and maximum possible value.
    pub range: Option<RangeInclusive<f64>>,
    /// Heading.
    pub short: Option<&'static str>,
    /// Name on an axis.
    pub label: Option<&'static str>,
    /// Decimals.
    pub digits: Option<u8>,
    /// Order of omission.
    pub rank: Option<u8>,
    /// Name of the column in earlier versions.
    pub formerly: Option<&'static str>,
}

impl Part {
    /// A field without options.
    pub fn new(name: &'static str, meaning: &'static str) -> Part {
        Part {
            name,
            meaning,
            unit: None,
            range: None,
            short: None,
            label: None,
            digits: None,
            rank: None,
            formerly: None,
        }
    }

    /// The heading: the written one, otherwise the name without its unit.
    fn heading(&self, unit: &str) -> String {
        let in_name = match unit {
            "kbit/s" => "kbps".into(),
            "%" => "percent".into(),
            _ => unit.to_ascii_lowercase(),
        };
        let words: Vec<&str> = self.name.split('_').filter(|word| *word != in_name).collect();
        self.short.map_or_else(|| words.join(" "), Into::into)
    }
}

/// Decimals of the numbers in a unit: three digits or more of their usual values.
fn decimals(unit: &str) -> u8 {
    match unit {
        "s" | "1" => 3,
        "ms" | "%" | "bit/s/Hz" => 2,
        "kbit/s" | "dB" | "dBm" | "packets" => 1,
        _ => 0,
    }
}

/// Range of all numbers.
const ANY: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;

/// Possible values in a unit: amounts and delays are never negative. Times (`s`) and positions (`m`) are relative to an
/// origin, decibels to a reference.
fn possible(unit: &str) -> RangeInclusive<f64> {
    match unit {
        "bit/s/Hz" | "bytes" | "kbit/s" | "ms" | "packets" | "%" => 0.0..=f64::INFINITY,
        _ => ANY,
    }
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Floating-point numbers.
    Number,
    /// Whole numbers from 0.
    Whole,
    /// Text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Id of a flow, stored as its number.
    Flow,
}

impl Kind {
    /// Name of the type: `number`, `integer` or `text`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Whole => "integer",
            Kind::Text | Kind::Word(_) | Kind::Flow => "text",
        }
    }

    /// Allowed words of a text; empty: any text.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Kind::Word(words) => words,
            _ => &[],
        }
    }
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Nothing,
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A text.
    Text(&'a str),
    /// Index of a word in the column's list; for [`Kind::Flow`] the number of the flow.
    Place(u32),
}

/// A type with one or more columns.
pub trait Columns {
    /// Appends its columns. A single column has the declaration of the field; several columns extend the name and
    /// meaning of the field.
    fn declare(under: &ColumnInfo, to: &mut Vec<ColumnInfo>);

    /// Passes the value of each column to `to`, in order of declaration; `None`: no column has a value.
    fn cells(this: Option<&Self>, to: &mut dyn FnMut(Cell<'_>));
}

/// A struct whose fields are the columns of a table.
pub trait Row: Columns {
    /// Meaning of a row.
    const MEANING: &'static str;

    /// Columns of a row, in order. They are made once: a short run would take longer to make them than its figures.
    fn columns() -> &'static [ColumnInfo];
}

/// Makes the columns of a row from their declarations.
#[doc(hidden)]
pub fn declared<R: Columns>() -> Vec<ColumnInfo> {
    let nothing = ColumnInfo {
        name: String::new(),
        kind: Kind::Number,
        unit: "1",
        short: String::new(),
        label: String::new(),
        digits: decimals("1"),
        rank: 0,
        formerly: None,
        range: ANY,
        meaning: String::new(),
    };
    let mut columns = Vec::new();
    R::declare(&nothing, &mut columns);
    columns
}

/// Converts a row to a JSON object.
pub fn to_json<R: Row>(row: &R) -> Json {
    serde_json::to_value(Object(R::columns(), row)).expect("columns are values of JSON")
}

/// A row that serializes as an object.
pub(crate) struct Object<'a, R>(pub &'a [ColumnInfo], pub &'a R);

/// Rows that serialize as an array of objects.
pub(crate) struct Array<'a, R>(pub &'a [R]);

impl<R: Row> Serialize for Object<'_, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Object(columns, row) = self;
        let mut names = columns.iter();
        let mut object = to.serialize_map(Some(columns.len()))?;
        let mut written = Ok(());
        R::cells(Some(row), &mut |cell| {
            let ColumnInfo { name, kind, .. } = names.next().expect("a cell for each column");
            if written.is_ok() {
                written = match (cell, kind) {
                    (Cell::Nothing, _) => object.serialize_entry(name, &()),
                    // An empty sum of floats is -0.0; adding 0.0 makes it 0.0.
                    (Cell::Number(value), _) => object.serialize_entry(name, &(value + 0.0)),
                    (Cell::Whole(value), _) => object.serialize_entry(name, &value),
                    (Cell::Text(text), _) => object.serialize_entry(name, text),
                    (Cell::Place(place), Kind::Word(words)) => {
                        object.serialize_entry(name, words[place as usize])
                    }
                    (Cell::Place(place), _) => object.serialize_entry(name, &place),
                };
            }
        });
        written?;
        object.end()
    }
}

impl<R: Row> Serialize for Array<'_, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let columns = R::columns();
        to.collect_seq(self.0.iter().map(|row| Object(columns, row)))
    }
}

impl ColumnInfo {
    /// Declares a field of a row or of a group of columns. Without a unit it inherits unit, range and decimals of the
    /// group; with a unit its default range and decimals follow from the unit.
    pub fn part(&self, part: Part) -> ColumnInfo {
        let Part { name, meaning, digits, rank, formerly, .. } = part;
        let unit = part.unit.unwrap_or(self.unit);
        let short = part.heading(unit);
        let label = part.label.map_or_else(|| short.clone(), Into::into);
        let of_unit = part.unit.map(decimals);
        let digits = digits.or(of_unit).unwrap_or(self.digits);
        let range = part.range.unwrap_or_else(|| part.unit.map_or(self.range.clone(), possible));
        let rank = self.rank + rank.unwrap_or(0);
        let own = ColumnInfo {
            name: name.to_string(),
            kind: self.kind,
            unit,
            short,
            label,
            digits,
            rank,
            formerly,
            range,
            meaning: meaning.to_string(),
        };
        if self.name.is_empty() {
            return own;
        }
        let between = if part.label.is_some() { ", " } else { " " };
        ColumnInfo {
            name: format!("{}_{name}", self.name),
            short: format!("{} {}", self.short, own.short).trim().to_string(),
            label: format!("{}{between}{}", self.label, own.label).trim().to_string(),
            meaning: self.narrowed(meaning),
            ..own
        }
    }

    /// Combines the meanings of group and field: `One-way delay.` and `Median.` give `One-way delay: median.`
    fn narrowed(&self, meaning: &str) -> String {
        let mut letters = meaning.chars();
        let first = letters.next();
        let is_word = letters.as_str().chars().next().is_some_and(|next| !next.is_uppercase());
        let begin = first.map(|letter| if is_word { letter.to_ascii_lowercase() } else { letter });
        let general = self.meaning.trim_end_matches('.');
        format!("{general}: {}{}", begin.into_iter().collect::<String>(), letters.as_str())
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> ColumnInfo {
        let range = match kind {
            Kind::Whole => self.range.start().max(0.0)..=*self.range.end(),
            _ => self.range.clone(),
        };
        let digits = if kind == Kind::Number { self.digits } else { 0 };
        ColumnInfo { kind, range, digits, ..self.clone() }
    }
}

impl<C: Columns> Columns for Option<C> {
    fn declare(under: &ColumnInfo, to: &mut Vec<ColumnInfo>) {
        C::declare(under, to);
    }
    fn cells(this: Option<&Self>, to: &mut dyn FnMut(Cell<'_>)) {
        C::cells(this.and_then(Option::as_ref), to);
    }
}

/// Implements [`Columns`] for a type with one column, given its kind and the conversion to a cell.
macro_rules! one_column {
    ($type:ty, $kind:expr, $cell:expr) => {
        impl $crate::results::columns::Columns for $type {
            fn declare(
                under: &$crate::results::columns::ColumnInfo,
                to: &mut Vec<$crate::results::columns::ColumnInfo>,
            ) {
                to.push(under.of_kind($kind));
            }
            fn cells(this: Option<&Self>, to: &mut dyn FnMut($crate::results::columns::Cell<'_>)) {
                let to_cell: fn(&Self) -> $crate::results::columns::Cell<'_> = $cell;
                to(this.map_or($crate::results::columns::Cell::Nothing, to_cell));
            }
        }
    };
}
pub(crate) use one_column;

// An empty sum is -0.0; results have 0.0.
one_column!(f64, Kind::Number, |value| Cell::Number(*value + 0.0));
one_column!(u64, Kind::Whole, |value| Cell::Whole(*value));
one_column!(u32, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(u16, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(u8, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(String, Kind::Text, |value| Cell::Text(value));
one_column!(Reach, Kind::Word(Reach::WORDS), |value| Cell::Place(*value as u32));
one_column!(Direction, Kind::Word(&["down", "up"]), |value| Cell::Place(*value as u32));

/// Number of a flow; results show its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowNumber(pub u32);

one_column!(FlowNumber, Kind::Flow, |flow| Cell::Place(flow.0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_and_words_have_the_same_order() {
        for direction in Direction::BOTH {
            assert_eq!(["down", "up"][direction as usize], direction.word());
        }
    }

    #[test]
    fn zero_has_no_sign() {
        /// A row.
        #[derive(airwnd_derive::Columns)]
        struct Row {
            /// A sum.
            sum: f64,
        }
        let row = Row { sum: std::iter::empty::<f64>().sum() };
        assert_eq!(to_json(&row).to_string(), "{\"sum\":0.0}");
    }

    #[test]
    fn groups_extend_name_and_meaning() {
        /// Percentiles.
        #[derive(airwnd_derive::Columns)]
        struct Percentiles {
            /// Mean.
            #[column(short = "", label = "mean")]
            mean: f64,
            /// 95th percentile.
            #[column(label = "95th percentile", rank = 2)]
            p95: f64,
            /// RLC's part.
            #[column(unit = "%")]
            rlc: f64,
        }
        /// A row.
        #[derive(airwnd_derive::Columns)]
        struct Row {
            /// Round-trip time.
            #[column(unit = "ms", range = 0.0..=9.0, short = "RTT", digits = 1, rank = 5)]
            rtt_ms: Percentiles,
        }
        let [mean, p95, rlc] = <Row as super::Row>::columns() else { panic!("three columns") };
        assert_eq!((p95.name.as_str(), p95.unit, p95.range.clone()), ("rtt_ms_p95", "ms", 0.0..=9.0));
        assert_eq!(p95.meaning, "Round-trip time: 95th percentile.");
        assert_eq!(rlc.meaning, "Round-trip time: RLC's part.");
        assert_eq!(
            (mean.short.as_str(), mean.label.as_str(), mean.digits, mean.rank),
            ("RTT", "RTT, mean", 1, 5)
        );
        assert_eq!(
            (p95.short.as_str(), p95.label.as_str(), p95.rank),
            ("RTT p95", "RTT, 95th percentile", 7)
        );
        assert_eq!((rlc.short.as_str(), rlc.label.as_str(), rlc.digits), ("RTT rlc", "RTT rlc", 2));
    }

    #[test]
    fn a_heading_follows_from_the_name() {
        /// A row.
        #[derive(airwnd_derive::Columns)]
        struct Row {
            /// A rate.
            #[column(unit = "kbit/s")]
            air_rate_kbps: f64,
            /// A count.
            lost_packets: u64,
        }
        let headings: Vec<_> = <Row as super::Row>::columns()
            .iter()
            .map(|column| (column.short.as_str(), column.digits))
            .collect();
        assert_eq!(headings, [("air rate", 1), ("lost packets", 0)]);
    }

    #[test]
    fn a_column_has_its_declared_range_or_that_of_its_unit() {
        /// A row.
        #[derive(airwnd_derive::Columns)]
        struct Row {
            /// A share.
            #[column(unit = "%", range = 0.0..=100.0)]
            share: f64,
            /// A delay.
            #[column(unit = "ms")]
            delay: f64,
            /// A level.
            #[column(unit = "dB")]
            level: f64,
            /// A count.
            count: u64,
        }
        let ranges: Vec<_> =
            <Row as super::Row>::columns().iter().map(|column| column.range.clone()).collect();
        assert_eq!(ranges, [0.0..=100.0, 0.0..=f64::INFINITY, ANY, 0.0..=f64::INFINITY]);
    }
}

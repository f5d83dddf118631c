//! Columns of results: name, unit, meaning and type, declared once on the field of a row.
//!
//! `#[derive(Columns)]` turns the fields of a struct into columns. From the declaration come the JSON of a run, the
//! columns of its data frames, `airwnd explain` and the reference page of results.
//!
//! ```
//! use airwnd_lab::columns::{Columns, Row, columns};
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
//! let names: Vec<String> = columns::<FlowRow>().into_iter().map(|column| column.name).collect();
//! assert_eq!(names, ["packets", "delay_ms_mean", "delay_ms_p50"]);
//! let p50 = &columns::<FlowRow>()[2];
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
    /// Its name, in JSON, data frames, measures and pages.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// The unit, "1" for pure numbers and for text.
    pub unit: &'static str,
    /// The least and the greatest value that is possible; infinite where there is no bound.
    pub range: RangeInclusive<f64>,
    /// What it means.
    pub meaning: String,
}

/// Every number.
const ANY: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;

/// The numbers that are possible in a unit: amounts and delays are never negative. Times (`s`) and positions (`m`)
/// count from an origin, and decibels from a reference.
fn possible(unit: &str) -> RangeInclusive<f64> {
    match unit {
        "bit/s/Hz" | "bytes" | "kbit/s" | "ms" | "packets" | "%" => 0.0..=f64::INFINITY,
        _ => ANY,
    }
}

/// What a column holds.
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
    /// The id of a flow, by its number.
    Flow,
}

impl Kind {
    /// The type in words: `number`, `integer` or `text`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Whole => "integer",
            Kind::Text | Kind::Word(_) | Kind::Flow => "text",
        }
    }

    /// The words that a text may be; none: any.
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
    /// The word at this place in the column's list; of a [`Kind::Flow`] the flow's number.
    Place(u32),
}

/// A type that stands for one column or several.
pub trait Columns {
    /// Appends its columns. One column takes over what is declared of the field; several extend the field's name and
    /// meaning.
    fn declare(under: &ColumnInfo, to: &mut Vec<ColumnInfo>);

    /// Passes the value of each column on, in the order of their declaration; `None`: none of them has a value.
    fn cells(this: Option<&Self>, to: &mut dyn FnMut(Cell<'_>));
}

/// A struct whose fields are the columns of a table.
pub trait Row: Columns {
    /// What a row of the table is.
    const MEANING: &'static str;
}

/// The columns of a row in their order.
pub fn columns<R: Row>() -> Vec<ColumnInfo> {
    let nothing =
        ColumnInfo { name: String::new(), kind: Kind::Number, unit: "1", range: ANY, meaning: String::new() };
    let mut columns = Vec::new();
    R::declare(&nothing, &mut columns);
    columns
}

/// A row as an object.
pub fn to_json<R: Row>(row: &R) -> Json {
    serde_json::to_value(Object(&columns::<R>(), row)).expect("columns are values of JSON")
}

/// A row, to be written as an object.
pub(crate) struct Object<'a, R>(pub &'a [ColumnInfo], pub &'a R);

/// Rows, to be written as an array of objects.
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
                    // An empty sum of floats is -0.0.
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
        let columns = columns::<R>();
        to.collect_seq(self.0.iter().map(|row| Object(&columns, row)))
    }
}

impl ColumnInfo {
    /// The declaration of a field of a row or of a group of columns; without a unit it has unit and range of the
    /// group, and with one the range that the unit allows.
    pub fn part(
        &self,
        name: &str,
        meaning: &str,
        unit: Option<&'static str>,
        range: Option<RangeInclusive<f64>>,
    ) -> ColumnInfo {
        let range = range.unwrap_or_else(|| unit.map_or(self.range.clone(), possible));
        let (name, meaning) = match self.name.as_str() {
            "" => (name.to_string(), meaning.to_string()),
            group => (format!("{group}_{name}"), self.narrowed(meaning)),
        };
        ColumnInfo { name, kind: self.kind, unit: unit.unwrap_or(self.unit), range, meaning }
    }

    /// `One-way delay.` and `Median.` make `One-way delay: median.`
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
        ColumnInfo { kind, range, ..self.clone() }
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

/// Implements [`Columns`] for a type that stands for one column: its kind, and the cell of a value.
macro_rules! one_column {
    ($type:ty, $kind:expr, $cell:expr) => {
        impl $crate::columns::Columns for $type {
            fn declare(under: &$crate::columns::ColumnInfo, to: &mut Vec<$crate::columns::ColumnInfo>) {
                to.push(under.of_kind($kind));
            }
            fn cells(this: Option<&Self>, to: &mut dyn FnMut($crate::columns::Cell<'_>)) {
                let of: fn(&Self) -> $crate::columns::Cell<'_> = $cell;
                to(this.map_or($crate::columns::Cell::Nothing, of));
            }
        }
    };
}
pub(crate) use one_column;

// A sum of no numbers is -0.0; results have 0.0.
one_column!(f64, Kind::Number, |value| Cell::Number(*value + 0.0));
one_column!(u64, Kind::Whole, |value| Cell::Whole(*value));
one_column!(u32, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(u16, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(u8, Kind::Whole, |value| Cell::Whole((*value).into()));
one_column!(String, Kind::Text, |value| Cell::Text(value));
one_column!(Reach, Kind::Word(Reach::WORDS), |value| Cell::Place(*value as u32));
one_column!(Direction, Kind::Word(&["down", "up"]), |value| Cell::Place(*value as u32));

/// The number of a flow; users see its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowNumber(pub u32);

one_column!(FlowNumber, Kind::Flow, |flow| Cell::Place(flow.0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_stands_at_the_place_of_its_word() {
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
        let field = ColumnInfo {
            name: "rtt_ms".into(),
            kind: Kind::Number,
            unit: "ms",
            range: 0.0..=9.0,
            meaning: "Round-trip time.".into(),
        };
        let part = field.part("p95", "95th percentile.", None, None);
        assert_eq!((part.name.as_str(), part.unit, part.range), ("rtt_ms_p95", "ms", 0.0..=9.0));
        assert_eq!(part.meaning, "Round-trip time: 95th percentile.");
        assert_eq!(field.part("x", "RLC's part.", Some("B"), None).meaning, "Round-trip time: RLC's part.");
    }

    #[test]
    fn a_column_has_the_range_that_it_says_or_that_its_unit_allows() {
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
        let ranges: Vec<_> = columns::<Row>().into_iter().map(|column| column.range).collect();
        assert_eq!(ranges, [0.0..=100.0, 0.0..=f64::INFINITY, ANY, 0.0..=f64::INFINITY]);
    }
}

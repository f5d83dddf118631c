//! Tables stored by columns, for time series and events.

use crate::results::columns::{Cell, Kind, Row};
use std::marker::PhantomData;

/// Named columns of equal length; no columns if the table was not requested.
pub type Table = Vec<(String, Column)>;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; NaN where there is no value.
    F64(Vec<f64>),
    /// Whole numbers; [`NOTHING`] where there is no value.
    U32(Vec<u32>),
    /// Words as indices into a list, to avoid repeated text in long tables; [`NOTHING`] where there is no value.
    Words(Vec<u32>, Vec<String>),
}

/// Marks a missing value in a column of whole numbers or words.
pub const NOTHING: u32 = u32::MAX;

/// Creates a table from named columns.
pub(crate) fn table<const N: usize>(columns: [(&str, Column); N]) -> Table {
    columns.into_iter().map(|(name, column)| (name.to_string(), column)).collect()
}

/// A table that is filled row by row and stored by columns.
#[derive(Clone, Debug)]
pub(crate) struct Rows<R> {
    table: Vec<Growing>,
    row: PhantomData<R>,
}

#[derive(Clone, Debug)]
struct Growing {
    name: String,
    kind: Kind,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    Numbers(Vec<f64>),
    Whole(Vec<u32>),
}

impl<R: Row> Default for Rows<R> {
    fn default() -> Self {
        let growing = |kind| match kind {
            Kind::Number => Values::Numbers(Vec::new()),
            Kind::Whole | Kind::Word(_) | Kind::Flow => Values::Whole(Vec::new()),
            Kind::Text => unreachable!("long tables have words instead of texts"),
        };
        let table = R::columns()
            .iter()
            .map(|column| Growing {
                name: column.name.clone(),
                kind: column.kind,
                values: growing(column.kind),
            })
            .collect();
        Rows { table, row: PhantomData }
    }
}

impl<R: Row> Rows<R> {
    pub fn push(&mut self, row: &R) {
        let mut columns = self.table.iter_mut();
        R::cells(Some(row), &mut |cell| {
            let column = columns.next().expect("a column for each cell");
            match (&mut column.values, cell) {
                (Values::Numbers(values), Cell::Number(value)) => values.push(value),
                (Values::Numbers(values), Cell::Nothing) => values.push(f64::NAN),
                (Values::Whole(values), Cell::Whole(value)) => {
                    values.push(u32::try_from(value).expect("whole numbers of long tables fit into 32 bits"));
                }
                (Values::Whole(values), Cell::Place(place)) => values.push(place),
                (Values::Whole(values), Cell::Nothing) => values.push(NOTHING),
                (_, cell) => unreachable!("{cell:?} in column `{}`", column.name),
            }
        });
    }

    /// Memory of a row in bytes, counted twice: in this table, and in the data frames built from it.
    pub fn row_bytes() -> usize {
        let bytes = |column: &Growing| match column.values {
            Values::Numbers(_) => size_of::<f64>(),
            Values::Whole(_) => size_of::<u32>(),
        };
        2 * Rows::<R>::default().table.iter().map(bytes).sum::<usize>()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.table.first().map_or(0, |column| match &column.values {
            Values::Numbers(values) => values.len(),
            Values::Whole(values) => values.len(),
        })
    }

    /// Converts to a table; `flows` are the ids of the flows by number.
    pub fn table(self, flows: &[String]) -> Table {
        let column = |values, kind| match (values, kind) {
            (Values::Numbers(values), _) => Column::F64(values),
            (Values::Whole(places), Kind::Flow) => Column::Words(places, flows.to_vec()),
            (Values::Whole(places), Kind::Word(words)) => {
                Column::Words(places, words.iter().map(|word| word.to_string()).collect())
            }
            (Values::Whole(values), _) => Column::U32(values),
        };
        self.table.into_iter().map(|growing| (growing.name, column(growing.values, growing.kind))).collect()
    }
}

impl<R: Row> FromIterator<R> for Rows<R> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut table = Rows::default();
        rows.into_iter().for_each(|row| table.push(&row));
        table
    }
}

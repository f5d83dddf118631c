//! CSV files with a line of column names, and numbers below it.

use std::ops::RangeInclusive;

/// The number of a line, counted from 1, and what is wrong there.
pub(crate) type Mistake = (usize, String);

/// A text as columns and lines.
pub(crate) struct Table<'t> {
    columns: Vec<&'t str>,
    lines: Vec<(usize, Vec<&'t str>)>,
}

/// A line below the names.
pub(crate) struct Line<'t, 's> {
    number: usize,
    columns: &'s [&'t str],
    cells: &'s [&'t str],
}

impl<'t> Table<'t> {
    /// Splits a text into lines, without empty ones and those that begin with `#`, and these at commas.
    ///
    /// # Errors
    /// A text without a line of names.
    pub fn of(text: &'t str) -> Result<Table<'t>, Mistake> {
        let split = |line: &'t str| line.split(',').map(str::trim).collect::<Vec<_>>();
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
            .map(|(number, line)| (number, split(line)));
        let Some((_, columns)) = lines.next() else { return Err((1, "the file is empty".into())) };
        Ok(Table { columns, lines: lines.collect() })
    }

    /// The place of a column.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }

    /// The place of a column that must be there.
    pub fn need(&self, name: &str) -> Result<usize, Mistake> {
        self.find(name).ok_or_else(|| (1, format!("there is no column `{name}`")))
    }

    /// What is made of each line below the names; there must be one at least.
    pub fn rows<R>(
        &self,
        of: impl Fn(&Line<'t, '_>) -> Result<R, Mistake>,
        what: &str,
    ) -> Result<Vec<R>, Mistake> {
        if self.lines.is_empty() {
            return Err((1, format!("there is no {what} in it")));
        }
        let line = |(number, cells)| Line { number, columns: &self.columns, cells };
        self.lines.iter().map(|(number, cells)| of(&line((*number, cells)))).collect()
    }

    /// The number of the line that a row was made of.
    pub fn line_of(&self, row: usize) -> usize {
        self.lines[row].0
    }
}

impl Line<'_, '_> {
    /// The number in a column.
    ///
    /// # Errors
    /// What is no number, or outside the range.
    pub fn number(&self, column: usize, range: RangeInclusive<f64>) -> Result<f64, Mistake> {
        let text = self.cells.get(column).copied().unwrap_or("");
        let name = self.columns[column];
        match text.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(value) if value.is_finite() => {
                let (low, high) = (range.start(), range.end());
                Err((self.number, format!("{value} in column `{name}` is outside {low}..{high}")))
            }
            _ => Err((self.number, format!("`{text}` in column `{name}` is not a number"))),
        }
    }
}

//! CSV files of numbers with a header line.
//!
//! Fields are separated by commas, semicolons or tabs, whichever the header line has most of. `airwnd.text.csv_rows`
//! is the reader of cell lists, with the same rules.

use csv::{ReaderBuilder, StringRecord};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Number of a line, counted from 1, and the error in it.
pub type Mistake = (usize, String);

/// Separators of fields, the usual one first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// A parsed CSV text. Empty lines and lines that begin with `#` are skipped.
pub struct Table {
    columns: Vec<String>,
    /// Number of the header line.
    header: usize,
    lines: Vec<(usize, StringRecord)>,
}

/// A line after the header.
pub struct Line<'t> {
    number: usize,
    columns: &'t [String],
    cells: &'t StringRecord,
}

impl Table {
    /// Splits a text into lines and fields (RFC 4180). `known` are the names that a column may have.
    ///
    /// # Errors
    /// A text without a header, a column that is unknown or duplicate, or a line with more or fewer fields than the
    /// header.
    pub fn of(text: &str, known: &[&str]) -> Result<Table, Mistake> {
        Table::split(text, Some(known))
    }

    /// Splits a text whose columns may have any names.
    ///
    /// # Errors
    /// A text without a header, a duplicate column, or a line with more or fewer fields than the header.
    pub fn with_others(text: &str) -> Result<Table, Mistake> {
        Table::split(text, None)
    }

    fn split(text: &str, known: Option<&[&str]>) -> Result<Table, Mistake> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .delimiter(separator(text))
            .flexible(true)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.expect("flexible records of valid UTF-8 cannot fail");
            if record.len() > 1 || !record[0].trim().is_empty() {
                lines.push((line_of(text, &record), record));
            }
        }
        if lines.is_empty() {
            return Err((1, "the file is empty".into()));
        }
        let (header, names) = lines.remove(0);
        let columns: Vec<String> = names.iter().map(|name| name.trim().to_string()).collect();
        if columns.iter().all(|name| name.parse::<f64>().is_ok()) {
            let listed = known.map(|known| format!("; known columns: {}", quoted(known))).unwrap_or_default();
            return Err((header, format!("there is no header line before the numbers{listed}")));
        }
        if let Some(known) = known
            && let Some(unknown) = columns.iter().find(|name| !known.contains(&name.as_str()))
        {
            return Err((header, format!("unknown column `{}`; known: {}", shown(unknown), quoted(known))));
        }
        if let Some(twice) = (1..columns.len()).find(|place| columns[..*place].contains(&columns[*place])) {
            return Err((header, format!("duplicate column `{}`", columns[twice])));
        }
        match lines.iter().find(|(_, cells)| cells.len() != columns.len()) {
            Some((number, cells)) => {
                let (found, named) = (cells.len(), columns.len());
                Err((*number, format!("{found} fields in a line, but {named} columns in line {header}")))
            }
            None => Ok(Table { columns, header, lines }),
        }
    }

    /// Returns the index of a column, if it exists.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the index of the column with the first of these names that exists, in any case of letters.
    pub fn find_any(&self, names: &[&str]) -> Option<usize> {
        let find = |name: &&str| self.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        names.iter().find_map(find)
    }

    /// The mistake of a table that has no column of these names.
    pub fn lacks(&self, names: &[&str]) -> Mistake {
        let columns = quoted(self.columns.iter().map(|name| shown(name)));
        (self.header, format!("no column {}; the file has {columns}", quoted(names)))
    }

    /// Returns the name of a column.
    pub fn name(&self, column: usize) -> &str {
        &self.columns[column]
    }

    /// Number of the header line.
    pub fn header(&self) -> usize {
        self.header
    }

    /// Returns the index of a required column.
    ///
    /// # Errors
    /// A missing column.
    pub fn need(&self, name: &str) -> Result<usize, Mistake> {
        self.find(name).ok_or_else(|| (self.header, format!("there is no column `{name}`")))
    }

    /// Converts each line after the header; there must be at least one. `what` names the contents of a line.
    ///
    /// # Errors
    /// The first error in a line, or a file without lines.
    pub fn rows<R>(
        &self,
        mut convert: impl FnMut(&Line<'_>) -> Result<R, Mistake>,
        what: &str,
    ) -> Result<Vec<R>, Mistake> {
        if self.lines.is_empty() {
            return Err((self.header, format!("no rows; at least one {what} is required")));
        }
        let line = |(number, cells)| Line { number, columns: &self.columns, cells };
        self.lines.iter().map(|(number, cells)| convert(&line((*number, cells)))).collect()
    }

    /// Number of the last line.
    pub fn last_line(&self) -> usize {
        self.lines.last().map_or(self.header, |(number, _)| *number)
    }

    /// Number of the line that a row was read from.
    pub fn line_of(&self, row: usize) -> usize {
        self.lines[row].0
    }
}

impl Line<'_> {
    /// The mistake of a column whose text is not of this form.
    pub fn mistake(&self, column: usize, form: &str) -> Mistake {
        let (text, name) = (shown(self.text(column)), &self.columns[column]);
        (self.number, format!("`{text}` in column `{name}` is not {form}"))
    }

    /// Returns the text in a column.
    pub fn text(&self, column: usize) -> &str {
        self.cells[column].trim()
    }

    /// Returns the number in a column.
    ///
    /// # Errors
    /// A text that is not a number, or a number outside the range.
    pub fn number(&self, column: usize, range: RangeInclusive<f64>) -> Result<f64, Mistake> {
        let text = self.text(column);
        let name = &self.columns[column];
        match text.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(value) if value.is_finite() => {
                let (low, high) = (range.start(), range.end());
                Err((self.number, format!("{value} in column `{name}` is outside {low}..{high}")))
            }
            _ => {
                let hint = if text.contains(',') { "; decimals have a point" } else { "" };
                Err((self.number, format!("`{text}` in column `{name}` is not a number{hint}")))
            }
        }
    }

    /// Returns the whole number in a column.
    ///
    /// # Errors
    /// A text that is not a number, a number with a fraction, or one outside the range.
    pub fn whole(&self, column: usize, range: RangeInclusive<u64>) -> Result<f64, Mistake> {
        match self.number(column, *range.start() as f64..=*range.end() as f64)? {
            value if value.fract() == 0.0 => Ok(value),
            value => {
                let name = &self.columns[column];
                Err((self.number, format!("{value} in column `{name}` is not a whole number")))
            }
        }
    }
}

/// Names in a message.
fn quoted(names: impl IntoIterator<Item = impl Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Start of a text of a file that is not known to be short or printable.
fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

/// Separator that is most frequent in the header line, outside of quotes.
fn separator(text: &str) -> u8 {
    let is_header = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let header = text.lines().find(is_header).unwrap_or_default();
    let outside = || header.split('"').step_by(2).flat_map(str::bytes);
    let count = |separator: u8| outside().filter(|byte| *byte == separator).count();
    // The first of several maxima.
    SEPARATORS.into_iter().rev().max_by_key(|separator| count(*separator)).expect("three of them")
}

/// Number of the line at which a record begins: its reported position precedes the skipped lines.
fn line_of(text: &str, record: &StringRecord) -> usize {
    let position = record.position().expect("a record that was read has a position");
    let rest = &text[position.byte() as usize..];
    let skipped = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    position.line() as usize + skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<f64>, Mistake> {
        let table = Table::of(text, &["size", "at", "note"])?;
        let size = table.need("size")?;
        table.rows(|line| line.whole(size, 1..=1000), "size")
    }

    #[test]
    fn columns_are_found_by_name_and_may_be_quoted() {
        assert_eq!(read("# sizes\n\nnote, size\n\"a, b\", 3 \n# more\n,4\n"), Ok(vec![3.0, 4.0]));
    }

    /// Also with line ends of other systems.
    #[test]
    fn fields_are_separated_by_commas_semicolons_or_tabs() {
        for text in ["size;note\n3;\"a, b\"\n4;c,d", "size\tnote\r\n3\ta,b\r\n4\t;\r\n", "size\r3\r4\r"] {
            assert_eq!(read(text), Ok(vec![3.0, 4.0]), "{text:?}");
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let mistake = |text: &str| read(text).unwrap_err();
        assert_eq!(mistake(" \n#\n"), (1, "the file is empty".into()));
        assert_eq!(mistake("\nsizes\n1"), (2, "unknown column `sizes`; known: `size`, `at`, `note`".into()));
        assert_eq!(mistake("\nnote,at\n1,2"), (2, "there is no column `size`".into()));
        let headless = "there is no header line before the numbers; known columns: `size`, `at`, `note`";
        assert_eq!(mistake("1\n2"), (1, headless.into()));
        assert_eq!(
            mistake("at;size\n1;2,5"),
            (2, "`2,5` in column `size` is not a number; decimals have a point".into())
        );
        assert_eq!(mistake("size\n"), (1, "no rows; at least one size is required".into()));
        assert_eq!(mistake("size,at,size\n1,2,3"), (1, "duplicate column `size`".into()));
        let surplus = "3 fields in a line, but 2 columns in line 1";
        assert_eq!(mistake("size,at\n1,2\n\n#\n1,2,3"), (5, surplus.into()));
        assert_eq!(mistake("size,at\r\n1\r\n"), (2, "1 fields in a line, but 2 columns in line 1".into()));
        assert_eq!(mistake("size\n1.5"), (2, "1.5 in column `size` is not a whole number".into()));
        assert_eq!(mistake("size\n1e9"), (2, "1000000000 in column `size` is outside 1..1000".into()));
        assert_eq!(mistake("size\nnan"), (2, "`nan` in column `size` is not a number".into()));
    }
}

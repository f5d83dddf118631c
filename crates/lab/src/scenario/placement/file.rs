//! Placement at the points of a file.

use super::{Place, Placement};
use airwnd_catalog::{Fault, Files, Params, csv};
use airwnd_kernel::Stream;
use airwnd_units::Metres;

/// Maximum absolute coordinate in metres.
const FARTHEST: f64 = 1e6;

/// Columns. Those after `srs_offset` are in the ns-3 reference runs and have no effect.
const COLUMNS: [&str; 9] =
    ["x_m", "y_m", "cell", "srs_offset", "ue", "sinr_db", "goodput_kbps", "error_kbps", "delay_ms"];

/// File: the points of a CSV file, in order.
///
/// The file begins with a header line. `x_m` and `y_m` are required; `cell` (the serving cell, counted from 1) and
/// `srs_offset` are optional; `ue`, `sinr_db`, `goodput_kbps`, `error_kbps` and `delay_ms` have no effect. The path is
/// relative to the scenario's folder. A resolved scenario contains the rows and does not read the file again.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the columns of the ns-3 reference runs", files)]
pub struct Params {
    /// Path of the file; its contents are stored in `rows` when it is read.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// Rows of the file: x and y in metres, cell (from 0) and SRS offset, each -1 if not given.
    #[param(expert, default = Vec::new(), range = -FARTHEST..=FARTHEST, unit = "m", source = "the file")]
    pub rows: Vec<[f64; 4]>,
}

impl Params {
    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        files.read_rows("path", &self.path, &mut self.rows, parse)
    }
}

/// Placement at the points of a file.
pub struct File {
    params: Params,
}

impl File {
    /// Creates the placement from the rows.
    pub fn new(params: Params) -> Self {
        File { params }
    }
}

impl Placement for File {
    fn place(&self, index: usize, _count: usize, _stream: Stream) -> Option<Place> {
        let number = |value: f64| (value >= 0.0).then_some(value as u16);
        self.params.rows.get(index).map(|[x, y, cell, offset]| Place {
            x: Metres(*x),
            y: Metres(*y),
            cell: number(*cell),
            srs_offset: number(*offset),
        })
    }
    fn places(&self) -> Option<usize> {
        Some(self.params.rows.len())
    }
}

/// Parses a CSV text.
///
/// # Errors
/// The number of a line, and the error in it.
pub fn parse(text: &str) -> Result<Vec<[f64; 4]>, (usize, String)> {
    let table = csv::Table::of(text, &COLUMNS)?;
    let (x, y) = (table.need("x_m")?, table.need("y_m")?);
    let (cell, offset) = (table.find("cell"), table.find("srs_offset"));
    let row = |line: &csv::Line<'_>| {
        let place = |column| line.number(column, -FARTHEST..=FARTHEST);
        let whole = |column: Option<usize>, min: u64| match column {
            None => Ok(-1.0),
            Some(column) => Ok(line.whole(column, min..=65535)? - min as f64),
        };
        Ok([place(x)?, place(y)?, whole(cell, 1)?, whole(offset, 0)?])
    };
    table.rows(row, "point")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let rows = parse("ue,x_m,y_m,cell\n0,1.5,-2,1\n1,3,4,2\n").unwrap();
        assert_eq!(rows, [[1.5, -2.0, 0.0, -1.0], [3.0, 4.0, 1.0, -1.0]]);
    }

    #[test]
    fn mistakes_name_line_and_column() {
        assert_eq!(parse(""), Err((1, "the file is empty".into())));
        assert_eq!(parse("ue,y_m\n"), Err((1, "there is no column `x_m`".into())));
        let known = "`x_m`, `y_m`, `cell`, `srs_offset`, `ue`, `sinr_db`, `goodput_kbps`, `error_kbps`, \
                     `delay_ms`";
        assert_eq!(parse("x,y\n"), Err((1, format!("unknown column `x`; known: {known}"))));
        assert_eq!(parse("x_m,y_m\n1,b"), Err((2, "`b` in column `y_m` is not a number".into())));
        assert_eq!(parse("x_m,y_m,cell\n1,2,0"), Err((2, "0 in column `cell` is outside 1..65535".into())));
    }
}

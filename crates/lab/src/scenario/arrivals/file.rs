//! Recorded arrivals.

use super::{Arrival, Arrivals};
use crate::scenario::size::MAX;
use airwnd_catalog::{Fault, Files, Params, csv};
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span};

/// Maximum length of a recording in seconds: one year.
const LONGEST: f64 = 31_536_000.0;

/// File: arrivals at the times of a CSV file, optionally with flow sizes.
///
/// The file begins with a header line. `time_s` counts from the start of the group of flows and must ascend. The
/// optional `size_bytes` replaces the size of the transfer. Times after the end are ignored.
/// The path is relative to the scenario's folder. A resolved scenario contains the rows and does not read the file
/// again.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "a recording", check, files)]
pub struct Params {
    /// Path of the file; its contents are stored in `rows` when it is read.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// Rows of the file: time in seconds, and size in bytes or -1 for none.
    #[param(expert)]
    #[param(default = Vec::new(), range = -1.0..=(1u64 << 40) as f64, unit = "s, B", source = "the file")]
    pub rows: Vec<[f64; 2]>,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        match flaw(&self.rows) {
            Some((place, message)) => Err(("rows", format!("row {place}: {message}"))),
            None => Ok(()),
        }
    }

    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        files.read_rows("path", &self.path, &mut self.rows, parse)
    }
}

/// Recorded arrivals.
pub struct File {
    path: String,
    arrivals: Vec<Arrival>,
}

impl File {
    /// Creates the arrivals from the rows.
    pub fn new(params: Params) -> Self {
        let arrival = |[time, size]: &[f64; 2]| Arrival {
            at: Span::from_secs_f64(*time),
            size: (*size >= 1.0).then_some(Bytes(*size as u64)),
        };
        File { arrivals: params.rows.iter().map(arrival).collect(), path: params.path }
    }
}

impl Arrivals for File {
    fn times(&self, until: Span, _stream: Stream) -> Vec<Arrival> {
        self.arrivals.iter().take_while(|arrival| arrival.at < until).copied().collect()
    }
    fn expected(&self, until: Span) -> f64 {
        self.arrivals.iter().take_while(|arrival| arrival.at < until).count() as f64
    }
    fn sizes(&self) -> Option<&str> {
        self.arrivals.iter().any(|arrival| arrival.size.is_some()).then_some(&self.path)
    }
}

/// Returns the index of the first invalid row, and the error.
fn flaw(rows: &[[f64; 2]]) -> Option<(usize, String)> {
    rows.iter().enumerate().find_map(|(place, [at, size])| {
        let before = place.checked_sub(1).map_or(0.0, |before| rows[before][0]);
        if *at < before {
            Some((place, format!("{at} s comes after {before} s; times must ascend")))
        } else if *size != -1.0 && *size < 1.0 {
            Some((place, format!("size {size} is below 1")))
        } else {
            None
        }
    })
}

/// Parses a CSV text.
///
/// # Errors
/// The number of a line, and the error in it.
pub fn parse(text: &str) -> Result<Vec<[f64; 2]>, (usize, String)> {
    let table = csv::Table::of(text, &["time_s", "size_bytes"])?;
    let (time, size) = (table.need("time_s")?, table.find("size_bytes"));
    let row = |line: &csv::Line<'_>| {
        let bytes = size.map_or(Ok(-1.0), |column| line.whole(column, 1..=MAX.0))?;
        Ok([line.number(time, 0.0..=LONGEST)?, bytes])
    };
    let rows = table.rows(row, "arrival")?;
    flaw(&rows).map_or(Ok(rows), |(place, message)| Err((table.line_of(place), message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_sizes() {
        let arrivals = |text: &str| {
            let params = Params { path: String::new(), rows: parse(text).unwrap() };
            File::new(params).times(Span::from_secs(2), Stream::new(1, "none"))
        };
        let at = |millis, size| Arrival { at: Span::from_millis(millis), size };
        assert_eq!(arrivals("time_s\n0.5\n0.5\n2.0\n"), [at(500, None), at(500, None)]);
        assert_eq!(arrivals("# a comment\nsize_bytes,time_s\n3000,0.25"), [at(250, Some(Bytes(3000)))]);
    }

    #[test]
    fn mistakes_name_the_line() {
        assert_eq!(parse("time_s\n"), Err((1, "no rows; at least one arrival is required".into())));
        assert_eq!(parse("size_bytes\n1"), Err((1, "there is no column `time_s`".into())));
        assert_eq!(parse("at\n1"), Err((1, "unknown column `at`; known: `time_s`, `size_bytes`".into())));
        assert_eq!(parse("time_s\n1\n\n0.5"), Err((4, "0.5 s comes after 1 s; times must ascend".into())));
        assert_eq!(parse("time_s\n-1"), Err((2, "-1 in column `time_s` is outside 0..31536000".into())));
        let zero = "0 in column `size_bytes` is outside 1..1099511627776";
        assert_eq!(parse("time_s,size_bytes\n1,0"), Err((2, zero.into())));
    }
}

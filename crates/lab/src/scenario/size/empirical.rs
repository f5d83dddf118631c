//! Measured sizes.

use super::{MAX, Sizes, whole};
use airwnd_catalog::{Fault, Files, Params, csv};
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Empirical: sizes from a CSV file, given as a list or as a cumulative distribution function (CDF).
///
/// The file begins with a header line; its columns are `size_bytes` and `cdf`. `size_bytes` alone is a list of equally likely sizes. With the column `cdf`, each line is a point of the CDF: the fraction of sizes up to
/// `size_bytes`. Both columns must ascend, and `cdf` must end at 1; sizes are uniform between two points. The path is
/// relative to the scenario's folder. A resolved scenario contains the rows and does not read the file again.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "a recording", check, files)]
pub struct Params {
    /// Path of the file; its contents are stored in `rows` when it is read.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// Rows of the file: size in bytes, and CDF or -1 for a list.
    #[param(expert)]
    #[param(default = Vec::new(), range = -1.0..=(1u64 << 40) as f64, unit = "B, 1", source = "the file")]
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

/// Sizes from a file.
pub struct Empirical {
    rows: Vec<[f64; 2]>,
}

impl Empirical {
    /// Creates the distribution from the rows.
    pub fn new(params: Params) -> Self {
        Empirical { rows: params.rows }
    }
}

impl Sizes for Empirical {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let draw = stream.uniform();
        let place = self.rows.partition_point(|[_, up_to]| (0.0..=draw).contains(up_to));
        let [size, up_to] = self.rows[place.min(self.rows.len() - 1)];
        if up_to < 0.0 {
            let place = (draw * self.rows.len() as f64) as usize;
            return whole(self.rows[place.min(self.rows.len() - 1)][0]);
        }
        let Some([before, part]) = place.checked_sub(1).map(|place| self.rows[place]) else {
            return whole(size);
        };
        whole(before + (size - before) * (draw - part) / (up_to - part))
    }
}

/// Returns the index of the first invalid row, and the error.
fn flaw(rows: &[[f64; 2]]) -> Option<(usize, String)> {
    let is_list = rows.iter().all(|[_, up_to]| *up_to == -1.0);
    for (place, [size, up_to]) in rows.iter().enumerate() {
        let found = |message: String| Some((place, message));
        if *size < 1.0 {
            return found(format!("size {size} is below 1"));
        }
        if is_list {
            continue;
        }
        if !(0.0..=1.0).contains(up_to) {
            return found(format!("cdf {up_to} is outside 0..1"));
        }
        if let Some([before, part]) = place.checked_sub(1).map(|before| rows[before]) {
            if *size < before {
                return found(format!("size {size} is below the previous size {before}"));
            }
            if *up_to <= part {
                return found(format!("cdf {up_to} is not above the previous {part}"));
            }
        }
    }
    let last = rows.len().checked_sub(1)?;
    let end = rows[last][1];
    (!is_list && end < 1.0).then(|| (last, format!("cdf ends at {end}, not at 1")))
}

/// Parses a CSV text.
///
/// # Errors
/// The number of a line, and the error in it.
pub fn parse(text: &str) -> Result<Vec<[f64; 2]>, (usize, String)> {
    let table = csv::Table::of(text, &["size_bytes", "cdf"])?;
    let (size, cdf) = (table.need("size_bytes")?, table.find("cdf"));
    let row = |line: &csv::Line<'_>| {
        let up_to = cdf.map_or(Ok(-1.0), |column| line.number(column, 0.0..=1.0))?;
        Ok([line.whole(size, 1..=MAX.0)?, up_to])
    };
    let rows = table.rows(row, "size")?;
    flaw(&rows).map_or(Ok(rows), |(place, message)| Err((table.line_of(place), message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_or_a_distribution() {
        assert_eq!(parse("size_bytes\n100\n20\n"), Ok(vec![[100.0, -1.0], [20.0, -1.0]]));
        assert_eq!(parse("cdf,size_bytes\n0.5,100\n1,200"), Ok(vec![[100.0, 0.5], [200.0, 1.0]]));
    }

    #[test]
    fn mistakes_name_the_line() {
        let refusal = |text: &str| parse(text).unwrap_err();
        assert_eq!(refusal(""), (1, "the file is empty".into()));
        assert_eq!(refusal("size\n1"), (1, "unknown column `size`; known: `size_bytes`, `cdf`".into()));
        assert_eq!(refusal("size_bytes\n"), (1, "no rows; at least one size is required".into()));
        assert_eq!(
            refusal("size_bytes\n0"),
            (2, "0 in column `size_bytes` is outside 1..1099511627776".into())
        );
        assert_eq!(refusal("size_bytes,cdf\n9,0.5\n8,1").1, "size 8 is below the previous size 9");
        assert_eq!(refusal("size_bytes,cdf\n8,0.5\n9,0.5").1, "cdf 0.5 is not above the previous 0.5");
        assert_eq!(refusal("size_bytes,cdf\n8,0.5\n9,0.9"), (3, "cdf ends at 0.9, not at 1".into()));
    }
}

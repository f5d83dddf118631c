//! Tables by columns: what time series and incidents are handed out as.

/// Columns with their names, all of one length; no columns if nothing was asked for.
pub type Table = Vec<(String, Column)>;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; NaN where nothing is known.
    F64(Vec<f64>),
    /// Whole numbers; [`NOTHING`] where nothing is known.
    U32(Vec<u32>),
    /// Words by their place in a list, so that a million rows repeat no text; [`NOTHING`] where there is none.
    Words(Vec<u32>, Vec<String>),
}

/// The entry of a column of whole numbers or words that says nothing.
pub const NOTHING: u32 = u32::MAX;

/// Puts names to columns.
pub(crate) fn table<const N: usize>(columns: [(&str, Column); N]) -> Table {
    columns.into_iter().map(|(name, column)| (name.to_string(), column)).collect()
}

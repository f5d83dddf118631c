//! The output: rows with declared columns, their tables and files, and observers of a run.

pub mod columns;
pub(crate) mod histogram;
pub(crate) mod incidents;
pub(crate) mod meter;
pub(crate) mod outcome;
pub mod radio;
pub(crate) mod records;
pub(crate) mod series;
pub(crate) mod table;
pub mod tap;

pub use outcome::{
    BearerDrops, BearerRow, CellRow, CompletionTimes, ConnectionRow, Conservation, Contention, Drops,
    FlowRow, GroupRow, Limited, LinkDrops, LinkRow, Outcome, Percentiles, Queued, RunRow, Totals, UeRow,
};
pub use records::Records;
pub use table::{Column, NOTHING, Table};

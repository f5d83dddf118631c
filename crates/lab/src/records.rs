//! What a run writes down besides its figures, if it was asked for.

use crate::columns::{Cell, Columns, Kind, one_column};
use crate::scenario::Scenario;
use crate::table::{Rows, Table};
use airwnd_catalog::Error;
use airwnd_cell::{Allocation, Reception};
use airwnd_units::{Bytes, Span, Time, Tti};
use std::ops::Range;

/// What a run shall write down, and how much memory it may take. What is not asked for costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The flows' time series with this period, and what befell the flows.
    pub series: Option<Span>,
    /// The downlink transmissions that begin in this window, which counts from the end of the warm-up.
    pub allocations: Option<Range<Span>>,
    /// The most memory that the run may take with its tables, by an estimate; `None`: no limit. It decides whether a run
    /// ends, never what comes out.
    pub memory: Option<Bytes>,
}

impl Records {
    /// Whether the scenario can give what is asked for.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Error> {
        let complain = |message: String| Err(Error::new(&scenario.name, None, message));
        if self.series == Some(Span::ZERO) {
            return complain("time series need a period above 0ns".into());
        }
        let Some(Range { start, end }) = self.allocations else { return Ok(()) };
        if scenario.site.is_empty() {
            return complain("allocations: links have no resource blocks; they need a [[site]]".into());
        }
        if start >= end {
            return complain(format!(
                "allocations: the window begins at {start}, not before its end at {end}"
            ));
        }
        if start >= scenario.duration {
            let end = scenario.duration;
            return complain(format!("allocations: the window begins at {start}, but the run ends at {end}"));
        }
        Ok(())
    }
}

/// The TTIs that begin in a window of the measurement.
pub(crate) fn ttis(begin: Time, window: &Range<Span>) -> Range<Tti> {
    let first = |at: Span| Tti((begin + at).0.div_ceil(Tti::SPAN.0));
    first(window.start)..first(window.end)
}

/// A row per downlink transmission in the requested window, by TTI and cell.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct AllocationRow {
    /// Beginning of the TTI on air, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the cell.
    pub cell: u16,
    /// Number of the UE.
    pub ue: u32,
    /// Resource-block groups as bits; the least significant bit is the first group (TS 36.213 §7.1.6.1).
    pub rbgs: u32,
    /// Number of the block's transmission: 1 for new data, more for HARQ retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    pub mcs: u8,
    /// Transport block size.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// `decoded`, `failed`, or `assignment-lost` if the UE missed the downlink assignment.
    pub reception: Reception,
}

one_column!(Reception, Kind::Word(&["decoded", "failed", "assignment-lost"]), |reception| {
    Cell::Place(match reception {
        Reception::Decoded => 0,
        Reception::Failed => 1,
        Reception::AssignmentLost => 2,
    })
});

/// The table of transmissions; time counts from the end of the warm-up.
pub(crate) fn table_of(rows: &[Allocation], begin: Time) -> Table {
    let row = |row: &Allocation| AllocationRow {
        time_s: row.tti.start().since(begin).as_secs(),
        cell: row.cell.0,
        ue: row.ue.0,
        rbgs: row.rbgs.0,
        transmission: row.transmission,
        mcs: row.mcs.0,
        bytes: row.size.0,
        reception: row.reception,
    };
    rows.iter().map(row).collect::<Rows<_>>().table(&[])
}

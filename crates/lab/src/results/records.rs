//! Optional records of a run: time series, events and downlink transmissions.

use crate::results::columns::{Cell, Columns, Kind, one_column};
use crate::results::radio::RadioFilter;
use crate::results::table::{Rows, Table};
use crate::scenario::Scenario;
use airwnd_catalog::Error;
use airwnd_cell::{Allocation, Reception};
use airwnd_units::{Bytes, SlotClock, Span, Time, Tti};
use std::num::NonZeroUsize;
use std::ops::Range;

/// Requested records of a run, and what it may use of the machine. Records that are not requested have no cost.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Period of the flows' time series, which include the event list; `None`: not recorded.
    pub series: Option<Span>,
    /// Window of the recorded downlink transmissions, from the end of the warm-up; `None`: not recorded.
    pub allocations: Option<Range<Span>>,
    /// Records of the radio interface for the tap; `None`: no records.
    pub radio: Option<RadioFilter>,
    /// Limit on the estimated memory of the run and its tables; `None`: no limit. A run that reaches it ends with an
    /// error; results never depend on it.
    pub memory: Option<Bytes>,
    /// Number of threads that advance the cells; `None`: one. Results never depend on it, nor on whether the cells are
    /// enough for all threads.
    pub threads: Option<NonZeroUsize>,
}

impl Records {
    /// Checks that the scenario can provide the records.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Error> {
        let fail = |message: String| Err(Error::new(&scenario.name, None, message));
        if self.series == Some(Span::ZERO) {
            return fail("time series need a period above 0ns".into());
        }
        let Some(Range { start, end }) = self.allocations else { return Ok(()) };
        if scenario.site.is_empty() {
            return fail("allocations: links have no resource blocks; add a [[site]]".into());
        }
        if start >= end {
            return fail(format!("allocations: the window begins at {start}, not before its end at {end}"));
        }
        if start >= scenario.duration {
            let end = scenario.duration;
            return fail(format!("allocations: the window begins at {start}, but the run ends at {end}"));
        }
        Ok(())
    }
}

/// TTIs that begin in a window of the measurement.
pub(crate) fn ttis(clock: SlotClock, begin: Time, window: &Range<Span>) -> Range<Tti> {
    let first = |at: Span| clock.from(begin + at);
    first(window.start)..first(window.end)
}

/// A row per downlink transmission in the requested window, ordered by TTI, cell and carrier.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct AllocationRow {
    /// Beginning of the TTI on the air, from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Number of the cell.
    pub cell: u16,
    /// Number of the component carrier: 0 for the primary one, then those of `carrier.secondary`.
    pub carrier: u8,
    /// Number of the UE.
    #[column(short = "UE")]
    pub ue: u32,
    /// RBGs as a bit mask; the least significant bit is the first RBG (TS 36.213 §7.1.6.1).
    #[column(short = "RBGs")]
    pub rbgs: u32,
    /// Number of the transmission of the block: 1 for new data, 2 or more for HARQ retransmissions.
    pub transmission: u8,
    /// Modulation and coding scheme.
    #[column(short = "MCS")]
    pub mcs: u8,
    /// Transport block size.
    #[column(unit = "bytes")]
    pub bytes: u64,
    /// Result of the reception: `decoded`, `failed`, or `assignment-lost` if the UE missed the downlink assignment.
    pub reception: Reception,
}

one_column!(Reception, Kind::Word(&["decoded", "failed", "assignment-lost"]), |reception| {
    Cell::Place(match reception {
        Reception::Decoded => 0,
        Reception::Failed => 1,
        Reception::AssignmentLost => 2,
    })
});

/// Builds the table of transmissions; times are relative to `begin`, the end of the warm-up.
pub(crate) fn table_of(rows: &[Allocation], clock: SlotClock, begin: Time) -> Table {
    let row = |row: &Allocation| AllocationRow {
        time_s: clock.start(row.tti).since(begin).as_secs(),
        cell: row.cell.0,
        carrier: row.carrier.0,
        ue: row.ue.0,
        rbgs: row.rbgs.0,
        transmission: row.transmission,
        mcs: row.mcs.0,
        bytes: row.size.0,
        reception: row.reception,
    };
    rows.iter().map(row).collect::<Rows<_>>().table(&[])
}

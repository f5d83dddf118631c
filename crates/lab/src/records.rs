//! What a run writes down besides its figures, if it was asked for.

use crate::scenario::Scenario;
use crate::table::{Column, Table, table};
use airwnd_catalog::Error;
use airwnd_cell::{Allocation, Reception};
use airwnd_units::{Span, Time, Tti};
use std::ops::Range;

/// What a run shall write down. What is not asked for costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The flows' time series with this period, and what befell the flows.
    pub series: Option<Span>,
    /// The downlink transmissions that begin in this window, which counts from the end of the warm-up.
    pub allocations: Option<Range<Span>>,
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

/// The table of transmissions; time counts from the end of the warm-up.
pub(crate) fn table_of(rows: &[Allocation], begin: Time) -> Table {
    let whole = |of: fn(&Allocation) -> u32| Column::U32(rows.iter().map(of).collect());
    let words = ["decoded", "failed", "assignment-lost"].map(String::from).to_vec();
    let received = |row: &Allocation| match row.reception {
        Reception::Decoded => 0,
        Reception::Failed => 1,
        Reception::AssignmentLost => 2,
    };
    table([
        ("time_s", Column::F64(rows.iter().map(|row| row.tti.start().since(begin).as_secs()).collect())),
        ("cell", whole(|row| row.cell.0.into())),
        ("ue", whole(|row| row.ue.0)),
        ("rbgs", whole(|row| row.rbgs.0)),
        ("transmission", whole(|row| row.transmission.into())),
        ("mcs", whole(|row| row.mcs.0.into())),
        ("bytes", whole(|row| row.size.0 as u32)),
        ("reception", Column::Words(rows.iter().map(received).collect(), words)),
    ])
}

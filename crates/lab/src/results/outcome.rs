//! Results of a run.

mod rows;

use crate::results::columns::{Array, to_json};
use crate::results::table::Table;
use airwnd_network::{Count, Ledger};
use airwnd_units::Span;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value as Json;

pub(crate) use rows::CompletionRow;
pub use rows::{
    BearerDrops, BearerRow, CellRow, CompletionTimes, ConnectionRow, Conservation, Contention, Drops,
    FlowRow, GroupRow, Limited, LinkDrops, LinkRow, Percentiles, Queued, RunRow, Totals, UeRow,
};

/// Results of a run. The same scenario and seed give the same bytes.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) duration: Span,
    pub(crate) handled: u64,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) groups: Vec<GroupRow>,
    pub(crate) ues: Vec<UeRow>,
    pub(crate) bearers: Vec<BearerRow>,
    pub(crate) cells: Vec<CellRow>,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) totals: Totals,
    pub(crate) ledger: Ledger,
    pub(crate) inside: Count,
    /// Empty in a simulation.
    pub(crate) connections: Vec<ConnectionRow>,
    pub(crate) completions: Table,
    pub(crate) series: Table,
    pub(crate) incidents: Table,
    pub(crate) allocations: Table,
    /// No columns in a simulation.
    pub(crate) sockets: Table,
}

impl Outcome {
    /// Flows.
    pub fn flows(&self) -> &[FlowRow] {
        &self.flows
    }
    /// Groups of flows.
    pub fn groups(&self) -> &[GroupRow] {
        &self.groups
    }
    /// UEs; empty without cells.
    pub fn ues(&self) -> &[UeRow] {
        &self.ues
    }
    /// Bearers, per direction; empty without cells.
    pub fn bearers(&self) -> &[BearerRow] {
        &self.bearers
    }
    /// Cells.
    pub fn cells(&self) -> &[CellRow] {
        &self.cells
    }
    /// Links, per direction: the server link, those of the scenario, those to and between cells.
    pub fn links(&self) -> &[LinkRow] {
        &self.links
    }
    /// Connections of real flows; empty in a simulation.
    pub fn connections(&self) -> &[ConnectionRow] {
        &self.connections
    }
    /// Totals over all flows and cells.
    pub fn totals(&self) -> Totals {
        self.totals
    }
    /// Number of events handled by the event loop.
    pub fn handled(&self) -> u64 {
        self.handled
    }
    /// Transfers and pages that began; no columns if there were none.
    pub fn completions(&self) -> &Table {
        &self.completions
    }
    /// Time series of the flows; no columns if none were requested.
    pub fn series(&self) -> &Table {
        &self.series
    }
    /// Events of the flows; no columns if no time series were requested.
    pub fn events(&self) -> &Table {
        &self.incidents
    }
    /// Downlink transmissions; no columns if none were requested.
    pub fn allocations(&self) -> &Table {
        &self.allocations
    }
    /// Returns the tables by name.
    pub fn into_tables(self) -> [(&'static str, Table); 5] {
        [
            ("series", self.series),
            ("events", self.incidents),
            ("allocations", self.allocations),
            ("completions", self.completions),
            ("sockets", self.sockets),
        ]
    }

    /// Returns all results except the tables as a JSON object.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).expect("figures are values of JSON")
    }
}

/// Serializes all results except the long tables as one object: the columns of the run, an array of rows for each table
/// of figures, an object of totals and one of the ledger.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut outcome = to.serialize_map(None)?;
        let run = RunRow {
            scenario: self.name.clone(),
            seed: self.seed,
            duration_s: self.duration.as_secs(),
            events: self.handled,
        };
        if let Json::Object(run) = to_json(&run) {
            run.iter().try_for_each(|(key, value)| outcome.serialize_entry(key, value))?;
        }
        outcome.serialize_entry("flows", &Array(&self.flows))?;
        outcome.serialize_entry("groups", &Array(&self.groups))?;
        outcome.serialize_entry("cells", &Array(&self.cells))?;
        outcome.serialize_entry("links", &Array(&self.links))?;
        outcome.serialize_entry("ues", &Array(&self.ues))?;
        outcome.serialize_entry("bearers", &Array(&self.bearers))?;
        if !self.connections.is_empty() {
            outcome.serialize_entry("connections", &Array(&self.connections))?;
        }
        outcome.serialize_entry("totals", &to_json(&self.totals))?;
        let conservation = Conservation {
            offered_bytes: self.ledger.offered.bytes.0,
            copied_bytes: self.ledger.copied.bytes.0,
            delivered_bytes: self.ledger.delivered.bytes.0,
            dropped_bytes: Drops::of(|cause| self.ledger.dropped(cause).bytes.0),
            inside_bytes: self.inside.bytes.0,
        };
        outcome.serialize_entry("conservation", &to_json(&conservation))?;
        outcome.end()
    }
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2), from 1/n (one value takes all) to 1 (equal shares).
pub(crate) fn jain(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let sum: f64 = values.clone().sum();
    let squares: f64 = values.clone().map(|value| value * value).sum();
    // Rounding may give slightly more than 1 for equal values.
    (squares > 0.0).then(|| (sum * sum / (values.count() as f64 * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_runs_from_one_over_n_to_one() {
        assert_eq!(jain([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([5.0, 0.0].into_iter()), Some(0.5));
        assert_eq!(jain([0.0].into_iter()), None);
        assert_eq!(jain([1.3; 3].into_iter()), Some(1.0));
    }
}

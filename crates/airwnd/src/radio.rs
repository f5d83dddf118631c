//! Records of the radio interface beside a path.

use airwnd_lab::radio::{RadioFilter, RadioRecord, RadioTables};
use airwnd_lab::tap::{Sight, Tap};
use airwnd_lab::{Scenario, Table};
use std::sync::{Arc, Mutex, MutexGuard};

/// Rows of a table after which it is passed on: some megabytes.
const ROWS: usize = 1 << 17;

/// A table of the radio interface with its name.
pub type RadioTable = (&'static str, Table);

/// The trace of a path, which its tap fills.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Mutex<Recorded>>);

struct Recorded {
    /// `None` at the end.
    tables: Option<RadioTables>,
    full: Vec<RadioTable>,
}

impl Trace {
    pub fn new(scenario: &Scenario, filter: RadioFilter) -> Trace {
        let tables = Some(RadioTables::new(scenario, filter, ROWS));
        Trace(Arc::new(Mutex::new(Recorded { tables, full: Vec::new() })))
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().expect("no call panics while it holds the lock")
    }

    /// Takes the tables that are full.
    pub fn take_full(&self) -> Vec<RadioTable> {
        std::mem::take(&mut self.recorded().full)
    }

    /// Takes all rows, at the end.
    pub fn take_all(&self) -> Vec<RadioTable> {
        let mut recorded = self.recorded();
        let rest = recorded.tables.take().into_iter().flat_map(RadioTables::finish);
        let full = std::mem::take(&mut recorded.full);
        full.into_iter().chain(rest).collect()
    }
}

impl Tap for Trace {
    fn packet(&mut self, _: &Sight) {}

    fn radio(&mut self, record: &RadioRecord) {
        let mut recorded = self.recorded();
        if let Some(full) = recorded.tables.as_mut().and_then(|tables| tables.push(record)) {
            recorded.full.push(full);
        }
    }
}

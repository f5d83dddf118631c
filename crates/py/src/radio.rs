//! Traces of the radio interface, whose tables are passed to Python in parts.

use super::{ScenarioError, capture, columns};
use airwnd_capture::Capture;
use airwnd_lab::radio::{RadioFilter, RadioRecord, RadioTables};
use airwnd_lab::tap::{LinkSight, Sight, Tap};
use airwnd_lab::{Scenario, Table};
use airwnd_units::Span;
use pyo3::prelude::*;
use std::fs;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, MutexGuard};

/// Rows of a part: some megabytes of memory in each table.
const ROWS: usize = 1 << 17;

/// Names of layers and of UEs, and the window of the measurement in nanoseconds; empty and `None`: all.
pub type Wanted = (Vec<String>, Vec<String>, Option<(u64, u64)>);

/// Returns the filter for what is wanted.
pub fn filter(scenario: &Scenario, (layers, ues, window): &Wanted) -> PyResult<RadioFilter> {
    let window = window.map(|(begin, end)| Span(begin)..Span(end));
    scenario.radio_filter(layers, ues, window).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Returns the filter for the frames of a capture: all layers, since a frame needs records of each.
pub fn captured(scenario: &Scenario, wanted: Option<&capture::Wanted>) -> PyResult<Option<RadioFilter>> {
    let has_frames = wanted.is_some_and(|(.., radio)| !radio.is_empty());
    has_frames.then(|| filter(scenario, &Wanted::default())).transpose()
}

/// Returns the union of two filters.
pub fn either(one: Option<RadioFilter>, other: Option<RadioFilter>) -> Option<RadioFilter> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.either(other)),
        (one, other) => one.or(other),
    }
}

/// A trace and the function that writes a part of one of its tables.
pub struct Trace {
    tables: Option<RadioTables>,
    write: Py<PyAny>,
    raised: Option<PyErr>,
}

impl Trace {
    /// An empty trace of the records that pass a filter.
    pub fn new(scenario: &Scenario, filter: RadioFilter, write: Py<PyAny>) -> Trace {
        Trace { tables: Some(RadioTables::new(scenario, filter, ROWS)), write, raised: None }
    }

    fn add(&mut self, record: &RadioRecord) {
        if let Some((name, table)) = self.tables.as_mut().and_then(|tables| tables.push(record)) {
            self.pass(name, table);
        }
    }

    fn pass(&mut self, name: &str, table: Table) {
        if self.raised.is_none() {
            let write = &self.write;
            let passed = Python::attach(|py| write.call1(py, (name, columns(py, table)?)).map(drop));
            self.raised = passed.err();
        }
    }

    /// Passes the rest on. Returns the exception that writing has raised, if any.
    pub fn finish(mut self) -> PyResult<()> {
        self.end();
        self.raised.map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        let rest = self.tables.take().into_iter().flat_map(RadioTables::finish);
        rest.for_each(|(name, table)| self.pass(name, table));
    }
}

/// The trace of a session, which owns its tap.
#[derive(Clone)]
pub struct SessionTrace(Arc<Mutex<Trace>>);

impl SessionTrace {
    pub fn new(trace: Trace) -> SessionTrace {
        SessionTrace(Arc::new(Mutex::new(trace)))
    }

    fn trace(&self) -> MutexGuard<'_, Trace> {
        self.0.lock().expect("no call panics while it holds the lock")
    }

    /// Fails with the exception that writing has raised since the last call.
    pub fn check(&self) -> PyResult<()> {
        self.trace().raised.take().map_or(Ok(()), Err)
    }

    /// Passes the rest on.
    pub fn finish(&self) -> PyResult<()> {
        self.trace().end();
        self.check()
    }
}

impl Tap for SessionTrace {
    fn packet(&mut self, _: &Sight) {}

    fn radio(&mut self, record: &RadioRecord) {
        self.trace().add(record);
    }
}

/// The taps of a run.
pub struct Taps<'a> {
    pub capture: Option<&'a mut Capture<BufWriter<fs::File>>>,
    pub trace: Option<&'a mut Trace>,
}

impl Tap for Taps<'_> {
    fn packet(&mut self, sight: &Sight) {
        if let Some(capture) = &mut self.capture {
            capture.packet(sight);
        }
    }

    fn at_link(&mut self, sight: &LinkSight) {
        if let Some(capture) = &mut self.capture {
            capture.at_link(sight);
        }
    }

    fn radio(&mut self, record: &RadioRecord) {
        if let Some(capture) = &mut self.capture {
            capture.radio(record);
        }
        if let Some(trace) = &mut self.trace {
            trace.add(record);
        }
    }

    fn continues(&self) -> bool {
        self.capture.as_ref().is_none_or(|capture| capture.continues())
            && self.trace.as_ref().is_none_or(|trace| trace.raised.is_none())
    }
}

//! Scenarios and simulations for the page of `airwnd play`.

use crate::owned::Owned;
use crate::{columns, scenario_error};
use airwnd_units::{Bytes, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A checked scenario of the page.
#[pyclass(frozen, module = "airwnd._native")]
pub struct PageScenario(airwnd_page::Checked);

#[pymethods]
impl PageScenario {
    #[new]
    fn new(toml: &str) -> PyResult<PageScenario> {
        airwnd_page::Checked::new(toml, &[]).map(PageScenario).map_err(scenario_error)
    }

    /// Seed that the scenario states.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// All values, defaults included, as JSON.
    fn resolved(&self) -> String {
        self.0.resolved()
    }

    /// Cells by columns.
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.0.cells())
    }

    /// Begins a simulation, with time series of this period and the packets of the UE `watched`.
    fn begin(
        &self,
        seed: u64,
        interval_ns: u64,
        max_memory: u64,
        watched: Option<u32>,
    ) -> PyResult<PageSession> {
        let session = self.0.begin(seed, Some(Span(interval_ns)), Bytes(max_memory), watched);
        Ok(PageSession(Owned::new("session", session.map_err(scenario_error)?)))
    }
}

/// A simulation of the page. Tables are taken: each row is returned once.
#[pyclass(frozen, module = "airwnd._native")]
pub struct PageSession(Owned<airwnd_page::Session>);

#[pymethods]
impl PageSession {
    /// Executes the events of a span. Returns whether the scenario has ended.
    fn advance(&self, py: Python<'_>, span_ns: u64) -> PyResult<bool> {
        self.0.with(py, |session| py.detach(|| session.advance(Span(span_ns))).map_err(scenario_error))
    }

    /// Present in seconds.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |session| Ok(session.now_s()))
    }

    /// Duration of a TTI in milliseconds.
    #[getter]
    fn tti_ms(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |session| Ok(session.tti_ms()))
    }

    /// Rows of the time series.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.with(py, |session| columns(py, session.series()))
    }

    /// Events of the flows.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.with(py, |session| columns(py, session.events()))
    }

    /// Downlink transmissions.
    fn allocations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.with(py, |session| columns(py, session.allocations()))
    }

    /// Stages of the watched UE's packets.
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.with(py, |session| columns(py, session.packets()))
    }

    /// Transmissions of the watched UE's transport blocks.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.with(py, |session| columns(py, session.blocks()))
    }

    /// Flows, as JSON.
    fn flows(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(py, |session| Ok(session.flows()))
    }

    /// State of the UEs, six numbers for each.
    fn ues(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.0.with(py, |session| Ok(session.ues()))
    }

    /// Use of the cells, two numbers for each.
    fn cells(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.0.with(py, |session| Ok(session.cells()))
    }

    /// Sets a value of a flow or UE by its number.
    fn set(&self, py: Python<'_>, what: &str, number: u32, value: f64) -> PyResult<()> {
        self.0.with(py, |session| session.set(what, number, value).map_err(scenario_error))
    }
}

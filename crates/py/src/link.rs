//! The emulator.

use crate::{Scenario, ScenarioError, columns, scenario_error};
use airwnd_link::{Error, Request, Update};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs a session of the emulator: the scenario's network in real time, with commands at its ends.
///
/// `request` is JSON (`airwnd_link::Request`). `update` receives a snapshot as JSON about five times a second; the
/// session ends when it returns false, when it raises an exception, or by a signal. Returns the results and tables as
/// `Scenario.run` does, and the summary as JSON.
#[pyfunction]
pub fn link<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    request: &str,
    update: Py<PyAny>,
) -> PyResult<(String, Bound<'py, PyDict>, String)> {
    let request = Request::from_json(request).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let (outcome, summary) = py.detach(|| {
        let mut raised = None;
        let mut report = |state: Update| {
            if raised.is_some() {
                return false;
            }
            let text = serde_json::to_string(&state).expect("figures are values of JSON");
            let goes_on = Python::attach(|py| {
                py.check_signals()?;
                update.call1(py, (text,))?.extract::<bool>(py)
            });
            goes_on.unwrap_or_else(|error| {
                raised = Some(error);
                false
            })
        };
        let result =
            airwnd_link::run(&scenario.checked, &request, &mut report).map_err(|error| match error {
                Error::Scenario(error) => {
                    scenario_error(error.located(&scenario.checked.name, &scenario.node))
                }
                Error::System(message) => ScenarioError::new_err(message),
            });
        raised.map_or(result, Err)
    })?;
    let figures = serde_json::to_string(&outcome).expect("figures are values of JSON");
    let tables = PyDict::new(py);
    for (name, table) in outcome.into_tables() {
        tables.set_item(name, columns(py, table)?)?;
    }
    let summary = serde_json::to_string(&summary).expect("figures are values of JSON");
    Ok((figures, tables, summary))
}

/// Entry of a helper process with one thread, which makes the namespaces of one end of the emulator; `socket` is the
/// descriptor by which it talks to the emulator. Does not return.
#[pyfunction]
pub fn link_side(socket: i32) {
    airwnd_link::side(socket)
}

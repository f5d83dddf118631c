//! The Python module `airwnd._native`: conversions between Python and `airwnd_lab`, both ways.

mod capture;
mod congestion;
mod panics;
mod watch;

use airwnd_catalog::{Error, FamilyInfo, Node, ParamInfo, SectionInfo};
use airwnd_lab::columns::ColumnInfo;
use airwnd_lab::tap::Tap;
use airwnd_lab::{Column, Plugins, PresetInfo, PresetValue, Records, StackInfo, Table, TableInfo};
use airwnd_units::{Bytes, Metres, Span, Time};
use numpy::{IntoPyArray, PyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

create_exception!(airwnd._native, Interrupted, PyKeyboardInterrupt, "Ctrl-C while a plug-in may be running.");
create_exception!(airwnd._native, ScenarioError, PyValueError, "A mistake in a scenario, told in one line.");

fn complaint(error: Error) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The result of a call that may have run a plug-in: what the plug-in raised is the cause of the complaint; Ctrl-C
/// takes its place.
fn settle<T>(py: Python<'_>, result: Result<T, Error>) -> PyResult<T> {
    let raised = congestion::take_raised();
    result.map_err(|error| match raised {
        Some(raised) if raised.is_instance_of::<Interrupted>(py) => raised,
        raised => {
            let complaint = complaint(error);
            complaint.set_cause(py, raised);
            complaint
        }
    })
}

/// SINR in dB and RSRP in dBm of the best cell, and its number.
type Heard<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// A checked scenario, and what it was read from.
#[pyclass(frozen, module = "airwnd._native")]
struct Scenario {
    checked: airwnd_lab::Scenario,
    /// What it was read from.
    node: Node,
    /// The classes in Python that it names.
    plugins: Vec<String>,
    /// Why it cannot be run: it names Python code without the permission to execute it.
    refused: Option<Error>,
    /// The time that a call of a plug-in may take; `None`: no limit.
    call_limit: Option<Duration>,
}

#[pymethods]
impl Scenario {
    /// Reads and checks. The Python code that the scenario names is executed only with `allow_code`; each call of a
    /// plug-in may take `call_limit_s`, in seconds.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        origin: &str,
        format: &str,
        overrides: Vec<(String, String)>,
        allow_code: bool,
        call_limit_s: f64,
    ) -> PyResult<Scenario> {
        // Infinity, and what is as good as it.
        let call_limit = Duration::try_from_secs_f64(call_limit_s).ok();
        let node = match format {
            "toml" => Node::from_toml(text, origin),
            "json" => Node::from_json(text, origin),
            other => return Err(PyValueError::new_err(format!("format must be toml or json, not {other}"))),
        };
        let mut node = node.map_err(complaint)?;
        for (key, value) in &overrides {
            node.set(key, value).map_err(complaint)?;
        }
        let mut plugins = Plugins::default();
        let found = Arc::new(Mutex::new((Vec::new(), None)));
        let noting = found.clone();
        plugins.set_python(move |head, node, folder| {
            let (outside, refused) = congestion::find(head, node, folder, allow_code)?;
            let mut noting = noting.lock().expect("never poisoned");
            noting.0.push(head.class.clone());
            noting.1 = noting.1.take().or(refused);
            Ok(outside)
        });
        let _watched = watch::Scope::open(call_limit);
        let checked = settle(py, airwnd_lab::Scenario::with_plugins(&node, &plugins))?;
        let (plugins, refused) = std::mem::take(&mut *found.lock().expect("never poisoned"));
        Ok(Scenario { checked, node, plugins, refused, call_limit })
    }

    /// The classes in Python that it names.
    fn plugins(&self) -> Vec<String> {
        self.plugins.clone()
    }

    /// Refuses Python code that a run would execute without permission.
    fn check_code(&self) -> PyResult<()> {
        self.refused.clone().map_or(Ok(()), |error| Err(complaint(error)))
    }

    /// Everything that the scenario says, defaults written out, as JSON.
    fn to_json(&self) -> String {
        self.checked.to_json().to_string()
    }

    /// Complains of the first word that names no node.
    fn check_nodes(&self, words: Vec<String>) -> PyResult<()> {
        capture::nodes(&self.checked, &words).map(drop)
    }

    /// Refuses what a run with this seed would refuse before it begins.
    fn check_run(&self, seed: u64, max_memory: Option<u64>) -> PyResult<()> {
        let records = Records { memory: max_memory.map(Bytes), ..Records::default() };
        self.checked
            .check_run(seed, &records)
            .map_err(|error| complaint(error.located(&self.checked.name, &self.node)))
    }

    /// Where the UEs of a run with this seed begin, by columns.
    fn ues<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.ues_table(seed))
    }

    /// Where the UEs that move are at the ends of equal parts of a run with this seed, by columns.
    fn paths<'py>(&self, py: Python<'py>, seed: u64, parts: u32) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.paths_table(seed, parts.max(1)))
    }

    /// The UEs of a run with this seed with their links' budgets, by columns; `None` without a site.
    fn link_budgets<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let budgets = self
            .checked
            .link_budgets(seed)
            .map_err(|error| complaint(error.located(&self.checked.name, &self.node)))?;
        budgets.map(|table| columns(py, table)).transpose()
    }

    /// The cells, by columns.
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.cells_table())
    }

    /// What is heard at the points with these coordinates, row by row of equal `y`: SINR in dB and RSRP in dBm of the
    /// best cell, its number, and the SINR in dB at which it receives the uplink over the whole carrier and on the
    /// narrowest grant; `None` without a site.
    #[pyo3(signature = (x_m, y_m, height_m=None))]
    fn radio_map<'py>(
        &self,
        py: Python<'py>,
        x_m: Vec<f64>,
        y_m: Vec<f64>,
        height_m: Option<f64>,
    ) -> Option<Heard<'py>> {
        let metres = |values: Vec<f64>| values.into_iter().map(Metres).collect::<Vec<_>>();
        let (x, y) = (metres(x_m), metres(y_m));
        let map = py.detach(|| self.checked.radio_map(&x, &y, height_m.map(Metres)))?;
        let numbers = |values: Vec<f64>| values.into_pyarray(py);
        Some((
            numbers(map.sinr_db),
            numbers(map.rsrp_dbm),
            map.cell.into_pyarray(py),
            numbers(map.uplink_sinr_db),
            numbers(map.uplink_narrow_sinr_db),
        ))
    }

    /// Simulates; gives the outcome as JSON, and the tables by name and column.
    ///
    /// Time series come with a sampling interval, allocations with a window of the measurement in nanoseconds.
    /// `progress` is told the finished fraction; what it raises ends the run, as does a signal. `pcap` is a file's
    /// path, the nodes that it captures, and the bytes kept of a packet; the file is whole however the run ends.
    /// `max_memory` is the most that the run may take, in bytes.
    #[pyo3(signature = (seed, series_interval_ns, progress, pcap=None, allocations_ns=None, max_memory=None))]
    #[allow(clippy::too_many_arguments, reason = "they are those of the method in Python")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        series_interval_ns: Option<u64>,
        progress: Option<Py<PyAny>>,
        pcap: Option<capture::Wanted>,
        allocations_ns: Option<(u64, u64)>,
        max_memory: Option<u64>,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        self.check_code()?;
        let _watched = watch::Scope::open(self.call_limit);
        let records = Records {
            series: series_interval_ns.map(Span),
            allocations: allocations_ns.map(|(from, until)| Span(from)..Span(until)),
            memory: max_memory.map(Bytes),
        };
        let end = (self.checked.warmup.0 + self.checked.duration.0) as f64;
        let outcome = py.detach(|| {
            let mut raised = None;
            let mut tell = |now: Time| {
                let told = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) => progress.call1(py, (now.0 as f64 / end,)).map(drop),
                        None => Ok(()),
                    }
                });
                raised = told.err();
                raised.is_none()
            };
            let mut capture =
                pcap.map(|wanted| capture::File::new(&self.checked, seed, wanted)).transpose()?;
            let tap = capture.as_mut().map(|file| &mut file.capture as &mut dyn Tap);
            let outcome = airwnd_lab::run_tapped(&self.checked, seed, &records, tap, &mut tell);
            let written = capture.map_or(Ok(()), capture::File::finish);
            let outcome = outcome.map_err(|error| error.located(&self.checked.name, &self.node));
            let outcome = Python::attach(|py| settle(py, outcome));
            raised.map_or(written.and(outcome), Err)
        })?;
        let figures = py.detach(|| serde_json::to_string(&outcome)).expect("figures are values of JSON");
        let tables = PyDict::new(py);
        for (name, table) in outcome.into_tables() {
            tables.set_item(name, columns(py, table)?)?;
        }
        Ok((figures, tables))
    }
}

/// A table as a dictionary of arrays; words are their places and the list.
fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table {
        match column {
            Column::F64(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::U32(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Words(places, words) => columns.set_item(name, (places.into_pyarray(py), words))?,
        }
    }
    Ok(columns)
}

/// The families of algorithms with their members and parameters, as JSON.
#[pyfunction]
fn catalogue() -> String {
    airwnd_lab::catalogue().iter().map(family).collect::<Value>().to_string()
}

fn family(family: &FamilyInfo) -> Value {
    let member = |member: &airwnd_catalog::AlgorithmInfo| {
        json!({
            "name": member.name,
            "summary": member.summary,
            "details": member.details,
            "source": member.source,
            "params": member.params.iter().map(param).collect::<Value>(),
        })
    };
    json!({
        "name": family.name,
        "summary": family.summary,
        "members": family.members.iter().map(member).collect::<Value>(),
        "schema": family.schema,
    })
}

fn param(param: &ParamInfo) -> Value {
    json!({
        "name": param.name,
        "meaning": param.meaning,
        "unit": param.unit,
        "default": param.default,
        "required": param.default.is_none(),
        "range": param.range,
        "source": param.source,
    })
}

/// The sections of a scenario with their keys, as JSON.
#[pyfunction]
fn sections() -> String {
    airwnd_lab::sections().iter().map(section).collect::<Value>().to_string()
}

fn section(section: &SectionInfo) -> Value {
    json!({
        "heading": section.heading,
        "summary": section.summary,
        "details": section.details,
        "source": section.source,
        "params": section.params.iter().map(param).collect::<Value>(),
    })
}

/// The TCP stacks with the values that they set, as JSON.
#[pyfunction]
fn stacks() -> String {
    let stack = |stack: &StackInfo| {
        let values: Map<String, Value> =
            stack.values.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
        json!({"name": stack.name, "values": values})
    };
    airwnd_lab::stacks().iter().map(stack).collect::<Value>().to_string()
}

/// The tables of a run with their columns, as JSON.
#[pyfunction]
fn tables() -> String {
    airwnd_lab::tables().iter().map(results_table).collect::<Value>().to_string()
}

fn results_table(table: &TableInfo) -> Value {
    let column = |column: &ColumnInfo| {
        json!({
            "name": column.name,
            "type": column.kind.word(),
            "words": column.kind.words(),
            "unit": column.unit,
            // JSON knows no infinity: null where there is no bound.
            "range": [column.range.start(), column.range.end()],
            "meaning": column.meaning,
        })
    };
    json!({
        "name": table.name,
        "meaning": table.meaning,
        "columns": table.columns.iter().map(column).collect::<Value>(),
    })
}

/// The presets with the values that they set, as JSON.
#[pyfunction]
fn presets() -> String {
    airwnd_lab::presets().iter().map(preset).collect::<Value>().to_string()
}

fn preset(preset: &PresetInfo) -> Value {
    let value = |value: &PresetValue| {
        json!({
            "section": value.section,
            "key": value.key,
            "value": value.value,
            "default": value.default,
            "source": value.source,
        })
    };
    json!({
        "name": preset.name,
        "summary": preset.summary,
        "values": preset.values.iter().map(value).collect::<Value>(),
    })
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    airwnd_lab::schema().to_string()
}

/// A text such as "10ms" in nanoseconds.
#[pyfunction]
fn parse_span(text: &str) -> PyResult<u64> {
    text.parse().map(|span: Span| span.0).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// A text such as "2GB" in bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    text.parse().map(|bytes: Bytes| bytes.0).map_err(|error| ScenarioError::new_err(error.to_string()))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use pyo3::panic::PanicException;

    #[pymodule_export]
    use super::congestion::{Ack, Congestion, Connection};

    #[pymodule_export]
    use super::panics::{panic_place, show_panics};

    #[pymodule_export]
    use super::watch::{CallTimeout, end_when_stuck};

    #[pymodule_export]
    use super::{
        Interrupted, Scenario, ScenarioError, catalogue, parse_bytes, parse_span, presets, schema, sections,
        stacks, tables,
    };

    /// The project's version.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// The entry of an array of whole numbers that says nothing.
    #[pymodule_export]
    const NOTHING: u32 = airwnd_lab::NOTHING;

    /// Version and contents of the engine; results of different engines are never mixed.
    #[pymodule_export]
    const ENGINE: &str = env!("AIRWND_ENGINE");

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::panics::silence();
        Ok(())
    }
}

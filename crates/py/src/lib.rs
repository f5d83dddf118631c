//! Classes and functions of the Python module `airwnd._native`: conversions between Python and `airwnd_lab`.
//!
//! [`engine!`] makes the module, with plug-ins in Rust if there are any.

mod arguments;
mod capture;
mod guard;
mod link;
mod owned;
mod page;
mod panics;
mod path;
mod plugin;
mod radio;
mod session;
mod watch;

use airwnd_catalog::{Error, FamilyInfo, Node, ParamInfo, SectionInfo};
use airwnd_lab::columns::ColumnInfo;
use airwnd_lab::tap::Tap;
use airwnd_lab::{
    Column, CompatInfo, Outcome, Plugins, PresetInfo, PresetValue, QuirkInfo, Records, StackInfo, Table,
    TableInfo,
};
use airwnd_units::{BitRate, Bytes, Metres, Span, Time};
use numpy::{IntoPyArray, PyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyImportError, PyKeyboardInterrupt, PyValueError};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

pub use pyo3;

create_exception!(airwnd._native, Interrupted, PyKeyboardInterrupt, "Ctrl-C while a plug-in may be running.");
create_exception!(airwnd._native, ScenarioError, PyValueError, "An error in a scenario, in one line.");

fn scenario_error(error: Error) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Explains that a file whose name is not that of a TOML or JSON file cannot be parsed.
fn of_another_kind(origin: &str, error: Error) -> Error {
    match Path::new(origin).extension() {
        Some(kind) if kind != "toml" && kind != "json" => Error::new(
            origin,
            None,
            format!("not a scenario, which is TOML or JSON; a run or sweep is given by its folder ({error})"),
        ),
        _ => error,
    }
}

/// Converts the result of a call that may have run a plug-in. An exception raised by the plug-in becomes the cause of
/// the error; Ctrl-C replaces the error.
fn settle<T>(py: Python<'_>, result: Result<T, Error>) -> PyResult<T> {
    let raised = plugin::take_raised();
    result.map_err(|error| match raised {
        Some(raised) if raised.is_instance_of::<Interrupted>(py) => raised,
        raised => {
            let error = scenario_error(error);
            error.set_cause(py, raised);
            error
        }
    })
}

/// Downlink SINR in dB, RSRP in dBm, cell, uplink SINR in dB over the carrier and on the narrowest grant.
type MapArrays<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// A checked scenario, and its source.
#[pyclass(frozen, module = "airwnd._native")]
struct Scenario {
    checked: airwnd_lab::Scenario,
    /// Source of the scenario.
    node: Node,
    /// Python classes that it names.
    plugins: Vec<String>,
    /// Time limit of a plug-in call; `Duration::MAX`: no limit.
    call_limit: Duration,
}

#[pymethods]
impl Scenario {
    /// Reads and checks a scenario. `call_limit_s` limits each call of a plug-in, in seconds. `read_pipe` returns
    /// the text of a pipe by its path; `None`: nothing is there.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        origin: &str,
        format: &str,
        overrides: Vec<(String, String)>,
        call_limit_s: f64,
        read_pipe: &Bound<'_, PyAny>,
    ) -> PyResult<Scenario> {
        // Values that do not fit into a duration, such as infinity, mean no limit.
        let call_limit = Duration::try_from_secs_f64(call_limit_s).unwrap_or(Duration::MAX);
        let node = match format {
            "toml" => Node::from_toml(text, origin),
            "json" => Node::from_json(text, origin),
            other => return Err(PyValueError::new_err(format!("format must be toml or json, not {other}"))),
        };
        let mut node = node.map_err(|error| scenario_error(of_another_kind(origin, error)))?;
        for (key, value) in &overrides {
            node.set(key, value).map_err(scenario_error)?;
        }
        let mut plugins = Plugins::default();
        if let Some(register) = BUILT_IN.get() {
            register(&mut plugins);
        }
        let named = Arc::new(Mutex::new(Vec::new()));
        plugin::register(&mut plugins, &named);
        let _watched = watch::Scope::open(call_limit);
        let interrupted = RefCell::new(None);
        let read_pipe = |path: &Path| {
            let text = read_pipe.call1((path.display().to_string(),)).and_then(|text| text.extract());
            text.map_err(|error: PyErr| {
                let message = error.value(py).to_string();
                if !error.is_instance_of::<PyException>(py) {
                    interrupted.replace(Some(error));
                }
                message
            })
            .transpose()
        };
        let checked = airwnd_lab::Scenario::with_pipes(&node, &plugins, &read_pipe);
        if let Some(interrupted) = interrupted.take() {
            return Err(interrupted);
        }
        let checked = settle(py, checked)?;
        let plugins = std::mem::take(&mut *named.lock().expect("never poisoned"));
        Ok(Scenario { checked, node, plugins, call_limit })
    }

    /// Python classes that the scenario names.
    fn plugins(&self) -> Vec<String> {
        self.plugins.clone()
    }

    /// Returns the resolved scenario, defaults included, as JSON.
    fn to_json(&self) -> String {
        self.checked.to_json().to_string()
    }

    /// Returns the values of the source in their order, each with its key, line and value, as JSON.
    fn written(&self) -> PyResult<String> {
        let leaf = |(key, node): (String, &Node)| {
            node.to_json().map(|value| json!({"key": key, "line": node.line(), "value": value}))
        };
        let leaves = self.node.leaves().into_iter().map(leaf).collect::<Result<Value, Error>>();
        leaves.map(|leaves| leaves.to_string()).map_err(scenario_error)
    }

    /// Raises an error for the first word that is not the name of a node.
    fn check_nodes(&self, words: Vec<String>) -> PyResult<()> {
        capture::nodes(&self.checked, &words).map(drop)
    }

    /// Performs the checks that precede a run with this seed, or a session of real programs, which needs no flows.
    #[pyo3(signature = (seed, max_memory, *, is_session))]
    fn check_run(&self, seed: u64, max_memory: Option<u64>, is_session: bool) -> PyResult<()> {
        let records = Records { memory: max_memory.map(Bytes), ..Records::default() };
        let scenario = &self.checked;
        let checked = match is_session {
            true => scenario.check_live(seed, &records),
            false => scenario.check_run(seed, &records),
        };
        checked.map_err(|error| scenario_error(error.located(&scenario.name, &self.node)))
    }

    /// Initial positions of the UEs in a run with this seed, by columns.
    fn ues<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.ues_table(seed))
    }

    /// Trajectories of moving UEs in a run with this seed, at the boundaries of `parts` equal intervals, by columns.
    fn paths<'py>(&self, py: Python<'py>, seed: u64, parts: u32) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.paths_table(seed, parts.max(1)))
    }

    /// Link budgets of the UEs in a run with this seed, by columns; `None` without a site.
    fn link_budgets<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let budgets = self
            .checked
            .link_budgets(seed)
            .map_err(|error| scenario_error(error.located(&self.checked.name, &self.node)))?;
        budgets.map(|table| columns(py, table)).transpose()
    }

    /// Cells, by columns.
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.checked.cells_table())
    }

    /// Radio map at the points with these coordinates, in rows of equal `y`: SINR in dB and RSRP in dBm of the best
    /// cell, its number, and its uplink SINR in dB over the whole carrier and on the narrowest grant; `None` without a
    /// site.
    #[pyo3(signature = (x_m, y_m, height_m=None))]
    fn radio_map<'py>(
        &self,
        py: Python<'py>,
        x_m: Vec<f64>,
        y_m: Vec<f64>,
        height_m: Option<f64>,
    ) -> Option<MapArrays<'py>> {
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

    /// Runs the scenario. Returns the results as JSON, and the tables by name and column.
    ///
    /// `series_interval_ns` records time series with this sampling interval; `allocations_ns` records downlink
    /// transmissions in this window of the measurement. `progress` is called with the completed fraction; an exception
    /// that it raises ends the run, and so does a signal. `pcap` has the path of a capture, the captured nodes, and the
    /// snap length in bytes; the file is complete even if the run fails. `max_memory` is the memory limit in bytes, and
    /// `threads` the number of threads. `radio` has the layers, UEs and window of a trace of the radio interface, and the
    /// function that writes a part of one of its tables.
    #[pyo3(signature = (seed, series_interval_ns, progress, pcap=None, allocations_ns=None, max_memory=None, threads=None, radio=None))]
    #[allow(clippy::too_many_arguments, reason = "arguments of the Python method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        series_interval_ns: Option<u64>,
        progress: Option<Py<PyAny>>,
        pcap: Option<capture::Wanted>,
        allocations_ns: Option<(u64, u64)>,
        max_memory: Option<u64>,
        threads: Option<NonZeroUsize>,
        radio: Option<(radio::Wanted, Py<PyAny>)>,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        let _watched = watch::Scope::open(self.call_limit);
        let filter = radio.as_ref().map(|(wanted, _)| radio::filter(&self.checked, wanted)).transpose()?;
        let captured = radio::captured(&self.checked, pcap.as_ref())?;
        let records = Records {
            series: series_interval_ns.map(Span),
            allocations: allocations_ns.map(|(from, until)| Span(from)..Span(until)),
            radio: radio::either(filter.clone(), captured),
            memory: max_memory.map(Bytes),
            threads,
        };
        let end = (self.checked.warmup.0 + self.checked.duration.0) as f64;
        let outcome = py.detach(|| {
            let mut raised = None;
            let mut report = |now: Time| {
                let reported = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) => progress.call1(py, (now.0 as f64 / end,)).map(drop),
                        None => Ok(()),
                    }
                });
                raised = reported.err();
                raised.is_none()
            };
            let mut capture =
                pcap.map(|wanted| capture::File::new(&self.checked, seed, wanted)).transpose()?;
            let writes = radio.zip(filter);
            let mut trace =
                writes.map(|((_, write), filter)| radio::Trace::new(&self.checked, filter, write));
            let is_tapped = capture.is_some() || trace.is_some();
            let mut taps = radio::Taps {
                capture: capture.as_mut().map(|file| &mut file.capture),
                trace: trace.as_mut(),
            };
            let tap = is_tapped.then_some(&mut taps as &mut dyn Tap);
            let outcome = airwnd_lab::run_tapped(&self.checked, seed, &records, tap, &mut report);
            let written = capture.map_or(Ok(()), capture::File::finish);
            let written = written.and(trace.map_or(Ok(()), radio::Trace::finish));
            let outcome = outcome.map_err(|error| error.located(&self.checked.name, &self.node));
            let outcome = Python::attach(|py| settle(py, outcome));
            raised.map_or(written.and(outcome), Err)
        })?;
        results(py, outcome)
    }
}

/// Converts results to JSON, and to tables by name and column.
fn results(py: Python<'_>, outcome: Outcome) -> PyResult<(String, Bound<'_, PyDict>)> {
    let figures = py.detach(|| serde_json::to_string(&outcome)).expect("figures are values of JSON");
    let tables = PyDict::new(py);
    for (name, table) in outcome.into_tables() {
        tables.set_item(name, columns(py, table)?)?;
    }
    Ok((figures, tables))
}

/// Converts a table to a dictionary of arrays; a column of words becomes indices and the list of words.
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

/// Returns the families of algorithms with their members and parameters, as JSON.
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
        "level": param.level.word(),
    })
}

/// Returns the sections of a scenario with their keys, as JSON.
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

/// Returns the TCP stacks with their values, as JSON.
#[pyfunction]
fn stacks() -> String {
    let stack = |stack: &StackInfo| {
        let values: Map<String, Value> =
            stack.values.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
        json!({"name": stack.name, "values": values, "quirks": stack.quirks.iter().map(quirk).collect::<Value>()})
    };
    airwnd_lab::stacks().iter().map(stack).collect::<Value>().to_string()
}

fn quirk(quirk: &QuirkInfo) -> Value {
    json!({
        "section": quirk.section,
        "name": quirk.name,
        "meaning": quirk.meaning,
        "value": quirk.value,
        "default": quirk.default,
        "source": quirk.source,
    })
}

/// Returns the values of `compat` with their quirks, as JSON.
#[pyfunction]
fn compats() -> String {
    let compat = |compat: &CompatInfo| {
        json!({
            "name": compat.name,
            "summary": compat.summary,
            "quirks": compat.quirks.iter().map(quirk).collect::<Value>(),
        })
    };
    airwnd_lab::compats().iter().map(compat).collect::<Value>().to_string()
}

/// Returns the names of the congestion controls that need a queue that marks.
#[pyfunction]
fn controls_of_marks() -> Vec<String> {
    airwnd_lab::controls_of_marks()
}

/// Returns the kinds of traffic over UDP.
#[pyfunction]
fn udp_traffic() -> Vec<String> {
    airwnd_lab::udp_traffic()
}

/// Returns the tables of a run with their columns, as JSON.
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
            // JSON has no infinity: null where there is no bound.
            "range": [column.range.start(), column.range.end()],
            "short": column.short,
            "label": column.label,
            "digits": column.digits,
            "rank": column.rank,
            "formerly": column.formerly,
            "meaning": column.meaning,
        })
    };
    json!({
        "name": table.name,
        "meaning": table.meaning,
        "columns": table.columns.iter().map(column).collect::<Value>(),
    })
}

/// Returns the limits of the models by importance, and the headings of their topics, as JSON.
#[pyfunction]
fn limits() -> String {
    let limit = |limit: &airwnd_lab::Limit| {
        json!({
            "id": limit.id,
            "topic": limit.topic,
            "importance": limit.importance,
            "source": limit.source,
            "differs": limit.differs,
            "why": limit.why,
            "affects": limit.affects,
            "effect": limit.effect,
        })
    };
    let topics: Map<String, Value> = airwnd_lab::LIMIT_TOPICS
        .iter()
        .map(|(topic, heading)| (topic.to_string(), (*heading).into()))
        .collect();
    json!({"limits": airwnd_lab::limits().iter().map(limit).collect::<Value>(), "topics": topics}).to_string()
}

/// Returns the names of the link traces that are included.
#[pyfunction]
fn link_traces() -> Vec<&'static str> {
    airwnd_lab::link_traces()
}

/// Returns the presets with their values, as JSON.
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

/// Returns the JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    airwnd_lab::schema().to_string()
}

/// Returns the resource grid of a carrier as JSON, from the tables `carrier` and `radio.access` of a resolved scenario:
/// PRBs, PRBs of an RBG, nanoseconds of a slot, and downlink and uplink symbols of the slots of a period.
#[pyfunction]
fn resource_grid(carrier: &str, access: &str) -> PyResult<String> {
    let node = |text, origin| Node::from_json(text, origin).map_err(scenario_error);
    let grid = airwnd_lab::resource_grid(&node(carrier, "carrier")?, &node(access, "radio.access")?);
    let grid = grid.map_err(scenario_error)?;
    Ok(json!({
        "prbs": grid.prbs.0,
        "rbg_prbs": grid.rbg_prbs.0,
        "slot_ns": grid.slot.0,
        "slots": grid.slots.iter().map(|slot| json!([slot.downlink, slot.uplink])).collect::<Value>(),
    })
    .to_string())
}

/// Parses a duration such as "10ms" to nanoseconds.
#[pyfunction]
fn parse_span(text: &str) -> PyResult<u64> {
    text.parse().map(|span: Span| span.0).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Parses a rate such as "5Mbps" to bits per second.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse().map(|rate: BitRate| rate.0).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Parses a size such as "2GB" to bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    text.parse().map(|bytes: Bytes| bytes.0).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Plug-ins in Rust that this engine was built with: scenarios name them with `kind = "plugin"`.
///
/// Python creates the module once, and passes no state to the classes in it.
static BUILT_IN: OnceLock<fn(&mut Plugins)> = OnceLock::new();

/// Defines the Python module `airwnd._native` with plug-ins in Rust.
///
/// `airwnd --engine FILE` and the environment variable `AIRWND_ENGINE` use the library that contains it in place of the
/// one that is installed. The argument is a function that registers the plug-ins.
#[macro_export]
macro_rules! engine {
    ($register:expr) => {
        #[$crate::pyo3::pymodule]
        #[pyo3(crate = "::airwnd_py::pyo3")]
        fn _native(
            module: &$crate::pyo3::Bound<'_, $crate::pyo3::types::PyModule>,
        ) -> $crate::pyo3::PyResult<()> {
            $crate::fill(module, $register)
        }
    };
}

/// Fills the module `airwnd._native`.
///
/// # Errors
/// An exception of Python.
pub fn fill(module: &Bound<'_, PyModule>, register: fn(&mut Plugins)) -> PyResult<()> {
    BUILT_IN.set(register).map_err(|_| PyImportError::new_err("the engine is already loaded"))?;
    panics::silence();
    let py = module.py();
    module.add("PanicException", py.get_type::<PanicException>())?;
    module.add("Interrupted", py.get_type::<Interrupted>())?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("CallTimeout", py.get_type::<watch::CallTimeout>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    // Missing value in an array of whole numbers.
    module.add("NOTHING", airwnd_lab::NOTHING)?;
    // Version and hash of the engine's sources: results of different engines are never mixed.
    module.add("ENGINE", env!("AIRWND_ENGINE"))?;
    module.add_class::<Scenario>()?;
    module.add_class::<page::PageScenario>()?;
    module.add_class::<page::PageSession>()?;
    module.add_class::<path::Path>()?;
    module.add_class::<session::Flow>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Ue>()?;
    plugin::add_classes(module)?;
    for function in [
        wrap_pyfunction!(guard::guard, module)?,
        wrap_pyfunction!(guard::guard_commands, module)?,
        wrap_pyfunction!(link::link, module)?,
        wrap_pyfunction!(link::link_side, module)?,
        wrap_pyfunction!(panics::panic_place, module)?,
        wrap_pyfunction!(panics::show_panics, module)?,
        wrap_pyfunction!(watch::end_when_stuck, module)?,
        wrap_pyfunction!(catalogue, module)?,
        wrap_pyfunction!(compats, module)?,
        wrap_pyfunction!(controls_of_marks, module)?,
        wrap_pyfunction!(udp_traffic, module)?,
        wrap_pyfunction!(limits, module)?,
        wrap_pyfunction!(link_traces, module)?,
        wrap_pyfunction!(parse_bytes, module)?,
        wrap_pyfunction!(parse_rate, module)?,
        wrap_pyfunction!(parse_span, module)?,
        wrap_pyfunction!(presets, module)?,
        wrap_pyfunction!(resource_grid, module)?,
        wrap_pyfunction!(schema, module)?,
        wrap_pyfunction!(sections, module)?,
        wrap_pyfunction!(stacks, module)?,
        wrap_pyfunction!(tables, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

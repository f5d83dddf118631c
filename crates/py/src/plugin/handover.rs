//! Handover algorithms implemented as Python classes: they configure reports of UEs, and choose target cells.

use super::{Object, Plugin, Role, Wrong, optional, shown};
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_cell::CellId;
use airwnd_cell::handover::{Context, Event, Handover, Measured, Quantity, Report, Trigger};
use airwnd_units::{Db, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use std::sync::Arc;

/// Maximum number of reporting events of a UE (TS 36.331 §6.4, maxReportConfigId).
const MAX_EVENTS: usize = 32;

/// A UE that can change cells, as its handover algorithm knows it.
///
/// Attributes
/// ----------
/// number
///     Number of the UE.
/// cells
///     Number of cells. Their numbers begin with 0.
/// seed
///     Seed of the algorithm, for its random numbers: it depends on the seed of the run and on the UE.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct HandoverUe {
    number: u32,
    cells: u32,
    seed: u64,
}

#[pymethods]
impl HandoverUe {
    #[new]
    #[pyo3(signature = (*, number=0, cells=2, seed=1))]
    fn new(number: u32, cells: u32, seed: u64) -> HandoverUe {
        HandoverUe { number, cells, seed }
    }

    fn __repr__(&self) -> String {
        format!("<HandoverUe {}>", self.number)
    }
}

/// A reporting event that a UE evaluates (TS 36.331 §5.5.4).
///
/// Parameters
/// ----------
/// event
///     ``"a2"``: the serving cell becomes worse than `threshold`. ``"a3"``: a neighbour becomes better than the serving
///     cell by `threshold`. ``"a4"``: a neighbour becomes better than `threshold`.
/// threshold
///     In dB; in dBm for the RSRP of ``"a2"`` and ``"a4"``.
/// quantity
///     ``"rsrp"`` or ``"rsrq"``.
/// hysteresis_db
///     Hysteresis, 0 to 15.
/// time_to_trigger_s
///     Time for which the condition must hold, 0 to 5.12.
/// interval_s
///     Interval between reports while the event lasts, 0.12 to 3600.
#[pyclass(frozen, module = "airwnd")]
pub struct HandoverEvent {
    trigger: Trigger,
    event: &'static str,
}

#[pymethods]
impl HandoverEvent {
    #[new]
    #[pyo3(signature = (
        event, threshold, *, quantity="rsrp", hysteresis_db=0.0, time_to_trigger_s=0.0, interval_s=1.024,
    ))]
    fn new(
        event: &str,
        threshold: f64,
        quantity: &str,
        hysteresis_db: f64,
        time_to_trigger_s: f64,
        interval_s: f64,
    ) -> PyResult<HandoverEvent> {
        let refused = |message: String| Err(PyValueError::new_err(message));
        let ranges = [
            ("threshold", threshold, -200.0..=100.0),
            ("hysteresis_db", hysteresis_db, 0.0..=15.0),
            ("time_to_trigger_s", time_to_trigger_s, 0.0..=5.12),
            ("interval_s", interval_s, 0.12..=3600.0),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                return refused(format!("{name} is {value}; allowed: {} to {}", range.start(), range.end()));
            }
        }
        let (word, event) = match event {
            "a2" => ("a2", Event::A2(threshold)),
            "a3" => ("a3", Event::A3(Db(threshold))),
            "a4" => ("a4", Event::A4(threshold)),
            other => return refused(format!("event is {other:?}; allowed: a2, a3, a4")),
        };
        let quantity = match quantity {
            "rsrp" => Quantity::Rsrp,
            "rsrq" => Quantity::Rsrq,
            other => return refused(format!("quantity is {other:?}; allowed: rsrp, rsrq")),
        };
        let trigger = Trigger {
            event,
            quantity,
            hysteresis: Db(hysteresis_db),
            time_to_trigger: Span::from_secs_f64(time_to_trigger_s),
            interval: Span::from_secs_f64(interval_s),
        };
        Ok(HandoverEvent { trigger, event: word })
    }

    fn __repr__(&self) -> String {
        format!("<HandoverEvent {}>", self.event)
    }
}

/// A UE's filtered measurements of a cell.
///
/// Attributes
/// ----------
/// cell
///     Number of the cell.
/// rsrp_dbm, rsrq_db
///     Reference signal received power and quality.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct CellMeasurement {
    cell: u32,
    rsrp_dbm: f64,
    rsrq_db: f64,
}

#[pymethods]
impl CellMeasurement {
    #[new]
    #[pyo3(signature = (cell, *, rsrp_dbm=-100.0, rsrq_db=-10.0))]
    fn new(cell: u32, rsrp_dbm: f64, rsrq_db: f64) -> CellMeasurement {
        CellMeasurement { cell, rsrp_dbm, rsrq_db }
    }

    fn __repr__(&self) -> String {
        format!("<CellMeasurement of cell {}: {:.1} dBm>", self.cell, self.rsrp_dbm)
    }
}

impl From<&Measured> for CellMeasurement {
    fn from(measured: &Measured) -> CellMeasurement {
        let Measured { cell, rsrp, rsrq } = *measured;
        CellMeasurement { cell: cell.0.into(), rsrp_dbm: rsrp.0, rsrq_db: rsrq.0 }
    }
}

/// A measurement report of a UE.
///
/// Attributes
/// ----------
/// now_s
///     Current time, in seconds from the beginning of the simulation.
/// event
///     Index of the reporting event in what ``events`` has returned.
/// serving
///     The serving cell.
/// neighbours
///     Neighbours for which the event holds, the best first, at most eight; empty for ``"a2"``.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct HandoverReport {
    now_s: f64,
    event: usize,
    serving: Py<CellMeasurement>,
    neighbours: Vec<Py<CellMeasurement>>,
}

#[pymethods]
impl HandoverReport {
    #[new]
    #[pyo3(signature = (serving, neighbours, *, event=0, now_s=0.0))]
    fn new(
        serving: Py<CellMeasurement>,
        neighbours: Vec<Py<CellMeasurement>>,
        event: usize,
        now_s: f64,
    ) -> HandoverReport {
        HandoverReport { now_s, event, serving, neighbours }
    }

    fn __repr__(&self) -> String {
        format!("<HandoverReport of {} neighbours at {} s>", self.neighbours.len(), self.now_s)
    }
}

impl Role for dyn Handover {
    const FAMILY: &'static str = "handover";

    fn begin(plugin: &Arc<Plugin>, ctx: &Context, failures: &Failures) -> Result<Box<Self>, Error> {
        let Context { ue, cells, seed } = *ctx;
        let mut algorithm = plugin.create(|class, watch| {
            let first = HandoverUe { number: ue.0, cells: cells.into(), seed };
            let object = class.call_method1("make", (first,))?;
            Ok(Algorithm {
                object: Object::new(plugin, watch, failures),
                events: object.getattr("events")?.unbind(),
                target: object.getattr("target")?.unbind(),
                on_handover: optional(class, &object, "on_handover")?,
                triggers: Vec::new(),
                cells,
            })
        })?;
        algorithm.triggers = algorithm.ask_events();
        Ok(Box::new(algorithm))
    }
}

/// A handover algorithm whose decisions are those of an object. After a failure the UE stays in its cell.
struct Algorithm {
    object: Object,
    events: Py<PyAny>,
    target: Py<PyAny>,
    on_handover: Option<Py<PyAny>>,
    triggers: Vec<Trigger>,
    cells: u16,
}

impl Algorithm {
    fn ask_events(&self) -> Vec<Trigger> {
        let asked = self.object.call("events", |py| {
            let returned = self.events.call0(py)?.into_bound(py);
            let events: Option<Vec<PyRef<'_, HandoverEvent>>> = returned.extract().ok();
            match events.filter(|events| events.len() <= MAX_EVENTS) {
                Some(events) => Ok(events.iter().map(|event| event.trigger).collect()),
                None => Err(Wrong::Value(format!(
                    "returns {}; it must return a list of at most {MAX_EVENTS} airwnd.HandoverEvent",
                    shown(&returned)
                ))),
            }
        });
        asked.unwrap_or_default()
    }
}

impl Handover for Algorithm {
    fn triggers(&self) -> Vec<Trigger> {
        self.triggers.clone()
    }

    fn on_report(&mut self, report: &Report<'_>) -> Option<CellId> {
        let asked = self.object.call("target", |py| {
            let measured = |measured: &Measured| Py::new(py, CellMeasurement::from(measured));
            let report = HandoverReport {
                now_s: report.now.as_secs(),
                event: report.trigger,
                serving: measured(&report.serving)?,
                neighbours: report.neighbours.iter().map(measured).collect::<PyResult<_>>()?,
            };
            let returned = self.target.call1(py, (report,))?.into_bound(py);
            if returned.is_none() {
                return Ok(None);
            }
            // True and False are integers, but no cells.
            let number = returned.extract::<u16>().ok().filter(|_| !returned.is_instance_of::<PyBool>());
            match number.filter(|number| *number < self.cells) {
                Some(number) => Ok(Some(CellId(number))),
                None => Err(Wrong::Value(format!(
                    "returns {}; it must return the number of a cell, 0 to {}, or None",
                    shown(&returned),
                    self.cells - 1
                ))),
            }
        });
        asked.flatten()
    }

    fn on_handover(&mut self) {
        self.object.notify("on_handover", self.on_handover.as_ref(), |py| Ok(PyTuple::empty(py)));
    }
}

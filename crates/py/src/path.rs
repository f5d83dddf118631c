//! The network in virtual time for transports without I/O, whose endpoints are Python objects.

use crate::arguments::{input_error, quantity};
use crate::owned::Owned;
use crate::{Scenario, columns, plugin, results, settle};
use airwnd::{Bytes, Datagram, Ecn, End, Fate, FlowOptions, PathError, Protocol, Records, Span};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Mutex;
use std::time::Duration;

/// A network in virtual time; `airwnd.Path` is its interface.
#[pyclass(frozen, module = "airwnd._native")]
pub struct Path {
    inner: Owned<airwnd::Path>,
    flows: Mutex<Vec<airwnd::Flow>>,
}

/// Layers of a qlog.
const RADIO_LAYERS: [&str; 2] = ["mac", "rrc"];

/// Time of arrival and departure in seconds, flow, whether it was sent to the UE, data, ECN field, cause of a drop, and time
/// of a mark in seconds.
type PyEvent<'py> = (f64, f64, u32, bool, Bound<'py, PyBytes>, u8, Option<&'static str>, Option<f64>);

impl Path {
    fn with<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut airwnd::Path) -> Result<T, PathError>,
    ) -> PyResult<T> {
        self.inner.with(py, |path| call(path).map_err(|error| refused(py, error)))
    }

    fn end(&self, py: Python<'_>, flow: u32, at_ue: bool) -> PyResult<End> {
        let flows = self.flows.lock().expect("never poisoned");
        match flows.get(flow as usize) {
            Some(flow) => Ok(if at_ue { flow.ue() } else { flow.server() }),
            None => Err(input_error(py, &format!("flow {flow} was not opened on this path"))),
        }
    }
}

/// Converts an error of a call: a failed simulation as that of a run.
fn refused(py: Python<'_>, error: PathError) -> PyErr {
    match error {
        PathError::Failed(error) => settle::<()>(py, Err(error)).expect_err("it is an error"),
        other => input_error(py, &other.to_string()),
    }
}

fn seconds(at: Duration) -> f64 {
    at.as_nanos() as f64 / 1e9
}

fn time(py: Python<'_>, name: &str, value_s: f64) -> PyResult<Duration> {
    Ok(Duration::from_nanos(quantity(py, name, nanoseconds(value_s), 0.0, "seconds")?))
}

/// Nanoseconds, rounded up, except for the rounding of a whole number of them in [`seconds`].
fn nanoseconds(value_s: f64) -> f64 {
    let value = value_s * 1e9;
    let nearest = value.round();
    if (value - nearest).abs() <= 2.0 * f64::EPSILON * nearest { nearest } else { value.ceil() }
}

#[pymethods]
impl Path {
    #[new]
    #[pyo3(signature = (scenario, seed, series_interval_ns=None, max_memory=None, radio=false))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        seed: u64,
        series_interval_ns: Option<u64>,
        max_memory: Option<u64>,
        radio: bool,
    ) -> PyResult<Path> {
        let checked = airwnd::Scenario::of(scenario.node.clone(), scenario.checked.clone());
        let radio = radio.then(|| checked.radio_filter(&RADIO_LAYERS, &[])).transpose();
        let records = Records {
            series: series_interval_ns.map(Span),
            memory: max_memory.map(Bytes),
            radio: settle(py, radio)?,
            ..Records::default()
        };
        let path = airwnd::Path::recorded(&checked, seed, &records);
        let located = path.map_err(|error| error.located(&scenario.checked.name, &scenario.node));
        Ok(Path { inner: Owned::new("path", settle(py, located)?), flows: Mutex::default() })
    }

    /// Present in seconds from the end of the warm-up.
    #[getter]
    fn time_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |path| Ok(seconds(path.now())))
    }

    /// Opens a flow of a UE and returns its number: of UDP packets, or of whole IP packets of a protocol.
    fn open(
        &self,
        py: Python<'_>,
        ue: &str,
        ports: Option<[u16; 2]>,
        dscp: u8,
        protocol: Option<&str>,
    ) -> PyResult<u32> {
        let options = match protocol {
            None => FlowOptions::udp(),
            Some("tcp") => FlowOptions::ip(Protocol::Tcp),
            Some("udp") => FlowOptions::ip(Protocol::Udp),
            Some(other) => {
                let message = format!("protocol: expected 'tcp', 'udp' or None, found {other:?}");
                return Err(input_error(py, &message));
            }
        };
        let options = options.with_dscp(dscp);
        let options = ports.map_or(options, |[ue, server]| options.with_ports(ue, server));
        let flow = self.with(py, |path| path.open(path.ue(ue)?, options))?;
        let mut flows = self.flows.lock().expect("never poisoned");
        flows.push(flow);
        Ok(flows.len() as u32 - 1)
    }

    /// Sends a datagram from the UE or from the server at the present.
    fn send(&self, py: Python<'_>, flow: u32, from_ue: bool, data: &[u8], ecn: u8) -> PyResult<()> {
        let ecn = match ecn {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => return Err(input_error(py, &format!("ecn: expected a number from 0 to 3, found {ecn}"))),
        };
        let from = self.end(py, flow, from_ue)?;
        self.with(py, |path| path.send(path.now(), from, Datagram::from(data), ecn))
    }

    /// Advances to a time, or to the first instant at which packets leave the network, and returns the time. With `before`
    /// only events before the time are executed.
    fn advance(&self, py: Python<'_>, to_s: f64, before: bool) -> PyResult<f64> {
        let to = time(py, "to_s", to_s)?;
        let mut guard = self.inner.lock(py)?;
        let Some(path) = &mut *guard else { return Err(self.inner.finished(py)) };
        let reached = py.detach(|| if before { path.advance_before(to) } else { path.advance(to) });
        drop(guard);
        reached.map(seconds).map_err(|error| refused(py, error))
    }

    /// Returns the next packet that has left the network; `None`: there is none.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<PyEvent<'py>>> {
        let event = self.with(py, |path| Ok(path.poll()))?;
        Ok(event.map(|event| {
            let cause = match event.fate {
                Fate::Delivered => None,
                Fate::Dropped(cause) => Some(cause.name()),
            };
            let is_to_ue = event.to == event.to.flow.ue();
            let data = PyBytes::new(py, event.datagram.bytes());
            let flow = event.to.flow.number() as u32;
            let marked = event.marked_at.map(seconds);
            (seconds(event.at), seconds(event.sent_at), flow, is_to_ue, data, event.ecn as u8, cause, marked)
        }))
    }

    /// Sets the bytes that the application at an end has received, and the packets that it has sent again.
    fn report(
        &self,
        py: Python<'_>,
        flow: u32,
        at_ue: bool,
        received: u64,
        retransmissions: u64,
    ) -> PyResult<()> {
        let end = self.end(py, flow, at_ue)?;
        self.with(py, |path| {
            path.set_received(end, received)?;
            path.set_retransmissions(end, retransmissions)
        })
    }

    /// Records an RTT sample of the sender at an end.
    fn record_rtt(&self, py: Python<'_>, flow: u32, at_ue: bool, rtt_s: f64) -> PyResult<()> {
        let (end, rtt) = (self.end(py, flow, at_ue)?, time(py, "rtt_s", rtt_s)?);
        self.with(py, |path| path.record_rtt(end, rtt))
    }

    /// Minimum one-way delay in seconds of the packets delivered to an end; `None`: there are none.
    fn min_delay_s(&self, py: Python<'_>, flow: u32, at_ue: bool) -> PyResult<Option<f64>> {
        let end = self.end(py, flow, at_ue)?;
        self.with(py, |path| Ok(path.min_delay(end)?.map(seconds)))
    }

    /// Id of a flow in results.
    fn id(&self, py: Python<'_>, flow: u32) -> PyResult<String> {
        let end = self.end(py, flow, true)?;
        self.with(py, |path| path.id(end.flow))
    }

    /// Number of a UE.
    fn ue(&self, py: Python<'_>, name: &str) -> PyResult<u32> {
        self.with(py, |path| Ok(path.ue(name)?.0))
    }

    /// Takes the full tables of the radio interface.
    fn radio<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyDict>)>> {
        let full = self.with(py, |path| Ok(path.radio()))?;
        full.into_iter().map(|(name, table)| Ok((name, columns(py, table)?))).collect()
    }

    /// Ends the path. Returns the results as JSON, and the tables by name and column, with the rest of those of the radio
    /// interface.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let path = self.inner.take(py)?;
        let (outcome, radio) = py.detach(|| path.finish_traced()).map_err(|error| refused(py, error))?;
        plugin::take_raised();
        let (figures, tables) = results(py, outcome)?;
        for (name, table) in radio {
            tables.set_item(name, columns(py, table)?)?;
        }
        Ok((figures, tables))
    }
}

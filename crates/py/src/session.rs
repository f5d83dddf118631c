//! Simulations that Python code advances, observes and steers.

use crate::arguments::{input_error, quantity};
use crate::owned::Owned;
use crate::{Scenario, plugin, radio, results, scenario_error, settle};
use airwnd_catalog::Error;
use airwnd_lab::tap::Tap;
use airwnd_lab::{FlowView, Records, UeView};
use airwnd_units::{BitRate, Bytes, Span, Time};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Simulated time between two looks for a signal.
const SIGNAL_PERIOD: Span = Span::from_millis(100);

/// A simulation in steps; `airwnd.Session` is its interface.
#[pyclass(frozen, module = "airwnd._native")]
pub struct Session {
    inner: Owned<airwnd_lab::Session<'static>>,
    /// End of the warm-up.
    begin: Time,
    trace: Option<radio::SessionTrace>,
}

impl Session {
    fn with<T>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&mut airwnd_lab::Session<'static>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.inner.with(py, read)
    }

    fn steer(
        &self,
        py: Python<'_>,
        set: impl FnOnce(&mut airwnd_lab::Session<'static>) -> Result<(), Error>,
    ) -> PyResult<()> {
        self.with(py, |session| set(session).map_err(scenario_error))
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (scenario, seed, series_interval_ns=None, max_memory=None, radio=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        seed: u64,
        series_interval_ns: Option<u64>,
        max_memory: Option<u64>,
        radio: Option<(radio::Wanted, Py<PyAny>)>,
    ) -> PyResult<Session> {
        let checked = &scenario.checked;
        let filter = radio.as_ref().map(|(wanted, _)| radio::filter(checked, wanted)).transpose()?;
        let records = Records {
            series: series_interval_ns.map(Span),
            memory: max_memory.map(Bytes),
            radio: filter.clone(),
            ..Records::default()
        };
        let trace = radio
            .zip(filter)
            .map(|((_, write), filter)| radio::SessionTrace::new(radio::Trace::new(checked, filter, write)));
        let tap = trace.clone().map(|trace| Box::new(trace) as Box<dyn Tap>);
        let session = airwnd_lab::Session::tapped(checked.clone(), seed, &records, tap);
        let session = settle(py, session.map_err(|error| error.located(&checked.name, &scenario.node)))?;
        Ok(Session { begin: session.begin(), inner: Owned::new("session", session), trace })
    }

    /// Time from the end of the warm-up, in seconds.
    #[getter]
    fn time_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |session| Ok((session.now().0 as f64 - self.begin.0 as f64) / 1e9))
    }

    /// Executes all events of the next `by_s` seconds, and returns the time.
    fn advance(&self, py: Python<'_>, by_s: f64) -> PyResult<f64> {
        let by = Span(quantity(py, "by_s", by_s * 1e9, 0.0, "seconds")?);
        let mut guard = self.inner.lock(py)?;
        let Some(session) = &mut *guard else { return Err(self.inner.finished(py)) };
        let to = session.now() + by;
        let mut interrupted = None;
        let advanced = py.detach(|| {
            while session.now() < to {
                session.advance(to.min(session.now() + SIGNAL_PERIOD))?;
                if session.now() < to {
                    interrupted = Python::attach(|py| py.check_signals()).err();
                    if interrupted.is_some() {
                        break;
                    }
                }
            }
            Ok(())
        });
        let now = session.now();
        drop(guard);
        settle(py, advanced)?;
        self.trace.as_ref().map_or(Ok(()), radio::SessionTrace::check)?;
        interrupted.map_or(Ok((now.0 as f64 - self.begin.0 as f64) / 1e9), Err)
    }

    /// The flows, in the order of results.
    fn flows(this: &Bound<'_, Self>) -> PyResult<Vec<Flow>> {
        this.get().with(this.py(), |session| {
            let flow = |number| Flow {
                session: this.clone().unbind(),
                number,
                id: session.flow_id(number),
                ue: session.ue_of(number),
            };
            Ok((0..session.flows()).map(flow).collect())
        })
    }

    /// The UEs.
    fn ues(this: &Bound<'_, Self>) -> PyResult<Vec<Ue>> {
        this.get().with(this.py(), |session| {
            Ok((0..session.ues()).map(|number| Ue { session: this.clone().unbind(), number }).collect())
        })
    }

    /// State of all flows: a list of values by property, NaN for ``None``.
    fn read_flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let views: Vec<FlowView> =
            self.with(py, |session| Ok((0..session.flows()).map(|flow| session.flow(flow)).collect()))?;
        table(py, &views, FLOW_COLUMNS)
    }

    /// State of all UEs: a list of values by property, NaN for ``None``.
    fn read_ues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let views: Vec<UeView> =
            self.with(py, |session| Ok((0..session.ues()).map(|ue| session.ue(ue)).collect()))?;
        table(py, &views, UE_COLUMNS)
    }

    /// Ends the session. Returns the results as JSON, and the tables by name and column.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let session = self.inner.take(py)?;
        let outcome = py.detach(|| session.finish());
        plugin::take_raised();
        self.trace.as_ref().map_or(Ok(()), radio::SessionTrace::finish)?;
        results(py, outcome)
    }
}

/// Columns of a table of views.
type Columns<T> = &'static [(&'static str, fn(&T) -> f64)];

const FLOW_COLUMNS: Columns<FlowView> = &[
    ("is_active", |flow| f64::from(u8::from(flow.is_active))),
    ("goodput_bytes", |flow| flow.goodput.0 as f64),
    ("packets_sent", |flow| flow.packets[0] as f64),
    ("packets_received", |flow| flow.packets[1] as f64),
    ("packets_dropped", |flow| flow.packets[2] as f64),
    ("packets_marked", |flow| flow.marked as f64),
    ("delay_sum_s", |flow| flow.delays.as_secs()),
    ("retransmissions", |flow| flow.retransmissions as f64),
    ("timeouts", |flow| flow.timeouts as f64),
    ("cwnd_bytes", |flow| or_nan(flow.tcp.map(|tcp| tcp.cwnd.0 as f64))),
    ("ssthresh_bytes", |flow| or_nan(flow.tcp.and_then(|tcp| tcp.ssthresh).map(|bytes| bytes.0 as f64))),
    ("rwnd_bytes", |flow| or_nan(flow.tcp.map(|tcp| tcp.rwnd.0 as f64))),
    ("in_flight_bytes", |flow| or_nan(flow.tcp.map(|tcp| tcp.in_flight.0 as f64))),
    ("srtt_s", |flow| or_nan(flow.tcp.and_then(|tcp| tcp.srtt).map(Span::as_secs))),
    ("min_rtt_s", |flow| or_nan(flow.tcp.and_then(|tcp| tcp.min_rtt).map(Span::as_secs))),
    ("pacing_rate_bps", |flow| or_nan(flow.tcp.and_then(|tcp| tcp.pacing_rate_bps).map(|rate| rate as f64))),
];

const UE_COLUMNS: Columns<UeView> = &[
    ("queue_bytes", |ue| ue.queue_bytes.0 as f64),
    ("queue_packets", |ue| ue.queue_packets as f64),
    ("sinr_db", |ue| or_nan(ue.sinr_db)),
    ("cell", |ue| or_nan(ue.cell.map(f64::from))),
    ("decoded_bytes", |ue| ue.decoded.0 as f64),
    ("x_m", |ue| or_nan(ue.position_m.map(|[x, _]| x))),
    ("y_m", |ue| or_nan(ue.position_m.map(|[_, y]| y))),
];

fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

fn table<'py, T>(py: Python<'py>, views: &[T], columns: Columns<T>) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (name, value) in columns {
        let values: Bound<'py, PyArray1<f64>> = views.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
        table.set_item(name, values)?;
    }
    Ok(table)
}

/// A flow of a :class:`airwnd.Session`. Properties are read at the current time; counters are sums since its start.
///
/// Attributes
/// ----------
/// id
///     Id, as in results.
/// ue
///     Number of its UE.
/// is_active
///     Whether it has started and may still transfer data.
/// goodput_bytes
///     Payload received, in order for TCP.
/// packets_sent, packets_received, packets_dropped, packets_marked
///     IP packets in the direction of the data; marked: received with a congestion mark (ECN CE).
/// delay_sum_s
///     Sum of the one-way delays of the packets received, in seconds: its growth over that of ``packets_received`` is
///     their mean delay.
/// retransmissions, timeouts
///     Segments retransmitted, and retransmission timeouts.
/// cwnd_bytes, ssthresh_bytes
///     Congestion window and slow-start threshold of the sender; ``None`` without a connection, or before a threshold is
///     set.
/// rwnd_bytes
///     Receive window advertised to the sender; ``None`` without a connection.
/// in_flight_bytes
///     Bytes in flight, as estimated by the sender; ``None`` without a connection.
/// srtt_s, min_rtt_s
///     Smoothed and minimum RTT of the sender, in seconds; ``None`` before the first sample.
/// pacing_rate_bps
///     Pacing rate that the congestion control sets, in bit/s; ``None``: it sets none.
#[pyclass(frozen, module = "airwnd._native")]
pub struct Flow {
    session: Py<Session>,
    number: u32,
    #[pyo3(get)]
    id: String,
    #[pyo3(get)]
    ue: u32,
}

impl Flow {
    fn view(&self, py: Python<'_>) -> PyResult<FlowView> {
        self.session.get().with(py, |session| Ok(session.flow(self.number)))
    }
}

#[pymethods]
impl Flow {
    #[getter]
    fn is_active(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.view(py)?.is_active)
    }
    #[getter]
    fn goodput_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.goodput.0)
    }
    #[getter]
    fn packets_sent(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.packets[0])
    }
    #[getter]
    fn packets_received(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.packets[1])
    }
    #[getter]
    fn packets_dropped(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.packets[2])
    }
    #[getter]
    fn packets_marked(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.marked)
    }
    #[getter]
    fn delay_sum_s(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.view(py)?.delays.as_secs())
    }
    #[getter]
    fn retransmissions(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.retransmissions)
    }
    #[getter]
    fn timeouts(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.timeouts)
    }
    #[getter]
    fn cwnd_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.view(py)?.tcp.map(|tcp| tcp.cwnd.0))
    }
    #[getter]
    fn ssthresh_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.view(py)?.tcp.and_then(|tcp| tcp.ssthresh).map(|bytes| bytes.0))
    }
    #[getter]
    fn rwnd_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.view(py)?.tcp.map(|tcp| tcp.rwnd.0))
    }
    #[getter]
    fn in_flight_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.view(py)?.tcp.map(|tcp| tcp.in_flight.0))
    }
    #[getter]
    fn srtt_s(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.view(py)?.tcp.and_then(|tcp| tcp.srtt).map(Span::as_secs))
    }
    #[getter]
    fn min_rtt_s(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.view(py)?.tcp.and_then(|tcp| tcp.min_rtt).map(Span::as_secs))
    }
    #[getter]
    fn pacing_rate_bps(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.view(py)?.tcp.and_then(|tcp| tcp.pacing_rate_bps))
    }

    /// Set cwnd of the sender, at least one segment. Its congestion control goes on from there; `fixed` keeps it.
    fn set_cwnd(&self, py: Python<'_>, cwnd_bytes: f64) -> PyResult<()> {
        let cwnd = Bytes(quantity(py, "cwnd_bytes", cwnd_bytes, 1.0, "bytes")?);
        self.session.get().steer(py, |session| session.set_cwnd(self.number, cwnd))
    }

    /// Set the maximum receive window, for flows with ``rwnd = "fixed"``. A smaller one takes back nothing that was
    /// offered.
    fn set_rwnd(&self, py: Python<'_>, rwnd_bytes: f64) -> PyResult<()> {
        let window = Bytes(quantity(py, "rwnd_bytes", rwnd_bytes, 0.0, "bytes")?);
        self.session.get().steer(py, |session| session.set_rwnd(self.number, window))
    }

    /// Set the pacing rate of the payload, for flows with ``cc = "fixed"``; ``None``: no pacing.
    fn set_pacing_rate(&self, py: Python<'_>, rate_bps: Option<f64>) -> PyResult<()> {
        let rate = rate_bps.map(|rate| quantity(py, "rate_bps", rate, 1.0, "bits per second")).transpose()?;
        self.session.get().steer(py, |session| session.set_pacing_rate(self.number, rate.map(BitRate)))
    }

    /// Set the rate of the source, for ``cbr`` and for ``video`` and ``ftp`` without off periods, from the next write on.
    fn set_rate(&self, py: Python<'_>, rate_bps: f64) -> PyResult<()> {
        let rate = BitRate(quantity(py, "rate_bps", rate_bps, 1.0, "bits per second")?);
        self.session.get().steer(py, |session| session.set_rate(self.number, rate))
    }

    fn __repr__(&self) -> String {
        format!("<Flow {} of UE {}>", self.id, self.ue)
    }
}

/// A UE of a :class:`airwnd.Session`. Properties are read at the current time.
///
/// Attributes
/// ----------
/// number
///     Number, as in results.
/// queue_bytes, queue_packets
///     Backlog at the eNB; without cells: in the link queues of the downlink path.
/// sinr_db
///     SINR of the latest report; ``None`` without cells or before the first report.
/// cell
///     Number of the serving cell; ``None`` without cells.
/// decoded_bytes
///     Downlink transport blocks decoded so far; zero without cells.
/// x_m, y_m
///     Position east and north of the origin; ``None`` without cells.
#[pyclass(frozen, module = "airwnd._native")]
pub struct Ue {
    session: Py<Session>,
    #[pyo3(get)]
    number: u32,
}

impl Ue {
    fn view(&self, py: Python<'_>) -> PyResult<UeView> {
        self.session.get().with(py, |session| Ok(session.ue(self.number)))
    }
}

#[pymethods]
impl Ue {
    #[getter]
    fn queue_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.queue_bytes.0)
    }
    #[getter]
    fn queue_packets(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.queue_packets)
    }
    #[getter]
    fn sinr_db(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.view(py)?.sinr_db)
    }
    #[getter]
    fn cell(&self, py: Python<'_>) -> PyResult<Option<u16>> {
        Ok(self.view(py)?.cell)
    }
    #[getter]
    fn decoded_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.view(py)?.decoded.0)
    }
    #[getter]
    fn x_m(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.view(py)?.position_m.map(|[x, _]| x))
    }
    #[getter]
    fn y_m(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.view(py)?.position_m.map(|[_, y]| y))
    }

    /// Set the weight in the downlink scheduler, a factor of the UE's metric: 1 at first. For ``pf``, ``bet``,
    /// ``m-lwdf`` and ``exp-pf``.
    fn set_weight(&self, py: Python<'_>, weight: f64) -> PyResult<()> {
        if !(1e-6..=1e6).contains(&weight) {
            return Err(input_error(py, &format!("weight must be a number from 1e-6 to 1e6, not {weight}")));
        }
        self.session.get().steer(py, |session| session.set_weight(self.number, weight))
    }

    /// Set the rates of the shapers, for UEs with ``shaper.rates = "fixed"``; ``None``: no limit.
    fn set_shaper(&self, py: Python<'_>, down_bps: Option<f64>, up_bps: Option<f64>) -> PyResult<()> {
        let rate = |name, rate: Option<f64>| {
            rate.map(|rate| quantity(py, name, rate, 1.0, "bits per second").map(BitRate)).transpose()
        };
        let rates = [rate("down_bps", down_bps)?, rate("up_bps", up_bps)?];
        self.session.get().steer(py, |session| session.set_shaper(self.number, rates))
    }

    fn __repr__(&self) -> String {
        format!("<UE {}>", self.number)
    }
}

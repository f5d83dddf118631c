//! Congestion controls implemented as Python classes: they receive events and set windows.

use super::{Plugin, Role, Wrong, optional, shown};
use crate::watch::Watch;
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_tcp::cc::{self, CongestionControl, SenderContext, Signal};
use airwnd_units::{BitRate, Bytes, Span};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// Maximum window in bytes: floats represent integers exactly up to this value, and TCP windows are below 2^30.
const LARGEST: f64 = (1_u64 << 53) as f64;

/// An ACK that made progress.
///
/// Attributes
/// ----------
/// now_s
///     Time of arrival, in seconds from the beginning of the simulation.
/// acked_bytes
///     Bytes newly acknowledged, cumulatively or by SACK. May be zero if the ACK advances over bytes that earlier SACKs
///     reported.
/// rtt_s
///     RTT sample in seconds; ``None``: no sample.
/// srtt_s, min_rtt_s
///     Smoothed RTT and minimum RTT so far, in seconds; ``None`` before the first sample.
/// one_way_delay_s
///     One-way delay of the acknowledged segment to the receiver, from timestamps, in seconds; ``None`` without
///     timestamps.
/// in_flight_bytes, prior_in_flight_bytes
///     Bytes in flight after and before the ACK.
/// lost_bytes
///     Bytes declared lost since the last ACK that made progress.
/// marked_bytes
///     Bytes of ``acked_bytes`` with a congestion mark (ECN CE), as reported by the receiver; 0 without accurate ECN
///     feedback.
/// delivered_bytes
///     Bytes delivered to the receiver so far.
/// round
///     Number of round trips so far. A round trip ends when data sent after its beginning is acknowledged.
/// cwnd_limited
///     Whether cwnd limited the sender.
/// recovering
///     Whether the sender is in loss recovery.
/// delivery_rate_bps
///     Delivery rate over the last round trip, in bit/s; ``None``: no sample.
/// app_limited
///     Whether the sample was limited by the application, so that the path may be faster.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct Ack {
    now_s: f64,
    acked_bytes: u64,
    rtt_s: Option<f64>,
    srtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
    one_way_delay_s: Option<f64>,
    in_flight_bytes: u64,
    prior_in_flight_bytes: u64,
    lost_bytes: u64,
    marked_bytes: u64,
    delivered_bytes: u64,
    round: u64,
    cwnd_limited: bool,
    recovering: bool,
    delivery_rate_bps: Option<u64>,
    app_limited: bool,
}

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (
        *, now_s=0.0, acked_bytes=0, rtt_s=None, srtt_s=None, min_rtt_s=None, one_way_delay_s=None,
        in_flight_bytes=0, prior_in_flight_bytes=0, lost_bytes=0, marked_bytes=0, delivered_bytes=0, round=0,
        cwnd_limited=true, recovering=false, delivery_rate_bps=None, app_limited=false,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        now_s: f64,
        acked_bytes: u64,
        rtt_s: Option<f64>,
        srtt_s: Option<f64>,
        min_rtt_s: Option<f64>,
        one_way_delay_s: Option<f64>,
        in_flight_bytes: u64,
        prior_in_flight_bytes: u64,
        lost_bytes: u64,
        marked_bytes: u64,
        delivered_bytes: u64,
        round: u64,
        cwnd_limited: bool,
        recovering: bool,
        delivery_rate_bps: Option<u64>,
        app_limited: bool,
    ) -> Ack {
        Ack {
            now_s,
            acked_bytes,
            rtt_s,
            srtt_s,
            min_rtt_s,
            one_way_delay_s,
            in_flight_bytes,
            prior_in_flight_bytes,
            lost_bytes,
            marked_bytes,
            delivered_bytes,
            round,
            cwnd_limited,
            recovering,
            delivery_rate_bps,
            app_limited,
        }
    }

    fn __repr__(&self) -> String {
        format!("<Ack of {} bytes at {} s>", self.acked_bytes, self.now_s)
    }
}

impl From<&cc::Ack> for Ack {
    fn from(ack: &cc::Ack) -> Ack {
        Ack {
            now_s: ack.now.as_secs(),
            acked_bytes: ack.acked.0,
            rtt_s: ack.rtt.map(Span::as_secs),
            srtt_s: ack.srtt.map(Span::as_secs),
            min_rtt_s: ack.min_rtt.map(Span::as_secs),
            one_way_delay_s: ack.one_way_delay.map(Span::as_secs),
            in_flight_bytes: ack.in_flight.0,
            prior_in_flight_bytes: ack.prior_in_flight.0,
            lost_bytes: ack.lost.0,
            marked_bytes: ack.marked.0,
            delivered_bytes: ack.delivered.0,
            round: ack.round,
            cwnd_limited: ack.cwnd_limited,
            recovering: ack.recovering,
            delivery_rate_bps: ack.rate.map(|sample| sample.rate().0),
            app_limited: ack.rate.is_some_and(|sample| sample.app_limited),
        }
    }
}

/// A congestion event.
///
/// Attributes
/// ----------
/// now_s
///     Time of detection, in seconds from the beginning of the simulation.
/// signal
///     ``"loss"``: loss detected by duplicate ACKs or SACKs, at most once per window of data. ``"timeout"``: the
///     retransmission timer expired. ``"repeated-timeout"``: it expired again for the same segment. ``"ecn"``: the
///     receiver reported marked packets, at most once per window of data.
/// in_flight_bytes
///     Bytes in flight, from which ssthresh is computed.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct Congestion {
    now_s: f64,
    signal: &'static str,
    in_flight_bytes: u64,
}

#[pymethods]
impl Congestion {
    #[new]
    #[pyo3(signature = (*, now_s=0.0, signal="loss", in_flight_bytes=0))]
    fn new(now_s: f64, signal: &str, in_flight_bytes: u64) -> PyResult<Congestion> {
        let signals = [Signal::Loss, Signal::Timeout, Signal::RepeatedTimeout, Signal::Ecn];
        match signals.into_iter().map(word).find(|known| *known == signal) {
            Some(signal) => Ok(Congestion { now_s, signal, in_flight_bytes }),
            None => Err(PyValueError::new_err(format!(
                "signal must be one of {}, not {signal}",
                signals.map(word).join(", ")
            ))),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Congestion: {} at {} s>", self.signal, self.now_s)
    }
}

fn word(signal: Signal) -> &'static str {
    match signal {
        Signal::Loss => "loss",
        Signal::Timeout => "timeout",
        Signal::RepeatedTimeout => "repeated-timeout",
        Signal::Ecn => "ecn",
    }
}

impl From<&cc::Congestion> for Congestion {
    fn from(event: &cc::Congestion) -> Congestion {
        Congestion {
            now_s: event.now.as_secs(),
            signal: word(event.signal),
            in_flight_bytes: event.in_flight.0,
        }
    }
}

/// Parameters of a connection, passed to a congestion control when the connection begins.
///
/// Attributes
/// ----------
/// mss_bytes
///     Payload of a full segment (MSS) in bytes.
/// initial_window_bytes
///     Initial cwnd.
/// initial_ssthresh_bytes
///     Initial ssthresh; ``math.inf``: no threshold.
/// seed
///     Seed of the connection, for its random numbers: it depends on the seed of the run and on the flow.
/// flow
///     Number of the flow, its row in the table of flows.
/// ue
///     Number of its UE.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct Connection {
    mss_bytes: u64,
    initial_window_bytes: u64,
    initial_ssthresh_bytes: f64,
    seed: u64,
    flow: u32,
    ue: u32,
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (
        *, mss_bytes=1448, initial_window_bytes=14480, initial_ssthresh_bytes=f64::INFINITY, seed=1, flow=0, ue=0,
    ))]
    fn new(
        mss_bytes: u64,
        initial_window_bytes: u64,
        initial_ssthresh_bytes: f64,
        seed: u64,
        flow: u32,
        ue: u32,
    ) -> Connection {
        Connection { mss_bytes, initial_window_bytes, initial_ssthresh_bytes, seed, flow, ue }
    }

    fn __repr__(&self) -> String {
        format!("<Connection with segments of {} bytes>", self.mss_bytes)
    }
}

impl From<&SenderContext> for Connection {
    fn from(ctx: &SenderContext) -> Connection {
        let none = ctx.initial_ssthresh == Bytes(u64::MAX);
        Connection {
            mss_bytes: ctx.mss.0,
            initial_window_bytes: ctx.initial_window.0,
            initial_ssthresh_bytes: if none { f64::INFINITY } else { ctx.initial_ssthresh.0 as f64 },
            seed: ctx.seed,
            flow: ctx.identity.flow,
            ue: ctx.identity.ue,
        }
    }
}

/// Values set by a plug-in object.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Option<BitRate>,
}

impl Role for dyn CongestionControl {
    const FAMILY: &'static str = "cc";

    fn begin(plugin: &Arc<Plugin>, ctx: &SenderContext, _failures: &Failures) -> Result<Box<Self>, Error> {
        plugin.create(|class, watch| {
            let py = class.py();
            let object = class.call_method1("make", (Connection::from(ctx),))?;
            let bound = |name: &str| object.getattr(name).map(Bound::unbind);
            let governs_recovery = object.getattr("governs_recovery")?.is_truthy()?;
            let is_l4s = object.getattr("is_l4s")?.is_truthy()?;
            let mut controller = Controller {
                plugin: plugin.clone(),
                watch,
                on_ack: bound("on_ack")?,
                on_congestion: bound("on_congestion")?,
                on_delivery: optional(class, &object, "on_delivery")?,
                governs_recovery,
                is_l4s,
                mss: ctx.mss.0 as f64,
                state: State::default(),
                failure: None,
                object: object.unbind(),
            };
            controller.state = controller.read(py)?;
            Ok(Box::new(controller) as Box<dyn CongestionControl>)
        })
    }
}

#[derive(Debug)]
struct Controller {
    plugin: Arc<Plugin>,
    watch: Option<Arc<Watch>>,
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_delivery: Option<Py<PyAny>>,
    governs_recovery: bool,
    is_l4s: bool,
    mss: f64,
    state: State,
    failure: Option<Error>,
}

impl Controller {
    fn notify<'py>(
        &mut self,
        py: Python<'py>,
        method: &str,
        call: impl FnOnce(&Controller) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let state = self.plugin.call(py, self.watch.as_deref(), method, || {
            let returned = call(self)?;
            if returned.is_none() {
                return self.read(py);
            }
            Err(Wrong::Value(format!(
                "returns {}; it must return None and set the window as self.cwnd_bytes",
                shown(&returned)
            )))
        });
        match state {
            Ok(state) => self.state = state,
            Err(error) => self.failure = Some(error),
        }
    }

    fn read<'py>(&self, py: Python<'py>) -> Result<State, Wrong> {
        let object = self.object.bind(py);
        let get = |name: &Bound<'py, PyString>| {
            object.getattr(name).map_err(|raised| {
                if raised.is_instance_of::<PyAttributeError>(py) {
                    Wrong::Value(format!(
                        "{name} is not set; does __init__ call super().__init__(connection)?"
                    ))
                } else {
                    Wrong::Raised(raised)
                }
            })
        };
        let number = |name: &str, value: Bound<'py, PyAny>, min: f64, max: f64, unit: &str| {
            let found = value.extract::<f64>().ok().filter(|number| (min..=max).contains(number));
            found.ok_or_else(|| {
                Wrong::Value(format!(
                    "{name} is {}; it must be a number of {unit}, at least {min}",
                    shown(&value)
                ))
            })
        };
        let cwnd = get(intern!(py, "cwnd_bytes"))?;
        let ssthresh = get(intern!(py, "ssthresh_bytes"))?;
        let pacing_rate = get(intern!(py, "pacing_rate_bps"))?;
        let cwnd = number("cwnd_bytes", cwnd, 1.0, f64::MAX, "bytes")?;
        let ssthresh = number("ssthresh_bytes", ssthresh, 0.0, f64::INFINITY, "bytes")?;
        let pacing_rate = match pacing_rate.is_none() {
            true => None,
            false => Some(number("pacing_rate_bps", pacing_rate, 1.0, f64::MAX, "bits per second")?),
        };
        Ok(State {
            cwnd: Bytes(cwnd.clamp(self.mss, LARGEST) as u64),
            ssthresh: Bytes(if ssthresh.is_infinite() { u64::MAX } else { ssthresh as u64 }),
            pacing_rate: pacing_rate.map(|rate| BitRate(rate as u64)),
        })
    }
}

impl CongestionControl for Controller {
    fn on_ack(&mut self, ack: &cc::Ack) {
        Python::attach(|py| self.notify(py, "on_ack", |this| this.on_ack.bind(py).call1((Ack::from(ack),))));
    }

    fn on_congestion(&mut self, event: &cc::Congestion) {
        Python::attach(|py| {
            self.notify(py, "on_congestion", |this| {
                this.on_congestion.bind(py).call1((Congestion::from(event),))
            });
        });
    }

    fn on_delivery(&mut self, ack: &cc::Ack) {
        if self.on_delivery.is_none() {
            return;
        }
        Python::attach(|py| {
            self.notify(py, "on_delivery", |this| {
                let method = this.on_delivery.as_ref().expect("checked above");
                method.bind(py).call1((Ack::from(ack),))
            });
        });
    }

    fn cwnd(&self) -> Bytes {
        self.state.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.state.ssthresh
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        Python::attach(|py| {
            self.notify(py, "cwnd_bytes", |this| {
                this.object.bind(py).setattr(intern!(py, "cwnd_bytes"), cwnd.0.max(this.mss as u64))?;
                Ok(py.None().into_bound(py))
            });
        });
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.state.pacing_rate
    }

    fn governs_recovery(&self) -> bool {
        self.governs_recovery
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }

    fn is_l4s(&self) -> bool {
        self.is_l4s
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}

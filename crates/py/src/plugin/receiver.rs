//! Receive-window controls implemented as Python classes: they see arrivals and set the window.

use super::{Object, Plugin, Role, Wrong, optional, shown};
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_rwnd::{
    self as rwnd, Advertisement, Capabilities, MAX_SHIFT, ReceiverContext, RecvView, RwndController,
};
use airwnd_units::{Bytes, Span, Time};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::Arc;

/// Maximum window in bytes (RFC 7323 §2.3).
const LARGEST: u64 = 1 << 30;

/// A TCP receiver, as its receive-window control knows it.
///
/// Attributes
/// ----------
/// mss_bytes
///     Payload bytes of a full segment.
/// buffer_bytes
///     Receive buffer: maximum of any window.
/// seed
///     Seed of the control, for its random numbers: it depends on the seed of the run and on the connection.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct Receiver {
    mss_bytes: u64,
    buffer_bytes: u64,
    seed: u64,
}

#[pymethods]
impl Receiver {
    #[new]
    #[pyo3(signature = (*, mss_bytes=1448, buffer_bytes=6_291_456, seed=1))]
    fn new(mss_bytes: u64, buffer_bytes: u64, seed: u64) -> Receiver {
        Receiver { mss_bytes, buffer_bytes, seed }
    }

    fn __repr__(&self) -> String {
        format!("<Receiver with a buffer of {} bytes>", self.buffer_bytes)
    }
}

/// Arrival of a data segment, new or not.
///
/// Attributes
/// ----------
/// now_s
///     Time of arrival, in seconds from the beginning of the simulation.
/// size_bytes, new_bytes
///     Payload bytes, and those of them that arrive for the first time.
/// in_order
///     Whether the segment starts at the next expected byte.
/// retransmission
///     Whether it is a retransmission, by sequence numbers and timestamps (RFC 9840 section 4.3).
/// rtt_s
///     RTT sample that the segment completes, in seconds; ``None``: no sample.
/// one_way_delay_s
///     Time since the segment was sent, in seconds, by both ends' clocks; ``None`` without timestamps.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct Arrival {
    now_s: f64,
    size_bytes: u64,
    new_bytes: u64,
    in_order: bool,
    retransmission: bool,
    rtt_s: Option<f64>,
    one_way_delay_s: Option<f64>,
}

#[pymethods]
impl Arrival {
    #[new]
    #[pyo3(signature = (
        *, now_s=0.0, size_bytes=1448, new_bytes=1448, in_order=true, retransmission=false, rtt_s=None,
        one_way_delay_s=None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        now_s: f64,
        size_bytes: u64,
        new_bytes: u64,
        in_order: bool,
        retransmission: bool,
        rtt_s: Option<f64>,
        one_way_delay_s: Option<f64>,
    ) -> Arrival {
        Arrival { now_s, size_bytes, new_bytes, in_order, retransmission, rtt_s, one_way_delay_s }
    }

    fn __repr__(&self) -> String {
        format!("<Arrival of {} bytes at {} s>", self.size_bytes, self.now_s)
    }
}

impl From<&rwnd::Arrival> for Arrival {
    fn from(arrival: &rwnd::Arrival) -> Arrival {
        Arrival {
            now_s: arrival.now.as_secs(),
            size_bytes: arrival.len.0,
            new_bytes: arrival.new.0,
            in_order: arrival.in_order,
            retransmission: arrival.retransmission,
            rtt_s: arrival.rtt.map(Span::as_secs),
            one_way_delay_s: arrival.one_way_delay.map(Span::as_secs),
        }
    }
}

/// State of a receiver after an event.
///
/// Attributes
/// ----------
/// now_s
///     Current time, in seconds from the beginning of the simulation.
/// free_bytes
///     Ordinary window: the receive buffer less unread bytes.
/// unread_bytes
///     Bytes in order that the application has not read yet.
/// early_bytes
///     Bytes from the next expected one to the end of the data received out of order.
/// offered_bytes
///     Bytes offered and not yet received in order.
/// received_bytes
///     Bytes received in order since the start.
/// rtt_s, min_rtt_s
///     Mean of the RTT samples of the last round trip, and the minimum of these means, in seconds; ``None`` before the
///     first sample.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct ReceiverState {
    now_s: f64,
    free_bytes: u64,
    unread_bytes: u64,
    early_bytes: u64,
    offered_bytes: u64,
    received_bytes: u64,
    rtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
}

#[pymethods]
impl ReceiverState {
    #[new]
    #[pyo3(signature = (
        *, now_s=0.0, free_bytes=6_291_456, unread_bytes=0, early_bytes=0, offered_bytes=0, received_bytes=0,
        rtt_s=None, min_rtt_s=None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        now_s: f64,
        free_bytes: u64,
        unread_bytes: u64,
        early_bytes: u64,
        offered_bytes: u64,
        received_bytes: u64,
        rtt_s: Option<f64>,
        min_rtt_s: Option<f64>,
    ) -> ReceiverState {
        ReceiverState {
            now_s,
            free_bytes,
            unread_bytes,
            early_bytes,
            offered_bytes,
            received_bytes,
            rtt_s,
            min_rtt_s,
        }
    }

    fn __repr__(&self) -> String {
        format!("<ReceiverState at {} s>", self.now_s)
    }
}

impl ReceiverState {
    fn at(now: Time, view: &RecvView) -> ReceiverState {
        ReceiverState {
            now_s: now.as_secs(),
            free_bytes: view.free.0,
            unread_bytes: view.unread.0,
            early_bytes: view.early.0,
            offered_bytes: view.offered.0,
            received_bytes: view.received.0,
            rtt_s: view.rtt.map(Span::as_secs),
            min_rtt_s: view.min_rtt.map(Span::as_secs),
        }
    }
}

impl Role for dyn RwndController {
    const FAMILY: &'static str = "rwnd";

    fn begin(plugin: &Arc<Plugin>, ctx: &ReceiverContext, failures: &Failures) -> Result<Box<Self>, Error> {
        plugin.create(|class, watch| {
            let ReceiverContext { mss, buffer, seed } = *ctx;
            let receiver = Receiver { mss_bytes: mss.0, buffer_bytes: buffer.0, seed };
            let object = class.call_method1("make", (receiver,))?;
            let given = object.getattr("may_shrink")?;
            let Ok(may_shrink) = given.extract() else {
                return Err(Wrong::Value(format!(
                    "may_shrink is {}; it must be True or False",
                    shown(&given)
                )));
            };
            let controller = Controller {
                window: object.getattr("window")?.unbind(),
                on_arrival: optional(class, &object, "on_arrival")?,
                on_read: optional(class, &object, "on_read")?,
                object: Object::new(plugin, watch, failures),
                may_shrink,
            };
            Ok(Box::new(controller) as Box<dyn RwndController>)
        })
    }
}

/// A controller whose windows are those of an object. After a failure it offers the free buffer.
#[derive(Debug)]
struct Controller {
    object: Object,
    window: Py<PyAny>,
    on_arrival: Option<Py<PyAny>>,
    on_read: Option<Py<PyAny>>,
    may_shrink: bool,
}

impl RwndController for Controller {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            uses_one_way_delay: true,
            may_shrink: self.may_shrink,
            max_window_scale: MAX_SHIFT,
            ..Capabilities::default()
        }
    }

    fn on_segment(&mut self, arrival: &rwnd::Arrival, view: &RecvView) {
        self.object.notify("on_arrival", self.on_arrival.as_ref(), |py| {
            (Arrival::from(arrival), ReceiverState::at(arrival.now, view)).into_pyobject(py)
        });
    }

    fn on_copied(&mut self, now: Time, copied: Bytes, view: &RecvView) {
        self.object.notify("on_read", self.on_read.as_ref(), |py| {
            (copied.0, ReceiverState::at(now, view)).into_pyobject(py)
        });
    }

    fn window(&self, now: Time, view: &RecvView) -> Advertisement {
        let asked = self.object.call("window", |py| {
            let returned = self.window.call1(py, (ReceiverState::at(now, view),))?.into_bound(py);
            // True and False are integers, but no windows.
            let bytes = returned.extract::<u64>().ok().filter(|_| !returned.is_instance_of::<PyBool>());
            bytes.filter(|bytes| *bytes <= LARGEST).map(Bytes).ok_or_else(|| {
                Wrong::Value(format!(
                    "returns {}; it must return a number of bytes, 0 to {LARGEST}",
                    shown(&returned)
                ))
            })
        });
        Advertisement::Window(asked.unwrap_or(view.free).min(view.free))
    }
}

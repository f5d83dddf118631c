//! Queue disciplines implemented as Python classes: they keep the packets of a queue, and drop and mark them.

use super::{Object, Plugin, Role, Wrong, shown};
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::{Backlog, Cause, Ledger, QueueContext, QueueDisc, QueueEvents, Waiting};
use airwnd_units::{Bytes, Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// State shared by a queue and its packets.
#[derive(Debug, Default)]
struct State {
    ledger: Ledger,
    now: Time,
    held: Bytes,
}

type Shared = Arc<Mutex<State>>;

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().expect("no code of a plug-in runs while it is locked")
}

/// A queue: its backlog, and the properties that a queue discipline may read.
///
/// Attributes
/// ----------
/// now_s
///     Current time, in seconds from the beginning of the simulation.
/// backlog_bytes, backlog_packets
///     Packets in the queue. During ``enqueue`` they include the arriving packet, until it is dropped.
/// held_bytes
///     Rest of an SDU of which RLC has sent a part. It counts against the buffer of a bearer, but cannot be dropped.
/// rate_bps
///     Rate of the link in bit/s; ``None``: it varies, as in a cell.
/// seed
///     Seed of the queue, for its random numbers: it depends on the seed of the run and on the place of the queue.
/// direction
///     ``"down"`` or ``"up"``.
/// link
///     Number of the link; ``None``: a bearer, or the link of the server.
/// group, ue
///     Number of the group of UEs or of the UE to which the queue belongs; ``None``: UEs share it.
/// bearer
///     Number of the UE's bearer; ``None``: the queue of a link.
#[pyclass(frozen, module = "airwnd")]
pub struct Queue {
    shared: Shared,
    #[pyo3(get)]
    rate_bps: Option<u64>,
    #[pyo3(get)]
    seed: u64,
    #[pyo3(get)]
    direction: &'static str,
    #[pyo3(get)]
    link: Option<u32>,
    #[pyo3(get)]
    group: Option<u32>,
    #[pyo3(get)]
    ue: Option<u32>,
    #[pyo3(get)]
    bearer: Option<u8>,
}

#[pymethods]
impl Queue {
    #[new]
    #[pyo3(signature = (*, rate_bps=None, seed=1))]
    fn new(rate_bps: Option<u64>, seed: u64) -> Queue {
        let shared = Shared::default();
        Queue { shared, rate_bps, seed, direction: "down", link: None, group: None, ue: None, bearer: None }
    }

    #[getter]
    fn now_s(&self) -> f64 {
        lock(&self.shared).now.as_secs()
    }

    #[getter]
    fn backlog_bytes(&self) -> u64 {
        lock(&self.shared).ledger.backlog().bytes.0
    }

    #[getter]
    fn backlog_packets(&self) -> u64 {
        lock(&self.shared).ledger.backlog().packets
    }

    #[getter]
    fn held_bytes(&self) -> u64 {
        lock(&self.shared).held.0
    }

    fn __repr__(&self) -> String {
        format!("<Queue of {} packets>", self.backlog_packets())
    }
}

impl Queue {
    fn of(ctx: &QueueContext, shared: Shared) -> Queue {
        let (identity, mut stream) = (ctx.identity, ctx.stream);
        let direction = match identity.direction {
            Direction::Down => "down",
            Direction::Up => "up",
        };
        Queue {
            shared,
            rate_bps: ctx.rate.map(|rate| rate.0),
            seed: stream.next_u64(),
            direction,
            link: identity.link,
            group: identity.group,
            ue: identity.ue,
            bearer: identity.bearer,
        }
    }
}

/// A packet in a queue.
///
/// Attributes
/// ----------
/// size_bytes
///     Size with headers and framing.
/// arrived_s
///     Time of arrival, in seconds from the beginning of the simulation.
/// flow
///     Number of the flow, as a hash of addresses and ports would identify it.
/// is_ecn_capable
///     Whether the transport of the packet supports ECN.
/// is_l4s
///     Whether the packet belongs to a scalable (L4S) sender: ECT(1), or marked before.
#[pyclass(frozen, module = "airwnd")]
pub struct QueuedPacket {
    shared: Shared,
    number: u64,
    #[pyo3(get)]
    size_bytes: u64,
    arrived: Time,
    #[pyo3(get)]
    flow: u32,
    ecn: Codepoint,
}

#[pymethods]
impl QueuedPacket {
    /// Add a packet to a queue, for tests of a class.
    #[new]
    #[pyo3(signature = (queue, *, size_bytes=1500, arrived_s=0.0, flow=0, is_ecn_capable=false, is_l4s=false))]
    fn new(
        queue: &Queue,
        size_bytes: u64,
        arrived_s: f64,
        flow: u32,
        is_ecn_capable: bool,
        is_l4s: bool,
    ) -> QueuedPacket {
        let ecn = match (is_l4s, is_ecn_capable) {
            (true, _) => Codepoint::Ect1,
            (false, true) => Codepoint::Ect0,
            (false, false) => Codepoint::NotEct,
        };
        let arrived = Time::ZERO + Span::from_secs_f64(arrived_s);
        let packet = Waiting { packet: Key(0), size: Bytes(size_bytes), arrived, flow, ecn };
        let number = {
            let state = &mut lock(&queue.shared);
            state.now = arrived;
            state.ledger.enter(packet)
        };
        QueuedPacket::new_of(&queue.shared, number, &packet)
    }

    #[getter]
    fn arrived_s(&self) -> f64 {
        self.arrived.as_secs()
    }

    #[getter]
    fn is_ecn_capable(&self) -> bool {
        self.ecn.is_capable()
    }

    #[getter]
    fn is_l4s(&self) -> bool {
        matches!(self.ecn, Codepoint::Ect1 | Codepoint::Ce)
    }

    /// Drop the packet. It must be in the queue.
    ///
    /// Parameters
    /// ----------
    /// early
    ///     Whether it is dropped to signal congestion, although it would fit.
    #[pyo3(signature = (*, early=false))]
    fn drop(&self, early: bool) -> PyResult<()> {
        let cause = if early { Cause::Early } else { Cause::Full };
        match lock(&self.shared).ledger.drop(self.number, cause) {
            true => Ok(()),
            false => Err(gone("dropped")),
        }
    }

    /// Mark the packet as having experienced congestion (ECN CE). It must be in the queue.
    ///
    /// Returns
    /// -------
    /// bool
    ///     Whether its transport supports ECN. If not, nothing happens.
    fn mark(&self) -> PyResult<bool> {
        lock(&self.shared).ledger.mark(self.number).ok_or_else(|| gone("marked"))
    }

    fn __repr__(&self) -> String {
        format!("<QueuedPacket of {} bytes>", self.size_bytes)
    }
}

impl QueuedPacket {
    fn new_of(shared: &Shared, number: u64, packet: &Waiting) -> QueuedPacket {
        let Waiting { size, arrived, flow, ecn, .. } = *packet;
        QueuedPacket { shared: shared.clone(), number, size_bytes: size.0, arrived, flow, ecn }
    }
}

fn gone(what: &str) -> PyErr {
    PyValueError::new_err(format!("a packet that has left the queue cannot be {what}"))
}

impl Role for dyn QueueDisc {
    const FAMILY: &'static str = "aqm";

    fn begin(plugin: &Arc<Plugin>, ctx: &QueueContext, failures: &Failures) -> Result<Box<Self>, Error> {
        plugin.create(|class, watch| {
            let shared = Shared::default();
            let object = class.call_method1("make", (Queue::of(ctx, shared.clone()),))?;
            Ok(Box::new(Discipline {
                enqueue: object.getattr("enqueue")?.unbind(),
                dequeue: object.getattr("dequeue")?.unbind(),
                object: Object::new(plugin, watch, failures),
                shared,
                ledger: Ledger::default(),
            }) as Box<dyn QueueDisc>)
        })
    }
}

/// A queue whose discipline is an object of a class. After a failure it is first in, first out.
struct Discipline {
    object: Object,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    shared: Shared,
    /// The packets; during a call they are in `shared`.
    ledger: Ledger,
}

impl Discipline {
    /// Makes a call, during which the object has access to the packets.
    fn call<T>(
        &mut self,
        method: &str,
        now: Time,
        code: impl FnOnce(Python<'_>, &Discipline) -> Result<T, Wrong>,
    ) -> Option<T> {
        let exchange = |this: &mut Discipline| {
            let mut state = lock(&this.shared);
            state.now = now;
            std::mem::swap(&mut state.ledger, &mut this.ledger);
        };
        exchange(self);
        let object = self.object.clone();
        let answer = object.call(method, |py| code(py, self));
        exchange(self);
        answer
    }

    /// Asks for the packet that leaves: its number; `None`: the queue is empty.
    fn next(&self, py: Python<'_>) -> Result<Option<u64>, Wrong> {
        loop {
            let returned = self.dequeue.call0(py)?.into_bound(py);
            let ledger = &mut lock(&self.shared).ledger;
            if returned.is_none() {
                return match ledger.backlog().packets {
                    0 => Ok(None),
                    packets => Err(Wrong::Value(format!(
                        "returns None, and {packets} packets are in the queue; it must return one of them"
                    ))),
                };
            }
            let packet = returned.cast::<QueuedPacket>().ok().map(|packet| packet.get());
            let Some(packet) = packet.filter(|packet| Arc::ptr_eq(&packet.shared, &self.shared)) else {
                return Err(Wrong::Value(format!(
                    "returns {}; it must return a packet of the queue, or None if it is empty",
                    shown(&returned)
                )));
            };
            if ledger.contains(packet.number) {
                return Ok(Some(packet.number));
            }
            if !ledger.forget(packet.number) {
                let message = "returns a packet that has left the queue; it must return one that is inside";
                return Err(Wrong::Value(message.into()));
            }
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, now: Time, packet: Waiting, held: Bytes, events: &mut dyn QueueEvents) {
        let number = self.ledger.enter(packet);
        lock(&self.shared).held = held;
        self.call("enqueue", now, |py, this| {
            let packet = QueuedPacket::new_of(&this.shared, number, &packet);
            let returned = this.enqueue.call1(py, (packet,))?.into_bound(py);
            match returned.is_none() {
                true => Ok(()),
                false => Err(Wrong::Value(format!(
                    "returns {}; it must return None, and drop a packet with packet.drop()",
                    shown(&returned)
                ))),
            }
        });
        self.ledger.report(events);
    }

    fn dequeue(&mut self, now: Time, events: &mut dyn QueueEvents) -> Option<Waiting> {
        let next = self.call("dequeue", now, |py, this| this.next(py));
        self.ledger.report(events);
        match next {
            Some(number) => self.ledger.leave(number?),
            None => self.ledger.leave_first(),
        }
    }

    fn expire(&mut self, now: Time, lifetime: Span, expired: &mut dyn FnMut(Waiting)) {
        self.ledger.expire(now, lifetime, expired);
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn oldest(&self) -> Option<Time> {
        self.ledger.iter().next().map(|packet| packet.arrived)
    }

    fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(self.ledger.iter())
    }
}

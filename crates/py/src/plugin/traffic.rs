//! Traffic sources implemented as Python classes: they write data and say when they write again.

use super::{Object, Plugin, Role, Wrong, shown};
use airwnd_catalog::Error;
use airwnd_catalog::outside::Failures;
use airwnd_lab::traffic::{FlowContext, Source, Transport, Write};
use airwnd_units::{Bytes, Span, Time};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::Arc;

/// Maximum bytes of a write: the maximum size of a flow, and the payload of a UDP datagram over IPv4 (RFC 768).
const LARGEST_FLOW: u64 = 1 << 40;
const LARGEST_DATAGRAM: u64 = 65_507;
/// Minimum and maximum time to the next write in seconds. A shorter one would hardly let time pass.
const SHORTEST_S: f64 = 1e-6;
const LONGEST_S: f64 = 1e9;

/// A flow, as its traffic source knows it.
///
/// Attributes
/// ----------
/// transport
///     ``"tcp"`` or ``"udp"``.
/// size_bytes
///     Size of the flow from its arrival process; ``None``: it gives none.
/// seed
///     Seed of the source, for its random numbers: it depends on the seed of the run and on the flow.
/// flow, ue
///     Number of the flow, its row in the table of flows, and number of its UE.
#[pyclass(frozen, get_all, module = "airwnd")]
pub struct TrafficFlow {
    transport: &'static str,
    size_bytes: Option<u64>,
    seed: u64,
    flow: u32,
    ue: u32,
}

#[pymethods]
impl TrafficFlow {
    #[new]
    #[pyo3(signature = (*, size_bytes=None, seed=1, flow=0, ue=0))]
    fn new(size_bytes: Option<u64>, seed: u64, flow: u32, ue: u32) -> TrafficFlow {
        TrafficFlow { transport: "tcp", size_bytes, seed, flow, ue }
    }

    fn __repr__(&self) -> String {
        format!("<TrafficFlow {}>", self.flow)
    }
}

impl Role for dyn Source {
    const FAMILY: &'static str = "traffic";

    fn begin(plugin: &Arc<Plugin>, ctx: &FlowContext, failures: &Failures) -> Result<Box<Self>, Error> {
        plugin.create(|class, watch| {
            let FlowContext { mut stream, size, transport, identity } = *ctx;
            let flow = TrafficFlow {
                transport: match transport {
                    Transport::Tcp => "tcp",
                    Transport::Udp => "udp",
                },
                size_bytes: size.map(|size| size.0),
                seed: stream.next_u64(),
                flow: identity.flow,
                ue: identity.ue,
            };
            let object = class.call_method1("make", (flow,))?;
            let total = object.getattr("size_bytes")?;
            let size = match total.is_none() {
                true => None,
                false => Some(bytes_of(&total, LARGEST_FLOW).ok_or_else(|| {
                    Wrong::Value(format!(
                        "size_bytes is {}; it must be a number of bytes, 0 to {LARGEST_FLOW}, or None",
                        shown(&total)
                    ))
                })?),
            };
            let write = object.getattr("write")?.unbind();
            let object = Object::new(plugin, watch, failures);
            Ok(Box::new(Application { object, write, transport, size }) as Box<dyn Source>)
        })
    }
}

/// A whole number of bytes up to a maximum.
fn bytes_of(value: &Bound<'_, PyAny>, max: u64) -> Option<Bytes> {
    // True and False are integers, but no sizes.
    let bytes = value.extract::<u64>().ok().filter(|_| !value.is_instance_of::<PyBool>());
    bytes.filter(|bytes| *bytes <= max).map(Bytes)
}

/// A source whose writes are those of an object. After a failure it writes nothing.
struct Application {
    object: Object,
    write: Py<PyAny>,
    transport: Transport,
    size: Option<Bytes>,
}

impl Application {
    /// Reads an answer: bytes, and the time to the next write in seconds or `None`.
    fn read(&self, returned: &Bound<'_, PyAny>, now: Time) -> Result<Write, Wrong> {
        let max = match self.transport {
            Transport::Tcp => LARGEST_FLOW,
            Transport::Udp => LARGEST_DATAGRAM,
        };
        let pair: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = returned.extract().ok();
        let read = pair.and_then(|(bytes, wait)| {
            let bytes = bytes_of(&bytes, max)?;
            if wait.is_none() {
                return Some((bytes, None));
            }
            let wait = wait.extract::<f64>().ok().filter(|_| !wait.is_instance_of::<PyBool>())?;
            (SHORTEST_S..=LONGEST_S).contains(&wait).then(|| (bytes, Some(now + Span::from_secs_f64(wait))))
        });
        match (read, self.transport) {
            (Some((Bytes::ZERO, Some(next))), _) => Ok(Write::Later(next)),
            (Some((bytes, Some(next))), _) => Ok(Write::Piece(bytes, next)),
            // A datagram without payload would be sent.
            (Some((Bytes::ZERO, None)), Transport::Udp) => Ok(Write::Later(Time::NEVER)),
            (Some((bytes, None)), _) => Ok(Write::Whole(bytes)),
            (None, _) => Err(Wrong::Value(format!(
                "returns {}; it must return a number of bytes, 0 to {max}, and the seconds to the next write, \
                 {SHORTEST_S:e} to {LONGEST_S:e}, or None",
                shown(returned)
            ))),
        }
    }
}

impl Source for Application {
    fn transport(&self) -> Transport {
        self.transport
    }

    fn write(&mut self, now: Time) -> Write {
        let written = self.object.call("write", |py| {
            let returned = self.write.call1(py, (now.as_secs(),))?.into_bound(py);
            self.read(&returned, now)
        });
        written.unwrap_or(Write::Later(Time::NEVER))
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }
}

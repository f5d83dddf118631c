//! The Python module `airwnd_stacks._native`: endpoints of the adapters, which the package `airwnd` connects.

use airwnd::{Datagram, Ecn, Endpoint, Received};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::time::Duration;

/// An endpoint, with what it has logged.
trait Logging: Endpoint {
    /// Takes the events since the last call, each a JSON object.
    fn take_qlog(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl Logging for airwnd_quinn::Quic {
    fn take_qlog(&mut self) -> Vec<String> {
        airwnd_quinn::Quic::take_qlog(self)
    }
}

impl Logging for airwnd_s2n::Quic {}
impl Logging for airwnd_smoltcp::Tcp {}
impl Logging for airwnd_str0m::Peer {}

/// An endpoint of a stack, of which `airwnd_stacks` makes an `airwnd.Endpoint`.
// Some stacks are not `Send`; a path stays on the thread that runs it.
#[pyclass(unsendable, module = "airwnd_stacks._native")]
struct Stack {
    end: Box<dyn Logging>,
    now: Duration,
}

impl Stack {
    fn pair((ue, server): (impl Logging + 'static, impl Logging + 'static)) -> (Stack, Stack) {
        let stack = |end: Box<dyn Logging>| Stack { end, now: Duration::ZERO };
        (stack(Box::new(ue)), stack(Box::new(server)))
    }

    fn at(&mut self, now_s: f64) -> PyResult<Duration> {
        // Times of a path are whole nanoseconds, as floats.
        let now =
            Duration::try_from_secs_f64(now_s).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.now = self.now.max(now);
        Ok(self.now)
    }
}

#[pymethods]
impl Stack {
    /// Returns the datagrams to send now, with their ECN fields.
    fn transmit<'py>(&mut self, py: Python<'py>, now_s: f64) -> PyResult<Vec<(Bound<'py, PyBytes>, u8)>> {
        let now = self.at(now_s)?;
        let sent = std::iter::from_fn(|| self.end.poll_transmit(now));
        Ok(sent.map(|sent| (PyBytes::new(py, sent.datagram.bytes()), sent.ecn as u8)).collect())
    }

    /// Receives a datagram.
    fn receive(&mut self, now_s: f64, data: &[u8], ecn: u8) -> PyResult<()> {
        let ecn = match ecn {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => return Err(PyValueError::new_err(format!("ecn: expected 0 to 3, found {ecn}"))),
        };
        let now = self.at(now_s)?;
        self.end.handle(now, Received { datagram: Datagram::from(data), ecn });
        Ok(())
    }

    /// Returns the time of the next timer in seconds.
    fn timeout(&mut self) -> Option<f64> {
        self.end.timeout(self.now).map(|at| at.as_nanos() as f64 / 1e9)
    }

    /// Handles the timers that have expired.
    fn on_timeout(&mut self, now_s: f64) -> PyResult<()> {
        let now = self.at(now_s)?;
        self.end.handle_timeout(now);
        Ok(())
    }

    /// Takes the events of the qlog since the last call, each a JSON object.
    fn qlog(&mut self) -> Vec<String> {
        self.end.take_qlog()
    }

    #[getter]
    fn received_bytes(&self) -> u64 {
        self.end.received()
    }

    #[getter]
    fn retransmissions(&self) -> u64 {
        self.end.retransmissions()
    }
}

/// Returns the control with a name.
fn named<T: Copy>(all: &[T], name_of: fn(T) -> &'static str, name: &str) -> PyResult<T> {
    all.iter().copied().find(|each| name_of(*each) == name).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|each| format!("`{}`", name_of(*each))).collect();
        PyValueError::new_err(format!(
            "cc: unknown congestion control `{name}`; allowed: {}",
            names.join(", ")
        ))
    })
}

/// Endpoints of quinn-proto, a QUIC stack: that at the UE, and that at the server; `logs`: they keep a qlog.
#[pyfunction]
fn quinn(seed: u64, cc: &str, upload: bool, logs: bool) -> PyResult<(Stack, Stack)> {
    use airwnd_quinn::{Control, download, logged, upload as up};
    let control = named(&Control::ALL, Control::name, cc)?;
    Ok(Stack::pair(match (logs, upload) {
        (true, _) => logged(|| control.transport(), seed, upload),
        (false, true) => up(control.transport(), seed),
        (false, false) => download(control.transport(), seed),
    }))
}

/// Endpoints of s2n-quic, a QUIC stack: that at the UE, and that at the server.
#[pyfunction]
fn s2n(seed: u64, cc: &str, upload: bool) -> PyResult<(Stack, Stack)> {
    use airwnd_s2n::{Control, download, upload as up};
    let control = named(&Control::ALL, Control::name, cc)?;
    Ok(Stack::pair(if upload { up(control, seed) } else { download(control, seed) }))
}

/// Endpoints of smoltcp, a TCP stack: that at the UE, and that at the server.
#[pyfunction]
fn smoltcp(seed: u64, cc: &str, upload: bool) -> PyResult<(Stack, Stack)> {
    use airwnd_smoltcp::{Control, download, upload as up};
    let control = named(&Control::ALL, Control::name, cc)?;
    Ok(Stack::pair(if upload { up(control, seed) } else { download(control, seed) }))
}

/// Endpoints of str0m, a WebRTC stack, with a video from the server.
#[pyfunction]
fn str0m(seed: u64, max_kbps: u64) -> (Stack, Stack) {
    Stack::pair(airwnd_str0m::video(max_kbps, seed))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Stack, quinn, s2n, smoltcp, str0m};
}

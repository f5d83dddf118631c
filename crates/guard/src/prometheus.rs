//! The state of the guard in the text format of Prometheus.

use crate::Error;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A client that is slow must not hold up heartbeats.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of a request that are read; its contents do not count.
const REQUEST: usize = 4096;
/// Figures of a flow: name, key of the state, unit in terms of the key's unit, help.
const GAUGES: [(&str, &str, f64, &str); 4] = [
    ("airwnd_guard_rate_bits_per_second", "rate_kbps", 1e3, "Payload rate of the last round trip."),
    ("airwnd_guard_rtt_seconds", "rtt_ms", 1e-3, "Mean RTT of the last round trip."),
    ("airwnd_guard_rtt_min_seconds", "rtt_ms_min", 1e-3, "Least RTT of the path."),
    ("airwnd_guard_window_bytes", "window_bytes", 1.0, "Window that the controller wants."),
];

/// Figures of all flows of a place, likewise.
const TOTALS: [(&str, &str, f64, &str); 3] = [
    ("airwnd_guard_flows", "flows", 1.0, "Flows with data in the last ten seconds."),
    ("airwnd_guard_controlled_flows", "controlled", 1.0, "Flows with a window that a controller wants."),
    ("airwnd_guard_total_bits_per_second", "rate_kbps", 1e3, "Sum of the rates of all flows."),
];

/// An HTTP server with one page.
pub(crate) struct Exporter(TcpListener);

impl Exporter {
    /// Listens at an address.
    pub fn open(address: SocketAddr) -> Result<Exporter, Error> {
        let open = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        open().map(Exporter).map_err(|why: io::Error| Error::failed(format!("--prometheus {address}"), &why))
    }

    /// Answers one waiting client.
    pub fn answer(&self, state: impl FnOnce() -> io::Result<Value>) {
        if let Ok((stream, _)) = self.0.accept() {
            // A client that has gone needs no answer.
            let _ = state().and_then(|state| respond(stream, &page(&state)));
        }
    }
}

impl AsFd for Exporter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn respond(mut stream: TcpStream, page: &str) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Closing a connection with unread data would discard the answer.
    let _ = stream.read(&mut [0; REQUEST])?;
    let length = page.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{page}"
    )
}

fn page(state: &Value) -> String {
    let mut page = String::new();
    let places = || state["places"].as_array().into_iter().flatten();
    line(&mut page, "# HELP airwnd_guard_events_total Events of the eBPF programs.");
    line(&mut page, "# TYPE airwnd_guard_events_total counter");
    for place in places() {
        for (event, number) in place["counters"].as_object().into_iter().flatten() {
            let name = label(&place["place"]);
            line(
                &mut page,
                &format!("airwnd_guard_events_total{{place=\"{name}\",event=\"{event}\"}} {number}"),
            );
        }
    }
    for (metric, key, unit, help) in TOTALS {
        line(&mut page, &format!("# HELP {metric} {help}"));
        line(&mut page, &format!("# TYPE {metric} gauge"));
        for place in places() {
            if let Some(value) = place["total"][key].as_f64() {
                let name = label(&place["place"]);
                line(&mut page, &format!("{metric}{{place=\"{name}\"}} {}", value * unit));
            }
        }
    }
    for (metric, key, unit, help) in GAUGES {
        line(&mut page, &format!("# HELP {metric} {help}"));
        line(&mut page, &format!("# TYPE {metric} gauge"));
        for place in places() {
            for flow in place["flows"].as_array().into_iter().flatten() {
                if let Some(value) = flow[key].as_f64() {
                    let labels = ["receiver", "sender"].map(|end| format!("{end}=\"{}\"", label(&flow[end])));
                    line(
                        &mut page,
                        &format!(
                            "{metric}{{place=\"{}\",{}}} {}",
                            label(&place["place"]),
                            labels.join(","),
                            value * unit
                        ),
                    );
                }
            }
        }
    }
    page
}

fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{text}");
}

/// Interface names may contain any character but `/` and blanks.
fn label(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_have_labels_and_basic_units() {
        let state = json!({"places": [{
            "place": "forward \"a", "counters": {"acks": 7}, "total": {"flows": 900},
            "flows": [{
                "receiver": "192.0.2.1:4000", "sender": "198.51.100.1:443", "rate_kbps": 9650.0, "rtt_ms": null,
            }],
        }]});
        let page = page(&state);
        let expected = [
            "airwnd_guard_events_total{place=\"forward \\\"a\",event=\"acks\"} 7",
            "airwnd_guard_flows{place=\"forward \\\"a\"} 900",
            "airwnd_guard_rate_bits_per_second{place=\"forward \\\"a\",receiver=\"192.0.2.1:4000\",\
             sender=\"198.51.100.1:443\"} 9650000",
        ];
        for text in expected {
            assert!(page.lines().any(|line| line == text), "{text}\n{page}");
        }
        assert!(!page.contains("rtt_seconds{"), "{page}");
    }

    #[test]
    fn a_client_gets_the_page() {
        let exporter = Exporter::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut client = TcpStream::connect(exporter.0.local_addr().unwrap()).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        exporter.answer(|| Ok(json!({"places": []})));
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("# TYPE airwnd_guard_window_bytes gauge\n"), "{answer}");
    }
}

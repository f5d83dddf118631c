//! Session request.

use crate::error::Error;
use crate::log::LogRequest;
use airwnd_lab::Scenario;
use airwnd_units::Span;
use serde::Deserialize;
use std::path::PathBuf;

/// Smallest MTU that IPv6 allows (RFC 8200 §5).
const MIN_MTU: u32 = 1280;
/// Largest MTU of a TUN device.
const MAX_MTU: u32 = 65_521;
/// Maximum number of real UEs: each has an address in the same network of 24 bits.
const MAX_UES: usize = 200;

/// A session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Seed of the random streams.
    pub seed: u64,
    /// Period of the time series; `None`: not recorded.
    pub series_interval_ns: Option<u64>,
    /// Program and arguments of the helper processes.
    pub helper: Vec<String>,
    /// The server's end.
    pub end: End,
    /// Set if `end` runs airwnd's own server, whose messages are discarded.
    pub default_server: bool,
    /// Real UEs.
    pub ues: Vec<UeRequest>,
    /// Simulate the scenario's flows of the real UEs, too.
    pub keep_flows: bool,
    /// MTU of the devices.
    pub mtu: u32,
    /// Sysctls of all ends with namespaces of their own, as paths below `/proc/sys`, with their values.
    pub sysctls: Vec<(String, String)>,
    /// Packets that a device queues until the relay reads them.
    pub device_queue: u32,
    /// Deliver consecutive TCP segments that leave the network in the same turn at once.
    pub coalesces: bool,
    /// Pass the output of the commands to `update`; otherwise they use the output of this process.
    pub captures_output: bool,
    /// Clock.
    pub clock: ClockRequest,
    /// Capture file.
    pub pcap: Option<Pcap>,
    /// Log files of links.
    pub logs: Vec<LogRequest>,
    /// Places of the links whose traces are not repeated: the session ends with the first trace.
    pub once: Vec<usize>,
    /// Period at which socket states are read.
    pub sockets_interval_ns: u64,
}

/// The server's end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum End {
    /// A namespace of its own.
    Namespace {
        /// Command and arguments; empty: none.
        command: Vec<String>,
    },
    /// The network in which this process runs: that of this host, or of the outer session's UE. That of the host
    /// without root through pasta.
    Host,
    /// A host with a way to the Internet.
    Internet,
}

/// A real UE.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UeRequest {
    /// Number of the UE.
    pub ue: u32,
    /// Name in displays.
    pub name: String,
    /// Command and arguments.
    pub command: Vec<String>,
}

/// Use of the clock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockRequest {
    /// Poll without sleeping.
    pub busy_wait: bool,
    /// Request real-time scheduling and locked memory.
    pub realtime: bool,
    /// Limit on the 99th percentile of the lateness.
    pub lateness_limit_ns: u64,
}

/// A capture file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcap {
    /// The file: pcap for the extension `.pcap`, otherwise pcapng.
    pub path: PathBuf,
    /// Nodes, as `airwnd run --pcap-node` names them.
    pub nodes: Vec<String>,
    /// Bytes kept of each packet; 0: all; `None`: the headers.
    pub snaplen: Option<u32>,
    /// Leave out packets of simulated flows.
    pub real_only: bool,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// Not a request in JSON.
    pub fn from_json(text: &str) -> Result<Request, Error> {
        serde_json::from_str(text).map_err(|error| Error::System(error.to_string()))
    }

    /// Returns the time at which the session ends by itself; `None`: with its commands.
    pub(crate) fn limit(&self, scenario: &Scenario) -> Option<Span> {
        self.once.iter().filter_map(|place| scenario.link.get(*place)?.trace()?.period()).min()
    }

    /// Checks the request against a scenario.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Error> {
        let fail = |message: String| Err(Error::System(message));
        for (place, ue) in self.ues.iter().enumerate() {
            if ue.ue >= scenario.ues() {
                return fail(format!("there is no UE {}; the scenario has {}", ue.ue, scenario.ues()));
            }
            if self.ues[..place].iter().any(|other| other.ue == ue.ue) {
                return fail(format!("UE `{}` has two commands; one is allowed", ue.name));
            }
        }
        if self.ues.is_empty() || self.ues.len() > MAX_UES {
            return fail(format!("{} UEs with commands; allowed: 1 to {MAX_UES}", self.ues.len()));
        }
        if !(MIN_MTU..=MAX_MTU).contains(&self.mtu) {
            return fail(format!("an MTU of {}; allowed: {MIN_MTU} to {MAX_MTU}", self.mtu));
        }
        Ok(())
    }
}

//! Reports of a session: snapshots while it lasts, a summary at its end.

use crate::clock::{Lateness, LatenessFigures};
use airwnd_network::Cause;
use airwnd_units::Span;
use serde::{Serialize, Serializer};

/// Packet accounting of a session: read from devices = `malformed` + `unroutable` + `entered`, and `entered` + `copied` =
/// `out` + `refused` + dropped by cause + `inside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Packets that entered the network.
    #[serde(rename = "in")]
    pub entered: u64,
    /// Copies that links with `duplicate` have made.
    pub copied: u64,
    /// Packets written to the device at the other end.
    pub out: u64,
    /// Packets dropped in the network, by cause.
    #[serde(serialize_with = "by_cause")]
    pub dropped: [u64; Cause::ALL.len()],
    /// Packets that are out with a mark of congestion (CE) with which they did not enter.
    pub marked: u64,
    /// Packets inside the network.
    pub inside: u64,
    /// Packets refused by the device at the other end: it is gone, or the kernel considers them invalid.
    pub refused: u64,
    /// Packets read that are no complete IP packets.
    pub malformed: u64,
    /// Packets read at the server's end that are addressed to no UE.
    pub unroutable: u64,
}

fn by_cause<S: Serializer>(dropped: &[u64; Cause::ALL.len()], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(Cause::ALL.iter().zip(dropped).map(|(cause, count)| (cause.name(), count)))
}

impl Packets {
    /// Packets that entered or were copied but are neither out nor refused, dropped or inside; 0 unless the relay loses packets.
    pub fn unaccounted(&self) -> i64 {
        let found = self.out + self.refused + self.inside + self.dropped.iter().sum::<u64>();
        (self.entered + self.copied) as i64 - found as i64
    }
}

/// State of a session, several times a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Time since the start in seconds.
    pub t_s: f64,
    /// Real UEs.
    pub ues: Vec<UeSnapshot>,
    /// Flows with most traffic since the last snapshot.
    pub flows: Vec<FlowView>,
    /// Lateness since the start.
    pub lateness_us: LatenessFigures,
    /// CPU time of the relay since the last snapshot, in percent of one core.
    pub cpu_percent: f64,
    /// Largest lag of the simulation behind the clock since the last snapshot.
    pub behind_ms: f64,
    /// Packet accounting since the start.
    pub packets: Packets,
}

/// Totals of a session.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Packet accounting.
    pub packets: Packets,
    /// Lateness of the departures.
    pub lateness: Lateness,
    /// Largest lag of the simulation behind the clock.
    pub behind: Span,
    /// Real time from start to end.
    pub elapsed: Span,
    /// Start, in nanoseconds of the host's clock since 1970.
    pub began_ns: u64,
    /// Set if the limit of the session was reached.
    pub is_time_up: bool,
    /// CPU time of the relay with the threads of its devices.
    pub cpu: Span,
    /// CPU time of these threads alone.
    pub cpu_of_writers: Span,
}

/// State of a real UE; rates and delays since the last snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UeSnapshot {
    /// Number of the UE.
    pub ue: u32,
    /// Name.
    pub name: String,
    /// Rate of IP packets to the UE.
    pub down_kbps: f64,
    /// Rate of IP packets from the UE.
    pub up_kbps: f64,
    /// Mean one-way delay to the UE; `None` without packets.
    pub delay_down_ms: Option<f64>,
    /// Mean one-way delay from the UE.
    pub delay_up_ms: Option<f64>,
    /// Bytes queued for the UE.
    pub queue_bytes: u64,
    /// Packets queued for the UE.
    pub queue_packets: u64,
    /// Mean MCS of first downlink transmissions; `None` without any.
    pub mcs: Option<f64>,
    /// SINR of the latest report.
    pub sinr_db: Option<f64>,
    /// Serving cell.
    pub cell: Option<u16>,
    /// Packets to the UE dropped since the start.
    pub dropped_down: u64,
    /// Packets from the UE dropped since the start.
    pub dropped_up: u64,
}

/// A flow in a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowView {
    /// Id in results.
    pub id: String,
    /// Number of its UE.
    pub ue: u32,
    /// Protocol and ends.
    pub what: String,
    /// Rate of IP packets to the UE.
    pub down_kbps: f64,
    /// Rate of IP packets from the UE.
    pub up_kbps: f64,
    /// Last RTT; `None`: not measured since the last snapshot.
    pub rtt_ms: Option<f64>,
    /// Congestion control of the sender of the data; `None`: unknown, or not TCP.
    pub cc: Option<String>,
    /// Congestion window of the sender of the data; `None`: unknown, or not TCP.
    pub cwnd_bytes: Option<u64>,
}

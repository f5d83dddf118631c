//! Time series with a constant sampling period.

use crate::results::columns::{Columns, FlowNumber};
use crate::results::table::Rows;

/// A row per sampling instant and flow; null where a quantity does not apply: windows and RTT of UDP, or outside the
/// lifetime of a connection; radio quantities without cells.
#[derive(Clone, Copy, Debug, Default, Columns)]
pub(crate) struct Sample {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Id of the flow.
    pub flow: FlowNumber,
    /// Congestion window (cwnd) of the sender of the data.
    #[column(unit = "bytes")]
    pub cwnd_bytes: Option<f64>,
    /// Slow-start threshold (ssthresh) of the sender of the data; null before it is set.
    #[column(unit = "bytes")]
    pub ssthresh_bytes: Option<f64>,
    /// Receive window (rwnd) advertised to the sender of the data.
    #[column(unit = "bytes")]
    pub rwnd_bytes: Option<f64>,
    /// Bytes in flight, as estimated by the sender of the data.
    #[column(unit = "bytes")]
    pub in_flight_bytes: Option<f64>,
    /// Smoothed RTT of the sender of the data; of a ping, mean RTT of the answers received since the last sample.
    #[column(unit = "ms", short = "RTT")]
    pub rtt_ms: Option<f64>,
    /// Mean one-way delay of the data packets received since the last sample.
    #[column(unit = "ms", short = "delay", label = "one-way delay")]
    pub delay_ms: Option<f64>,
    /// Data packets received with a congestion mark (ECN CE) since the last sample.
    #[column(short = "marks", label = "marked packets")]
    pub packets_marked: f64,
    /// Bytes queued at the eNB in the bearer of the flow; without cells: in the link queues of the downlink path.
    #[column(unit = "bytes", short = "queue")]
    pub queue_bytes: Option<f64>,
    /// Packets queued at the eNB in the bearer of the flow; without cells: in the link queues of the downlink path.
    #[column(unit = "packets", short = "queue", label = "queue")]
    pub queue_packets: Option<f64>,
    /// SINR of the latest report of the UE, updated every 10 ms.
    #[column(unit = "dB", short = "SINR")]
    pub sinr_db: Option<f64>,
    /// Mean MCS of first downlink transmissions since the last sample.
    #[column(range = 0.0..=f64::INFINITY, short = "MCS", digits = 1)]
    pub mcs: Option<f64>,
    /// Goodput since the last sample: payload, in order for TCP. A sample may exceed the path rate when a
    /// retransmission releases data buffered at the receiver.
    #[column(unit = "kbit/s", short = "goodput")]
    pub rate_kbps: f64,
    /// Throughput since the last sample: IP packets received.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// Air rate since the last sample: transport blocks of the UE of the flow, decoded in the direction of the data.
    #[column(unit = "kbit/s", short = "air rate")]
    pub air_kbps: Option<f64>,
    /// Reference signal received power (RSRP) of the serving cell at this instant, before measurement filtering.
    #[column(unit = "dBm", short = "RSRP")]
    pub rsrp_dbm: Option<f64>,
    /// RSRP of the strongest other cell at this instant, before measurement filtering.
    #[column(unit = "dBm", short = "neighbour RSRP", label = "best neighbour's RSRP")]
    pub neighbour_rsrp_dbm: Option<f64>,
    /// Position of a moving UE, east of the origin; null for a UE that does not move.
    #[column(unit = "m")]
    pub x_m: Option<f64>,
    /// Position of a moving UE, north of the origin; null for a UE that does not move.
    #[column(unit = "m")]
    pub y_m: Option<f64>,
    /// Number of the serving cell.
    #[column(label = "serving cell")]
    pub cell: Option<u16>,
    /// Number of the strongest other cell.
    #[column(label = "best neighbour")]
    pub neighbour: Option<u16>,
}

/// Samples of all flows.
pub(crate) type Series = Rows<Sample>;

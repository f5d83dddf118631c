//! Time series, sampled at a constant period.

use crate::columns::{Columns, FlowNumber};
use crate::table::Rows;

/// A row per sampling instant and flow; null where a quantity does not apply: windows and round-trip time of UDP, or
/// before a connection opens and after its end; radio quantities without cells.
#[derive(Clone, Copy, Debug, Default, Columns)]
pub(crate) struct Sample {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Id of the flow.
    pub flow: FlowNumber,
    /// Congestion window of the data's sender.
    #[column(unit = "bytes")]
    pub cwnd_bytes: Option<f64>,
    /// Slow-start threshold of the data's sender; null before it is set.
    #[column(unit = "bytes")]
    pub ssthresh_bytes: Option<f64>,
    /// Receive window offered to the data's sender.
    #[column(unit = "bytes")]
    pub rwnd_bytes: Option<f64>,
    /// Bytes in flight as the data's sender estimates them.
    #[column(unit = "bytes")]
    pub in_flight_bytes: Option<f64>,
    /// Smoothed round-trip time of the data's sender.
    #[column(unit = "ms")]
    pub rtt_ms: Option<f64>,
    /// Mean one-way delay of the data packets received since the last sample.
    #[column(unit = "ms")]
    pub delay_ms: Option<f64>,
    /// Bytes queued at the base station for the flow's UE; without cells, before the links of the downlink path.
    #[column(unit = "bytes")]
    pub queue_bytes: Option<f64>,
    /// Packets queued at the base station for the flow's UE; without cells, before the links of the downlink path.
    #[column(unit = "packets")]
    pub queue_packets: Option<f64>,
    /// SINR in the UE's latest report, checked every 10 ms.
    #[column(unit = "dB")]
    pub sinr_db: Option<f64>,
    /// Mean MCS of the first downlink transmissions since the last sample.
    #[column(range = 0.0..=f64::INFINITY)]
    pub mcs: Option<f64>,
    /// Goodput since the last sample: payload, in order for TCP. When the repair of a loss releases what waited behind it
    /// in the receiver, a sample may exceed the rate of the path.
    #[column(unit = "kbit/s")]
    pub rate_kbps: f64,
    /// Throughput since the last sample: IP packets received.
    #[column(unit = "kbit/s")]
    pub throughput_kbps: f64,
    /// Air rate since the last sample: transport blocks decoded for the UE of the flow, in the direction of its data.
    #[column(unit = "kbit/s")]
    pub air_kbps: Option<f64>,
    /// Reference signal received power of the serving cell at this instant, before measurement filters.
    #[column(unit = "dBm")]
    pub rsrp_dbm: Option<f64>,
    /// Reference signal received power of the best other cell at this instant, before measurement filters.
    #[column(unit = "dBm")]
    pub neighbour_rsrp_dbm: Option<f64>,
    /// Position of a moving UE, east of the origin; null for others.
    #[column(unit = "m")]
    pub x_m: Option<f64>,
    /// Position of a moving UE, north of the origin; null for others.
    #[column(unit = "m")]
    pub y_m: Option<f64>,
    /// Number of the serving cell.
    pub cell: Option<u16>,
    /// Number of the best other cell.
    pub neighbour: Option<u16>,
}

/// Samples of all flows.
pub(crate) type Series = Rows<Sample>;

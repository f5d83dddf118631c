//! Time series, sampled at a constant period.

use crate::table::{Column, NOTHING, Table, table};
use airwnd_units::Span;

/// A flow's state at an instant. What does not apply is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub cwnd: Option<u64>,
    pub ssthresh: Option<u64>,
    pub rwnd: Option<u64>,
    pub in_flight: Option<u64>,
    pub rtt_ms: Option<f64>,
    pub delay_ms: Option<f64>,
    pub queue_bytes: Option<u64>,
    pub queue_packets: Option<u64>,
    pub sinr_db: Option<f64>,
    pub mcs: Option<f64>,
    pub rate_kbps: f64,
    pub rsrp_dbm: Option<f64>,
    pub neighbour_rsrp_dbm: Option<f64>,
    pub place_m: Option<[f64; 2]>,
    pub cell: Option<u32>,
    pub neighbour: Option<u32>,
}

type Quantity = (&'static str, fn(&Sample) -> Option<f64>);

const QUANTITIES: [Quantity; 15] = [
    ("cwnd_bytes", |sample| sample.cwnd.map(|bytes| bytes as f64)),
    ("ssthresh_bytes", |sample| sample.ssthresh.map(|bytes| bytes as f64)),
    ("rwnd_bytes", |sample| sample.rwnd.map(|bytes| bytes as f64)),
    ("in_flight_bytes", |sample| sample.in_flight.map(|bytes| bytes as f64)),
    ("rtt_ms", |sample| sample.rtt_ms),
    ("delay_ms", |sample| sample.delay_ms),
    ("queue_bytes", |sample| sample.queue_bytes.map(|bytes| bytes as f64)),
    ("queue_packets", |sample| sample.queue_packets.map(|packets| packets as f64)),
    ("sinr_db", |sample| sample.sinr_db),
    ("mcs", |sample| sample.mcs),
    ("rate_kbps", |sample| Some(sample.rate_kbps)),
    ("rsrp_dbm", |sample| sample.rsrp_dbm),
    ("neighbour_rsrp_dbm", |sample| sample.neighbour_rsrp_dbm),
    ("x_m", |sample| sample.place_m.map(|[x, _]| x)),
    ("y_m", |sample| sample.place_m.map(|[_, y]| y)),
];

/// Samples of all flows, one row for each flow and instant; time counts from the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    time_s: Vec<f64>,
    flow: Vec<u32>,
    quantities: [Vec<f64>; QUANTITIES.len()],
    cell: Vec<u32>,
    neighbour: Vec<u32>,
}

impl Series {
    pub fn record(&mut self, at: Span, flow: u32, sample: &Sample) {
        self.time_s.push(at.as_secs());
        self.flow.push(flow);
        for (values, (_, of)) in self.quantities.iter_mut().zip(QUANTITIES) {
            values.push(of(sample).unwrap_or(f64::NAN));
        }
        self.cell.push(sample.cell.unwrap_or(NOTHING));
        self.neighbour.push(sample.neighbour.unwrap_or(NOTHING));
    }

    /// The table by columns; `flows` names the flows.
    pub fn table(self, flows: Vec<String>) -> Table {
        let mut columns =
            table([("time_s", Column::F64(self.time_s)), ("flow", Column::Words(self.flow, flows))]);
        for ((name, _), values) in QUANTITIES.iter().zip(self.quantities) {
            columns.push((name.to_string(), Column::F64(values)));
        }
        columns.extend(table([("cell", Column::U32(self.cell)), ("neighbour", Column::U32(self.neighbour))]));
        columns
    }
}

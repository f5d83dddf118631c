//! Time series, sampled at a constant period.

use airwnd_units::Span;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Numbers; NaN where nothing is known.
    F64(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
}

/// A flow's state at an instant. What does not apply is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub cwnd: Option<u64>,
    pub ssthresh: Option<u64>,
    pub rwnd: Option<u64>,
    pub rtt_ms: Option<f64>,
    pub queue_bytes: Option<u64>,
    pub queue_packets: Option<u64>,
    pub mcs: Option<f64>,
    pub rate_kbps: f64,
}

/// Samples of all flows, one row for each flow and instant; time counts from the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    time_s: Vec<f64>,
    flow: Vec<String>,
    samples: Vec<Sample>,
}

impl Series {
    pub fn record(&mut self, at: Span, flow: &str, sample: Sample) {
        self.time_s.push(at.as_secs());
        self.flow.push(flow.to_string());
        self.samples.push(sample);
    }

    /// The table by columns; none if nothing was recorded.
    pub fn columns(self) -> Vec<(String, Column)> {
        if self.samples.is_empty() {
            return Vec::new();
        }
        let number = |of: fn(&Sample) -> Option<f64>| {
            Column::F64(self.samples.iter().map(|sample| of(sample).unwrap_or(f64::NAN)).collect())
        };
        let columns = [
            ("cwnd_bytes", number(|sample| sample.cwnd.map(|value| value as f64))),
            ("ssthresh_bytes", number(|sample| sample.ssthresh.map(|value| value as f64))),
            ("rwnd_bytes", number(|sample| sample.rwnd.map(|value| value as f64))),
            ("rtt_ms", number(|sample| sample.rtt_ms)),
            ("queue_bytes", number(|sample| sample.queue_bytes.map(|value| value as f64))),
            ("queue_packets", number(|sample| sample.queue_packets.map(|value| value as f64))),
            ("mcs", number(|sample| sample.mcs)),
            ("rate_kbps", number(|sample| Some(sample.rate_kbps))),
        ];
        [("time_s", Column::F64(self.time_s)), ("flow", Column::Text(self.flow))]
            .into_iter()
            .chain(columns)
            .map(|(name, column)| (name.to_string(), column))
            .collect()
    }
}

//! Slow start without an early exit.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::Params;

/// Standard slow start: ends at ssthresh or at the first congestion event.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 5681 §3.1")]
pub struct Params {}

/// State of standard slow start: none.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl Standard {
    /// Creates the exit criterion.
    pub fn new(_params: Params) -> Standard {
        Standard
    }
}

impl SlowStart for Standard {
    fn growth(&mut self, _ack: &Ack, _cwnd: f64) -> Option<f64> {
        Some(1.0)
    }

    fn on_congestion(&mut self) {}
}

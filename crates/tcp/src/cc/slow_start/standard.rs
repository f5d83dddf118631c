//! Slow start until something is lost.

use super::SlowStart;
use crate::cc::Ack;
use airwnd_catalog::Params;

/// Standard slow start: the threshold or a loss ends it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 5681 §3.1")]
pub struct Params {}

/// Nothing is watched.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl Standard {
    /// It has no state.
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

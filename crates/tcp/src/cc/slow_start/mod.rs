//! End of slow start before a loss.

use crate::cc::Ack;
use airwnd_catalog::family;
use std::fmt::Debug;

/// Slow start: detects that the path is full before a loss.
#[family(name = "slow-start", build = fn() -> Box<dyn SlowStart>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Standard(standard::Params),
    Hystart(hystart::Params),
    HystartPlusPlus(hystart_plus_plus::Params),
}

/// Exit criterion of slow start.
pub trait SlowStart: Debug + Send + Sync {
    /// Returns the fraction of slow start's growth that this ACK may contribute; `None`: slow start ends. `cwnd` is in
    /// segments.
    fn growth(&mut self, ack: &Ack, cwnd: f64) -> Option<f64>;
    /// Resets the state for a later slow start, after a loss, a mark or a timeout.
    fn on_congestion(&mut self);
}

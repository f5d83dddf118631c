//! When slow start ends before a loss ends it.

use crate::cc::Ack;
use airwnd_catalog::family;
use std::fmt::Debug;

/// Slow start: how it notices that the path is full before something is lost.
#[family(name = "slow-start", build = fn() -> Box<dyn SlowStart>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Standard(standard::Params),
    Hystart(hystart::Params),
    HystartPlusPlus(hystart_plus_plus::Params),
}

/// Watches slow start.
pub trait SlowStart: Debug + Send + Sync {
    /// The part of the usual growth that this ACK may bring; `None` if slow start ends here. `cwnd` is in segments.
    fn growth(&mut self, ack: &Ack, cwnd: f64) -> Option<f64>;
    /// A loss, a mark or a timeout: a later slow start begins anew.
    fn on_congestion(&mut self);
}

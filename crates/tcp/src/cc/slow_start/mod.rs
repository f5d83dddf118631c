//! When slow start ends before a loss ends it.

use crate::cc::Ack;
use airwnd_catalog::family;
use std::fmt::Debug;

family! {
    /// Slow start: how it notices that the path is full before something is lost.
    pub family Spec ("slow-start") { standard: Standard, hystart: Hystart, hystart_plus_plus: HystartPlusPlus }
    build fn build() -> Box<dyn SlowStart>;
}

/// Watches slow start.
pub trait SlowStart: Debug + Send + Sync {
    /// The part of the usual growth that this ACK may bring; `None` if slow start ends here. `cwnd` is in segments.
    fn growth(&mut self, ack: &Ack, cwnd: f64) -> Option<f64>;
    /// A loss, a mark or a timeout: a later slow start begins anew.
    fn on_congestion(&mut self);
}

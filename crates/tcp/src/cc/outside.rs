//! Congestion controls from outside the engine.
//!
//! ```
//! use airwnd_catalog::outside::Registry;
//! use airwnd_catalog::{Node, Param, Params};
//! use airwnd_tcp::cc::{CongestionControl, SenderContext, Spec, newreno};
//! use std::path::Path;
//! /// Half: NewReno that keeps a quarter of the bytes in flight at a congestion event.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "an example")]
//! pub struct Params {
//!     /// Fraction of the bytes in flight kept at a congestion event.
//!     #[param(default = 0.25, range = 0.01..=0.99, unit = "1", source = "an example")]
//!     pub keep: f64,
//! }
//!
//! let mut plugins = Registry::<dyn CongestionControl>::default();
//! plugins.add("half", |params: &Params, ctx: &SenderContext| {
//!     let params = newreno::Params { beta: params.keep, ..Default::default() };
//!     Ok(Box::new(newreno::Newreno::new(params, ctx)))
//! });
//! let node = Node::from_toml("kind = \"plugin\"\nname = \"half\"\nkeep = 2.0", "s.toml").unwrap();
//! let error = Spec::read(&node).unwrap().link(&node, Path::new(""), &plugins).unwrap_err();
//! assert_eq!(error.to_string(), "s.toml:3: keep: 2.0 is outside 0.01..0.99");
//! ```

use super::{Ack, Before, Congestion, CongestionControl, Departure, Loss, SenderContext, newreno};
use airwnd_catalog::Error;
use airwnd_catalog::outside::{Failures, Family};
use airwnd_units::{BitRate, Bytes};

impl Family for dyn CongestionControl {
    type Context = SenderContext;

    fn substitute(ctx: &SenderContext) -> Box<Self> {
        Box::new(newreno::Newreno::new(newreno::Params::default(), ctx))
    }

    fn guarded(inner: Box<Self>, label: String, ctx: &SenderContext, failures: Failures) -> Box<Self> {
        let mut guarded = Guarded { inner: Ok(inner), label, mss: ctx.mss, cwnd: ctx.mss, failures };
        guarded.inspect("at connection start");
        Box::new(guarded)
    }
}

/// Wrapper of an external controller that checks its window and errors after every call.
#[derive(Debug)]
struct Guarded {
    inner: Result<Box<dyn CongestionControl>, Error>,
    label: String,
    mss: Bytes,
    /// Last valid window.
    cwnd: Bytes,
    failures: Failures,
}

impl Guarded {
    fn call(&mut self, when: &str, call: impl FnOnce(&mut dyn CongestionControl)) {
        if let Ok(inner) = &mut self.inner {
            call(&mut **inner);
            self.inspect(when);
        }
    }

    fn inspect(&mut self, when: &str) {
        let failure = match &self.inner {
            Err(_) => return,
            Ok(inner) => match (inner.cwnd(), inner.failure()) {
                (_, Some(failure)) => failure.clone(),
                (cwnd, None) if cwnd < self.mss => {
                    let message =
                        format!("cwnd is {cwnd} {when}; it must be at least one segment ({})", self.mss);
                    Error::new(&self.label, None, message)
                }
                (cwnd, None) => {
                    self.cwnd = cwnd;
                    return;
                }
            },
        };
        self.failures.report(failure.clone());
        self.inner = Err(failure);
    }
}

impl CongestionControl for Guarded {
    fn on_ack(&mut self, ack: &Ack) {
        self.call("after on_ack", |inner| inner.on_ack(ack));
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.call("after on_congestion", |inner| inner.on_congestion(event));
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.call("after on_delivery", |inner| inner.on_delivery(ack));
    }

    fn on_send(&mut self, departure: &Departure) {
        self.call("after on_send", |inner| inner.on_send(departure));
    }

    fn on_lost(&mut self, loss: &Loss) {
        self.call("after on_lost", |inner| inner.on_lost(loss));
    }

    fn on_spurious(&mut self, before: &Before) {
        self.call("after on_spurious", |inner| inner.on_spurious(before));
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.inner.as_ref().map_or(self.cwnd, |inner| inner.ssthresh())
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.call("after set_cwnd", |inner| inner.set_cwnd(cwnd));
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.inner.as_ref().ok()?.pacing_rate()
    }

    fn governs_recovery(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.governs_recovery())
    }

    fn send_buffer_windows(&self) -> u64 {
        self.inner.as_ref().map_or(2, |inner| inner.send_buffer_windows())
    }

    // An external control shows whether it counts bytes or ACKs.
    fn takes_partial_acks(&self) -> bool {
        true
    }

    fn needs_rate_samples(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.needs_rate_samples())
    }

    fn is_l4s(&self) -> bool {
        self.inner.as_ref().is_ok_and(|inner| inner.is_l4s())
    }

    fn failure(&self) -> Option<&Error> {
        self.inner.as_ref().err()
    }
}

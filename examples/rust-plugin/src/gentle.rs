//! A congestion control that keeps the queue short.

use airwnd_catalog::Params;
use airwnd_lab::Plugins;
use airwnd_tcp::cc::{Ack, Congestion, CongestionControl, SenderContext, Signal};
use airwnd_units::{Bytes, Span};

/// Gentle: delay-based; changes cwnd in proportion to the distance of the queueing delay from a target.
///
/// For each ACK of `acked` bytes
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \mathrm{gain} \,
/// (1 - \frac{\mathit{RTT} - \mathit{RTT}_{\min}}{\mathrm{target}}) \,
/// \frac{\mathrm{MSS} \cdot \mathrm{acked}}{\mathrm{cwnd}}
/// ```
///
/// A congestion event halves cwnd.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 6817 §2.4.2, simplified")]
pub struct Params {
    /// Target queueing delay.
    #[param(default = Span::from_millis(25), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "the example")]
    pub target: Span,
    /// Increase per round trip without queueing delay.
    #[param(default = 1.0, range = 0.01..=100.0, unit = "segments", source = "RFC 6817 §2.4.2 (GAIN)")]
    pub gain: f64,
}

/// Makes the plug-in available to scenarios, as `cc = { kind = "plugin", name = "gentle" }`.
pub fn register(plugins: &mut Plugins) {
    plugins.cc.add("gentle", |params: &Params, ctx| Ok(Box::new(Gentle::new(params.clone(), ctx))));
}

/// State of a gentle controller.
#[derive(Clone, Debug)]
pub struct Gentle {
    params: Params,
    mss: f64,
    cwnd: f64,
    ssthresh: Bytes,
}

impl Gentle {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Gentle {
        let (mss, cwnd) = (ctx.mss.0 as f64, ctx.initial_window.0 as f64);
        Gentle { params, mss, cwnd, ssthresh: ctx.initial_ssthresh }
    }
}

impl CongestionControl for Gentle {
    fn on_ack(&mut self, ack: &Ack) {
        let (Some(rtt), Some(min_rtt)) = (ack.rtt, ack.min_rtt) else { return };
        let missing = 1.0 - (rtt.as_secs() - min_rtt.as_secs()) / self.params.target.as_secs();
        // However long the queue, an ACK reduces the window by at most the acknowledged bytes.
        let step = (self.params.gain * missing * self.mss / self.cwnd).max(-1.0);
        self.cwnd = (self.cwnd + step * ack.acked.0 as f64).max(2.0 * self.mss);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.cwnd = match event.signal {
            Signal::Loss | Signal::Ecn => (self.cwnd / 2.0).max(2.0 * self.mss),
            Signal::Timeout | Signal::RepeatedTimeout => self.mss,
        };
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.0 as f64).max(self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_below_the_target_and_shrinks_above_it() {
        let ctx = SenderContext {
            mss: Bytes(1000),
            initial_window: Bytes(10_000),
            initial_ssthresh: Bytes(u64::MAX),
            seed: 1,
            identity: Default::default(),
        };
        let mut gentle = Gentle::new(Params::default(), &ctx);
        let ack = |rtt_ms| Ack {
            acked: Bytes(10_000),
            rtt: Some(Span::from_millis(rtt_ms)),
            min_rtt: Some(Span::from_millis(50)),
            round: 1,
            ..Ack::default()
        };
        // no queue: one segment more per window of ACKs
        gentle.on_ack(&ack(50));
        assert_eq!(gentle.cwnd(), Bytes(11_000));
        // twice the target: one segment less, here for 10/11 of a window
        gentle.on_ack(&ack(100));
        assert_eq!(gentle.cwnd(), Bytes(10_090));
    }
}

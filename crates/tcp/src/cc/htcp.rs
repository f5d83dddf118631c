//! H-TCP: growth by the time since the last congestion event, reduction by the RTT ratio.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Span, Time};

/// H-TCP: AIMD whose increase grows with the time since the last congestion event; the decrease adapts to RTTmin /
/// RTTmax.
///
/// Each acknowledged segment adds
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \frac{\max(2 \, (1 - \beta) \, a, \, 1)}{\mathrm{cwnd}}
/// ```
///
/// where a = 1 during `delta` after a congestion event. With x the seconds beyond that,
///
/// ```math
/// a = 1 + 10 \, x + \frac{x^2}{4}
/// ```
///
/// A congestion event keeps beta of the bytes in flight:
///
/// ```math
/// \beta = \min(\max(\frac{\mathit{RTT}_{\min}}{\mathit{RTT}_{\max}}, \, \beta_{\min}), \, \beta_{\max})
/// ```
///
/// Both RTTs are those since the previous congestion event. At the first event, and if the throughput since the
/// previous event differs by more than the fraction `throughput_change` from that of the interval before, beta is
/// `beta_min`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Leith, Shorten: H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; \
              draft-leith-tcp-htcp-06")]
pub struct Params {
    /// Time after a congestion event in which it grows as NewReno (Delta_L).
    #[param(basic, default = Span::from_secs(1), range = Span(0)..=Span::from_secs(100))]
    #[param(unit = "time", source = "draft-leith-tcp-htcp-06 section 3 (Delta_L); ns-3.44 TcpHtcp::DeltaL")]
    pub delta: Span,
    /// Minimum of beta, the fraction of the bytes in flight kept at a congestion event.
    #[param(default = 0.5, range = 0.1..=0.9)]
    #[param(unit = "1", source = "draft-leith-tcp-htcp-06 section 3; ns-3.44 TcpHtcp::DefaultBackoff")]
    pub beta_min: f64,
    /// Maximum of beta.
    #[param(default = 0.8, range = 0.1..=0.99, unit = "1", source = "draft-leith-tcp-htcp-06 section 3")]
    pub beta_max: f64,
    /// Relative change of the throughput between congestion events above which beta is `beta_min`.
    #[param(default = 0.2, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-leith-tcp-htcp-06 section 3; ns-3.44 TcpHtcp::ThroughputRatio")]
    pub throughput_change: f64,
}

/// State of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: Params,
    window: Window,
    beta: f64,
    last_congestion: Time,
    /// Minimum and maximum RTT, and bytes delivered, since the last congestion event.
    rtts: Option<(Span, Span)>,
    bytes: u64,
    last_throughput: Option<f64>,
}

impl Htcp {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Htcp {
        Htcp {
            window: Window::new(ctx),
            beta: params.beta_min,
            params,
            last_congestion: Time::ZERO,
            rtts: None,
            bytes: 0,
            last_throughput: None,
        }
    }

    //= exception htcp-growth
    /// Returns the segments that a round trip adds.
    fn increment(&self, now: Time) -> f64 {
        let x = ((now - self.last_congestion).as_secs() - self.params.delta.as_secs()).max(0.0);
        (2.0 * (1.0 - self.beta) * (1.0 + 10.0 * x + x * x / 4.0)).max(1.0)
    }

    fn adapt(&mut self, now: Time) {
        let Params { beta_min, beta_max, throughput_change, .. } = self.params;
        let seconds = (now - self.last_congestion).as_secs();
        let throughput = if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 };
        let is_steady =
            self.last_throughput.is_some_and(|last| (throughput - last).abs() <= throughput_change * last);
        self.beta = match self.rtts {
            Some((min, greatest)) if is_steady => {
                (min.0 as f64 / greatest.0.max(1) as f64).min(beta_max).max(beta_min)
            }
            _ => beta_min,
        };
        self.last_throughput = Some(throughput);
        (self.last_congestion, self.rtts, self.bytes) = (now, None, 0);
    }
}

impl CongestionControl for Htcp {
    fn on_delivery(&mut self, ack: &Ack) {
        self.bytes += ack.acked.0;
        if let Some(rtt) = ack.rtt {
            let (min, greatest) = self.rtts.unwrap_or((rtt, rtt));
            self.rtts = Some((min.min(rtt), greatest.max(rtt)));
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        if self.window.in_slow_start() {
            self.window.slow_start(acked.min(1.0));
        } else {
            self.window.add(acked * self.increment(ack.now) / self.window.segments());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.adapt(event.now);
        self.window.reduce(event, self.beta * self.window.count(event.in_flight));
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    /// Delivers `segments` segments in ten seconds with RTTs of 60 and 100 ms, and a loss at the end.
    fn epoch(htcp: &mut Htcp, number: u64, segments: u64) {
        for n in 0..segments {
            let rtt = Span::from_millis(if n % 2 == 0 { 60 } else { 100 });
            htcp.on_delivery(&Ack { rtt: Some(rtt), ..ack(1000) });
        }
        let now = Time(10_000_000_000 * (number + 1));
        htcp.on_congestion(&Congestion { now, ..congestion(Signal::Loss, 100_000) });
    }

    #[test]
    fn beta_is_the_rtt_ratio_at_steady_throughput() {
        let mut htcp = Htcp::new(Params::default(), &ctx(1000, 100));
        epoch(&mut htcp, 0, 100);
        assert_eq!(htcp.beta, 0.5);
        // 60 / 100
        epoch(&mut htcp, 1, 110);
        assert_eq!(htcp.beta, 0.6);
        // 200 after 110 segments
        epoch(&mut htcp, 2, 200);
        assert_eq!(htcp.beta, 0.5);
    }

    #[test]
    fn growth_rises_with_time_since_the_last_loss() {
        let mut htcp = Htcp::new(Params::default(), &ctx(1000, 100));
        htcp.on_congestion(&congestion(Signal::Loss, 100_000));
        // 2 (1 - 0.5) (1 + 10 x 2 + 2^2 / 4)
        let found = [0.5, 1.0, 3.0].map(|s| htcp.increment(Time((s * 1e9) as u64)));
        assert_eq!(found, [1.0, 1.0, 22.0]);
        htcp.on_ack(&Ack { now: Time(3_000_000_000), ..ack(50_000) });
        assert_eq!(htcp.cwnd(), Bytes(72_000));
    }
}

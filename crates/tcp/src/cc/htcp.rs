//! Growth by the time since the last loss, reduction by the queue.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Span, Time};

/// H-TCP: the longer no loss came, the faster the window grows.
///
/// cwnd grows by 2 (1 - beta) a / cwnd for each acknowledged segment, never less than 1 / cwnd, where a = 1 for `delta`
/// after a sign of congestion and 1 + 10 x + x^2 / 4 when x seconds more have passed. It leaves beta of the flight:
/// RTTmin / RTTmax since the one before it, within `beta_min` and `beta_max`, or `beta_min` if the throughput changed
/// by more than `throughput_change` of what it was.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06")]
pub struct Params {
    /// How long it grows as NewReno.
    #[param(default = Span::from_secs(1), range = Span(0)..=Span::from_secs(100))]
    #[param(unit = "time", source = "draft-leith-tcp-htcp-06 section 3 (Delta_L); ns-3.44 TcpHtcp::DeltaL")]
    pub delta: Span,
    /// The least part that is kept at a loss.
    #[param(default = 0.5, range = 0.1..=0.9)]
    #[param(unit = "1", source = "draft-leith-tcp-htcp-06 section 3; ns-3.44 TcpHtcp::DefaultBackoff")]
    pub beta_min: f64,
    /// The greatest part.
    #[param(default = 0.8, range = 0.1..=0.99, unit = "1", source = "draft-leith-tcp-htcp-06 section 3")]
    pub beta_max: f64,
    /// Change of the throughput between losses that calls for the greatest reduction.
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
    /// Least and greatest round-trip time, and bytes delivered since then.
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
    /// Segments that a round trip adds.
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
            Some((least, greatest)) if is_steady => {
                (least.0 as f64 / greatest.0.max(1) as f64).min(beta_max).max(beta_min)
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
            let (least, greatest) = self.rtts.unwrap_or((rtt, rtt));
            self.rtts = Some((least.min(rtt), greatest.max(rtt)));
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

    /// Ten segments a second for ten seconds over round trips of 60 to 100 ms, and a loss.
    fn epoch(htcp: &mut Htcp, number: u64, segments: u64) {
        for n in 0..segments {
            let rtt = Span::from_millis(if n % 2 == 0 { 60 } else { 100 });
            htcp.on_delivery(&Ack { rtt: Some(rtt), ..ack(1000) });
        }
        let now = Time(10_000_000_000 * (number + 1));
        htcp.on_congestion(&Congestion { now, ..congestion(Signal::Loss, 100_000) });
    }

    #[test]
    fn steady_throughput_keeps_what_the_queue_allows() {
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
    fn growth_rises_when_losses_stay_away() {
        let mut htcp = Htcp::new(Params::default(), &ctx(1000, 100));
        htcp.on_congestion(&congestion(Signal::Loss, 100_000));
        // 2 (1 - 0.5) (1 + 10 x 2 + 2^2 / 4)
        let found = [0.5, 1.0, 3.0].map(|s| htcp.increment(Time((s * 1e9) as u64)));
        assert_eq!(found, [1.0, 1.0, 22.0]);
        htcp.on_ack(&Ack { now: Time(3_000_000_000), ..ack(50_000) });
        assert_eq!(htcp.cwnd(), Bytes(72_000));
    }
}

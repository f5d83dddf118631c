//! Hybla: growth independent of the RTT.

pub use super::newreno::Growth;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::Span;

/// Quirks of ns-3's Hybla.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 TcpHybla")]
pub struct Quirks {
    /// Whether growth that has not filled a segment yet outlives a loss.
    //= exception credit-ends-with-a-loss
    #[param(default = false, unit = "1", source = "ns-3.44 TcpHybla::CongestionAvoidance: m_cWndCnt")]
    pub credit_outlives_loss: bool,
}

/// Hybla: grows at the rate of NewReno on a path with a short reference RTT.
///
/// ```math
/// \rho = \max(\frac{\mathit{RTT}_{\min}}{\mathit{RTT}_0}, \, 1)
/// ```
///
/// where RTTmin is the minimum RTT so far and RTT0 is `reference_rtt`. In slow start each ACK adds 2^rho - 1 segments.
/// In congestion avoidance each acknowledged segment (or each ACK, by `growth`) adds
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \frac{\rho^2}{\mathrm{cwnd}}
/// ```
///
/// A congestion event halves the bytes in flight.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Caini, Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous networks, Int. J. Satellite \
              Communications and Networking 22, 2004"
)]
pub struct Params {
    /// Reference RTT (RTT0), the RTT of the path to be matched; 50 ms in ns-3.44.
    #[param(basic, default = Span::from_millis(25), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "Caini and Firrincieli 2004, section 3 (RTT0); Linux tcp_hybla rtt0; ns-3.44 TcpHybla::RRTT"
    )]
    pub reference_rtt: Span,
    //= exception growth-by-segments
    /// Unit in which ACKs are counted for growth above ssthresh.
    #[param(default = Growth::PerByte)]
    #[param(
        unit = "word",
        source = "ns-3.26 and ns-3.44 TcpHybla (per-byte); Caini and Firrincieli 2004, section 3, Linux \
                  tcp_hybla (per-ack)"
    )]
    pub growth: Growth,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// State of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    params: Params,
    window: Window,
    rho: f64,
}

impl Hybla {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Hybla {
        Hybla { params, window: Window::new(ctx), rho: 1.0 }
    }
}

impl CongestionControl for Hybla {
    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.min_rtt {
            self.rho = (rtt.0 as f64 / self.params.reference_rtt.0 as f64).max(1.0);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.window.in_slow_start() {
            self.window.slow_start(self.window.count(ack.acked).min(1.0) * (libm::exp2(self.rho) - 1.0));
        } else {
            let counted = self.window.counted(ack.acked, self.params.growth);
            self.window.add(counted * self.rho * self.rho / self.window.segments());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let kept = self.window.count(event.in_flight) / 2.0;
        if self.params.quirks.credit_outlives_loss {
            self.window.reduce_keeping_part(event, kept);
        } else {
            self.window.reduce(event, kept);
        }
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    fn over(rtt_ms: u64, bytes: u64) -> Ack {
        Ack { min_rtt: Some(Span::from_millis(rtt_ms)), ..ack(bytes) }
    }

    #[test]
    fn growth_scales_with_rho() {
        let mut hybla = Hybla::new(Params::default(), &ctx(1000, 10));
        hybla.on_delivery(&over(75, 1000));
        hybla.on_ack(&over(75, 1000));
        // 2^3 - 1 segments
        assert_eq!(hybla.cwnd(), Bytes(17_000));
        hybla.on_congestion(&congestion(Signal::Loss, 20_000));
        hybla.on_ack(&over(75, 10_000));
        // 3^2 segments per window of ACKs
        assert_eq!(hybla.cwnd(), Bytes(19_000));
    }

    #[test]
    fn an_rtt_below_the_reference_grows_as_newreno() {
        let mut hybla = Hybla::new(Params::default(), &ctx(1000, 10));
        hybla.on_delivery(&over(10, 1000));
        hybla.on_ack(&over(10, 1000));
        assert_eq!(hybla.cwnd(), Bytes(11_000));
    }
}

//! Veno: distinguishes random from congestive loss.

pub use super::newreno::Growth;
use super::parts::rounds::queued;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// Veno: NewReno with a smaller reduction at a loss while the estimated queue is short, as the loss is then likely
/// random.
///
/// The number of queued segments is estimated as
///
/// ```math
/// N = \mathrm{cwnd} \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{SRTT}})
/// ```
///
/// In congestion avoidance only every other ACK grows the window while N >= beta. A congestion event keeps 4/5 of the
/// bytes in flight if N < beta, and half of them otherwise.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Fu, Liew: TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks, IEEE \
              JSAC 21(2), 2003"
)]
pub struct Params {
    /// Number of queued segments from which a loss indicates congestion.
    #[param(basic, default = 3.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Fu and Liew 2003, section II.A; ns-3.44 TcpVeno::Beta")]
    pub beta: f64,
    /// Fraction of the bytes in flight kept at a random loss.
    #[param(basic, default = 0.8, range = 0.5..=0.99, unit = "1", source = "Fu and Liew 2003, section II.C")]
    pub keep: f64,
    /// Unit in which ACKs are counted for window growth.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// State of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    params: Params,
    window: Window,
    /// Fraction of the window that is queued: 1 - RTTmin / SRTT.
    queued: f64,
    /// Whether the next ACK grows the window while the queue is long.
    turn: bool,
}

impl Veno {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Veno {
        Veno { params, window: Window::new(ctx), queued: 0.0, turn: false }
    }

    fn queue_is_long(&self) -> bool {
        self.window.segments() * self.queued >= self.params.beta
    }
}

impl CongestionControl for Veno {
    //= exception veno-per-round-trip
    fn on_delivery(&mut self, ack: &Ack) {
        if let (Some(srtt), Some(base)) = (ack.srtt, ack.min_rtt) {
            self.queued = queued(srtt, base);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.window.in_slow_start() || !self.queue_is_long() {
            self.window.grow_as_reno(ack.acked, self.params.growth);
        } else {
            if self.turn {
                self.window.grow_as_reno(ack.acked, self.params.growth);
            }
            self.turn = !self.turn;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let keep = if self.queue_is_long() { 0.5 } else { self.params.keep };
        self.window.reduce(event, keep * self.window.count(event.in_flight));
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::{Bytes, Span};

    fn over(srtt_ms: u64) -> Ack {
        Ack { srtt: Some(Span::from_millis(srtt_ms)), min_rtt: Some(Span::from_millis(100)), ..ack(1000) }
    }

    #[test]
    fn a_loss_with_a_short_queue_keeps_four_fifths() {
        // 20 (1 - 100 / 110) = 1.8 and 20 (1 - 100 / 125) = 4
        for (srtt_ms, kept) in [(110, 16_000), (125, 10_000)] {
            let mut veno = Veno::new(Params::default(), &ctx(1000, 20));
            veno.on_delivery(&over(srtt_ms));
            veno.on_congestion(&congestion(Signal::Loss, 20_000));
            assert_eq!(veno.cwnd(), Bytes(kept), "{srtt_ms} ms");
        }
    }

    #[test]
    fn a_long_queue_halves_the_growth() {
        for (srtt_ms, grown) in [(110, 2000.0), (200, 1000.0)] {
            let mut veno = Veno::new(Params::default(), &ctx(1000, 40));
            veno.on_congestion(&congestion(Signal::Loss, 20_000));
            veno.on_delivery(&over(srtt_ms));
            let before = veno.cwnd().0 as f64;
            for _ in 0..2 * (before / 1000.0) as u64 {
                veno.on_ack(&over(srtt_ms));
            }
            let found = veno.cwnd().0 as f64 - before;
            assert!((found - grown).abs() < 0.11 * grown, "{srtt_ms} ms: {found}");
        }
    }
}

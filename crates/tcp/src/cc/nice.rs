//! TCP Nice: background transfers with minimal interference.

use super::parts::rounds::{Rounds, queued};
use super::parts::window::Window;
use super::{Ack, Before, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{BitRate, Bytes, Span};

/// Nice: background transport; Vegas that halves cwnd when many segments of an RTT meet a long queue; cwnd may be below
/// one.
///
/// A segment counts as late if
///
/// ```math
/// \mathit{RTT} > \mathit{RTT}_{\min} + \mathrm{threshold} \cdot (\mathit{RTT}_{\max} - \mathit{RTT}_{\min})
/// ```
///
/// Once per round trip cwnd is halved if more than `fraction` of the window was late. Otherwise Vegas' rule applies,
/// with
///
/// ```math
/// \mathit{diff} = \mathrm{cwnd} \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// cwnd grows by one segment if diff < alpha and shrinks by one if diff > beta. Slow start grows as NewReno's; it ends
/// at the first halving or when diff > gamma. A window below one segment means one segment every 1 / cwnd round trips,
/// by pacing.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Venkataramani, Kokku, Dahlin: TCP Nice: A Mechanism for Background Transfers, OSDI 2002")]
pub struct Params {
    /// Fraction of the RTT range above which a segment counts as late (t).
    #[param(basic, default = 0.1, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Venkataramani et al. 2002, section 4 (0.1)")]
    pub threshold: f64,
    /// Fraction of a window that may be late before cwnd is halved (f).
    #[param(basic, default = 0.5, range = 0.0..=1.0)]
    #[param(unit = "1", source = "Venkataramani et al. 2002, section 4 (0.5)")]
    pub fraction: f64,
    /// Number of queued segments below which cwnd grows.
    #[param(default = 1.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section III.B (1 to 3)")]
    pub alpha: f64,
    /// Number of queued segments above which cwnd shrinks by one segment.
    #[param(default = 3.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section III.B (1 to 3)")]
    pub beta: f64,
    /// Number of queued segments above which slow start ends.
    #[param(default = 1.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section III.C")]
    pub gamma: f64,
    /// Minimum window.
    #[param(default = 0.02, range = 0.001..=1.0)]
    #[param(
        unit = "segments",
        source = "not in the paper: Venkataramani et al. 2002, section 3, has windows below one without a \
                  bound"
    )]
    pub min: f64,
}

/// State of Nice.
#[derive(Clone, Debug)]
pub struct Nice {
    params: Params,
    window: Window,
    /// Window as a fraction of one segment; 1 where cwnd is at least one segment.
    part: f64,
    rounds: Rounds,
    max_rtt: Span,
    srtt: Option<Span>,
    /// Number of late segments in this round trip.
    late: f64,
}

impl Nice {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Nice {
        let window = Window::new(ctx);
        Nice { params, window, part: 1.0, rounds: Rounds::default(), max_rtt: Span(0), srtt: None, late: 0.0 }
    }

    fn segments(&self) -> f64 {
        self.window.segments() * self.part
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start() && self.part == 1.0
    }

    fn set(&mut self, segments: f64) {
        self.window.set(segments);
        self.part = segments.clamp(self.params.min, 1.0);
    }

    fn adjust(&mut self, rtt: Span, base: Span) {
        let Params { fraction, alpha, beta, gamma, .. } = self.params;
        let w = self.segments();
        let diff = w * queued(rtt, base);
        if self.late > fraction * w {
            self.set(w / 2.0);
            self.window.set_threshold(self.window.segments());
        } else if self.in_slow_start() {
            if diff > gamma {
                self.window.set_threshold(self.window.segments());
            }
        } else if diff < alpha {
            self.set(w + 1.0);
        } else if diff > beta {
            self.set((w - 1.0).max(1.0));
            self.window.end_slow_start();
        }
    }
}

impl CongestionControl for Nice {
    fn on_delivery(&mut self, ack: &Ack) {
        self.rounds.on_delivery(ack);
        self.srtt = ack.srtt;
        let (Some(rtt), Some(base)) = (ack.rtt, ack.min_rtt) else { return };
        self.max_rtt = self.max_rtt.max(rtt);
        let range = self.max_rtt.as_secs() - base.as_secs();
        if rtt.as_secs() - base.as_secs() > self.params.threshold * range {
            self.late += self.window.count(ack.acked);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let (Some(rtt), Some(base)) = (self.rounds.take(ack), ack.min_rtt) {
            self.adjust(rtt, base);
            self.late = 0.0;
        }
        if self.in_slow_start() {
            self.window.slow_start(self.window.count(ack.acked).min(1.0));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.rounds.forget();
        self.late = 0.0;
        self.window.reduce(event, self.window.count(event.in_flight) / 2.0);
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.part = 1.0;
        self.window.set_cwnd(cwnd);
    }

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.part = 1.0;
        self.window.restart(cwnd, ssthresh);
    }

    fn on_spurious(&mut self, before: &Before) {
        self.window.restore(before);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        let rtt = self.srtt.filter(|_| self.part < 1.0)?.max(Span(1));
        let bits = self.part * self.window.cwnd().bits() as f64;
        Some(BitRate((bits / rtt.as_secs()).max(1.0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};

    /// Runs a round trip of 20 segments with RTTs of 91 ms for `late` of them and 80 ms for the others; RTTmin is 80 ms
    /// and RTTmax 180 ms.
    fn round(nice: &mut Nice, number: u64, late: u64) -> u64 {
        let rtt = |ms: u64, round: u64| {
            let min_rtt = Some(Span::from_millis(80));
            Ack {
                rtt: Some(Span::from_millis(ms)),
                srtt: Some(Span::from_millis(80)),
                min_rtt,
                round,
                ..ack(1000)
            }
        };
        for segment in 0..20 {
            nice.on_delivery(&rtt(if segment < late { 91 } else { 80 }, number));
        }
        nice.on_ack(&rtt(80, number + 1));
        nice.cwnd().0
    }

    fn at_twenty() -> Nice {
        let mut nice = Nice::new(Params::default(), &ctx(1000, 40));
        nice.on_congestion(&congestion(Signal::Loss, 40_000));
        nice.max_rtt = Span::from_millis(180);
        nice
    }

    #[test]
    fn cwnd_is_halved_if_more_than_half_of_the_window_was_late() {
        let mut nice = at_twenty();
        assert_eq!(round(&mut nice, 1, 10), 21_000);
        assert_eq!(round(&mut nice, 2, 11), 10_500);
    }

    #[test]
    fn half_a_segment_is_paced_over_two_round_trips() {
        let mut nice = at_twenty();
        nice.set(1.0);
        assert_eq!(nice.pacing_rate(), None);
        assert_eq!(round(&mut nice, 1, 20), 1000);
        // 500 B in 80 ms
        assert_eq!(nice.pacing_rate(), Some(BitRate(50_000)));
        assert_eq!(round(&mut nice, 2, 20), 1000);
        assert_eq!(nice.pacing_rate(), Some(BitRate(25_000)));
        // 1.25 segments, and slow start up to the minimum threshold
        assert_eq!(round(&mut nice, 3, 0), 2000);
        assert_eq!(nice.pacing_rate(), None);
    }
}

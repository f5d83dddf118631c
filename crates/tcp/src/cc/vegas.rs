//! Vegas: delay-based window with a few segments queued.

use super::parts::rounds::{Rounds, queued};
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// Vegas: delay-based; once per RTT changes cwnd by one segment to keep alpha to beta segments queued.
///
/// Once per round trip, with RTT its minimum sample, the number of queued segments is estimated as
///
/// ```math
/// \mathit{diff} = \mathrm{cwnd} \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// cwnd grows by one segment if diff < alpha and shrinks by one if diff > beta. Slow start grows as NewReno's in every
/// other round trip. It ends when diff > gamma, with
///
/// ```math
/// \mathrm{cwnd} \leftarrow
/// \min(\mathrm{cwnd}, \, \mathrm{cwnd} \, \frac{\mathit{RTT}_{\min}}{\mathit{RTT}} + 1)
/// ```
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Brakmo, Peterson: TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC \
              13(8), 1995"
)]
pub struct Params {
    /// Number of queued segments below which cwnd grows.
    #[param(basic, default = 2.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section IV; ns-3.44 TcpVegas::Alpha")]
    pub alpha: f64,
    /// Number of queued segments above which cwnd shrinks.
    #[param(basic, default = 4.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section IV; ns-3.44 TcpVegas::Beta")]
    pub beta: f64,
    /// Number of queued segments above which slow start ends.
    #[param(default = 1.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "Brakmo and Peterson 1995, section III.C; ns-3.44 TcpVegas::Gamma")]
    pub gamma: f64,
    /// Whether slow start grows only in every other round trip, to compare RTTs in between. Linux and ns-3 grow in
    /// each.
    #[param(expert, default = true, unit = "1", source = "Brakmo and Peterson 1995, section III.C")]
    pub alternate: bool,
    /// Multiplicative decrease: fraction of the bytes in flight kept at a congestion event.
    #[param(default = 0.5, range = 0.1..=0.99, unit = "1", source = "Linux tcp_vegas (ssthresh of Reno)")]
    pub keep: f64,
}

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: Params,
    window: Window,
    rounds: Rounds,
}

impl Vegas {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Vegas {
        Vegas { params, window: Window::new(ctx), rounds: Rounds::default() }
    }

    //= exception vegas-whole-segments
    fn adjust(&mut self, diff: f64) {
        let Params { alpha, beta, gamma, .. } = self.params;
        let w = self.window.segments();
        if self.window.in_slow_start() {
            if diff > gamma {
                self.window.set(w.min(w - diff + 1.0));
                self.window.set_threshold(self.window.segments());
            }
        } else if diff < alpha {
            self.window.add(1.0);
        } else if diff > beta {
            self.window.add(-1.0);
            self.window.set_threshold(self.window.segments());
        }
    }
}

impl CongestionControl for Vegas {
    fn on_delivery(&mut self, ack: &Ack) {
        self.rounds.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let (Some(rtt), Some(base)) = (self.rounds.take(ack), ack.min_rtt) {
            self.adjust(self.window.segments() * queued(rtt, base));
        }
        if self.window.in_slow_start() && (!self.params.alternate || ack.round.is_multiple_of(2)) {
            self.window.slow_start(self.window.count(ack.acked).min(1.0));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.rounds.forget();
        self.window.reduce(event, self.params.keep * self.window.count(event.in_flight));
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Span;

    /// Returns the window after a round trip of `rtt_ms` on a path of 100 ms.
    fn after(vegas: &mut Vegas, round: u64, rtt_ms: u64) -> u64 {
        let min_rtt = Some(Span::from_millis(100));
        let sample = Ack { rtt: Some(Span::from_millis(rtt_ms)), min_rtt, round: round - 1, ..ack(1000) };
        vegas.on_delivery(&sample);
        vegas.on_ack(&Ack { round, ..sample });
        vegas.cwnd().0
    }

    #[test]
    fn the_window_keeps_two_to_four_segments_in_the_queue() {
        let mut vegas = Vegas::new(Params::default(), &ctx(1000, 40));
        vegas.on_congestion(&congestion(Signal::Loss, 40_000));
        // 20 (1 - 100 / 105) = 0.95, 21 (1 - 100 / 115) = 2.7, 21 (1 - 100 / 130) = 4.8
        assert_eq!(after(&mut vegas, 1, 105), 21_000);
        assert_eq!(after(&mut vegas, 2, 115), 21_000);
        assert_eq!(after(&mut vegas, 3, 130), 20_000);
    }

    #[test]
    fn a_queue_ends_slow_start() {
        let mut vegas = Vegas::new(Params::default(), &ctx(1000, 20));
        // 20 (1 - 100 / 110) = 1.82: down to 20 x 100 / 110 + 1
        assert_eq!(after(&mut vegas, 1, 110), 19_181);
        assert!(!vegas.window.in_slow_start());
    }

    #[test]
    fn slow_start_grows_every_other_round_trip() {
        let mut vegas = Vegas::new(Params::default(), &ctx(1000, 20));
        assert_eq!(after(&mut vegas, 1, 100), 20_000);
        assert_eq!(after(&mut vegas, 2, 100), 21_000);
    }
}

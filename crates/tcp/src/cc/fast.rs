//! FAST TCP: delay-based window with a fixed number of queued segments.

use super::parts::rounds::queued;
use super::parts::window::Window;
use super::{Ack, Before, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// FAST TCP: delay-based; moves the window W towards the equilibrium at which alpha segments are queued.
///
/// Every `period` round trips
///
/// ```math
/// W \leftarrow \min(2 \, W, \, (1 - \gamma) \, W + \gamma \, (\frac{\mathit{RTT}_{\min}}{\mathit{RTT}} \, W + \alpha))
/// ```
///
/// The change is spread over one round trip. RTT is a moving average in which a sample has the weight
/// `min(3 / W, 1 / 4)`. Slow start grows as NewReno's until alpha segments are queued. A congestion event halves the
/// bytes in flight.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Wei, Jin, Low, Hegde: FAST TCP: Motivation, Architecture, Algorithms, Performance, IEEE/ACM \
              ToN 14(6), 2006"
)]
pub struct Params {
    /// Number of segments kept in queues; flows with the same alpha get equal shares.
    #[param(basic, default = 20.0, range = 0.1..=100_000.0)]
    #[param(
        unit = "segments",
        source = "not in the paper: chosen for 10 to 100 Mbit/s; Wei et al. 2006, section III, leaves it open"
    )]
    pub alpha: f64,
    /// Step size: fraction of the distance to the equilibrium (gamma).
    #[param(default = 0.5, range = 0.001..=1.0)]
    #[param(unit = "1", source = "Wei et al. 2006, section III (0 < gamma <= 1)")]
    pub gamma: f64,
    /// Number of round trips between two steps.
    #[param(default = 2, range = 1..=1000)]
    #[param(
        unit = "round trips",
        source = "Wei et al. 2006, section III (updated in one, frozen in the next)"
    )]
    pub period: u32,
}

/// Wei et al. 2006, section III: the weight of an RTT sample is `SAMPLES` / W, at most `MAX_WEIGHT`.
const SAMPLES: f64 = 3.0;
const MAX_WEIGHT: f64 = 0.25;

/// State of FAST TCP.
#[derive(Clone, Debug)]
pub struct Fast {
    params: Params,
    window: Window,
    average_s: Option<f64>,
    round: u64,
    /// Round trips until the next step.
    rest: u32,
    /// Change per acknowledged segment in this round trip, and the remaining change, in segments.
    slope: f64,
    left: f64,
}

impl Fast {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Fast {
        let window = Window::new(ctx);
        Fast { params, window, average_s: None, round: 0, rest: 0, slope: 0.0, left: 0.0 }
    }

    fn begin_round(&mut self, base: Span) {
        let Params { alpha, gamma, period, .. } = self.params;
        let Some(average) = self.average_s else { return };
        let w = self.window.segments();
        let part = queued(Span((average * 1e9) as u64), base);
        (self.slope, self.left) = (0.0, 0.0);
        if self.window.in_slow_start() {
            if w * part > alpha {
                self.window.set_threshold(w);
            }
            return;
        }
        if self.rest == 0 {
            let target = (2.0 * w).min((1.0 - gamma) * w + gamma * ((1.0 - part) * w + alpha));
            (self.slope, self.left) = ((target - w) / w, target - w);
            self.rest = period;
        }
        self.rest -= 1;
    }
}

impl CongestionControl for Fast {
    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.map(Span::as_secs) {
            let weight = (SAMPLES / self.window.segments()).min(MAX_WEIGHT);
            self.average_s = Some(self.average_s.map_or(rtt, |average| average + weight * (rtt - average)));
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let (true, Some(base)) = (ack.round != self.round, ack.min_rtt) {
            self.round = ack.round;
            self.begin_round(base);
        }
        let acked = self.window.count(ack.acked);
        if self.window.in_slow_start() {
            self.left = 0.0;
            self.window.slow_start(acked.min(1.0));
        } else {
            let wanted = self.slope * acked;
            let step = if self.slope < 0.0 { wanted.max(self.left) } else { wanted.min(self.left) };
            self.left -= step;
            self.window.add(step);
            self.window.end_slow_start();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        (self.slope, self.left, self.rest) = (0.0, 0.0, 0);
        self.window.reduce(event, self.window.count(event.in_flight) / 2.0);
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        (self.slope, self.left) = (0.0, 0.0);
        self.window.set_cwnd(cwnd);
    }

    fn on_spurious(&mut self, before: &Before) {
        self.window.restore(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};

    /// Returns an ACK of `segments` segments.
    fn at(round: u64, rtt_ms: u64, segments: u64) -> Ack {
        let (rtt, min_rtt) = (Some(Span::from_millis(rtt_ms)), Some(Span::from_millis(80)));
        Ack { rtt, min_rtt, round, ..ack(1000 * segments) }
    }

    fn cwnd_after(fast: &mut Fast, ack: &Ack) -> u64 {
        fast.on_delivery(ack);
        fast.on_ack(ack);
        fast.cwnd().0
    }

    fn at_hundred() -> Fast {
        let mut fast = Fast::new(Params::default(), &ctx(1000, 200));
        fast.on_congestion(&congestion(Signal::Loss, 200_000));
        fast
    }

    #[test]
    fn a_step_is_spread_over_one_round_trip_and_the_next_round_is_frozen() {
        let mut fast = at_hundred();
        // 100 + 0.5 x 20, half of it after half of the window
        assert_eq!(
            [cwnd_after(&mut fast, &at(1, 80, 50)), cwnd_after(&mut fast, &at(1, 80, 70))],
            [105_000, 110_000]
        );
        assert_eq!(cwnd_after(&mut fast, &at(2, 80, 110)), 110_000);
        assert_eq!(cwnd_after(&mut fast, &at(3, 80, 110)), 120_000);
    }

    #[test]
    fn the_window_is_stable_with_alpha_segments_queued() {
        let mut fast = at_hundred();
        // 100 (1 - 80 / 100) = 20
        assert_eq!(cwnd_after(&mut fast, &at(1, 100, 100)), 100_000);
        fast.average_s = Some(0.16);
        // 0.5 x 100 + 0.5 (50 + 20); the sample of 160 ms does not change the mean
        assert_eq!(cwnd_after(&mut fast, &at(3, 160, 100)), 100_000);
        assert_eq!(cwnd_after(&mut fast, &at(4, 160, 100)), 85_000);
    }
}

//! Illinois: loss triggers a reduction, delay determines its size and the growth.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::Span;

/// Illinois: loss-based AIMD whose increase alpha and decrease beta depend on the mean queueing delay of the last RTT.
///
/// In congestion avoidance each acknowledged segment adds
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} + \frac{\alpha}{\mathrm{cwnd}}
/// ```
///
/// and a congestion event keeps 1 - beta of the bytes in flight. Both factors are updated once per round trip from its
/// mean queueing delay d_a and the maximum queueing delay so far, d_m. The increase is
///
/// ```math
/// \alpha = \begin{cases}
/// \alpha_{\max} & d_a \le 0.01 \, d_m \\
/// \frac{\kappa_1}{\kappa_2 + d_a} & d_a > 0.01 \, d_m
/// \end{cases}
/// ```
///
/// with kappa_1 and kappa_2 such that it is `alpha_max` at 0.01 d_m and `alpha_min` at d_m. After a longer delay alpha
/// returns to `alpha_max` only when `theta` consecutive round trips had a delay below 0.01 d_m. The decrease beta rises
/// linearly from `beta_min` at 0.1 d_m to `beta_max` at 0.8 d_m.
///
/// Below `window_threshold` alpha is 1 and beta is `beta_max`. After a timeout both have these values until the round
/// trip ends.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Liu, Basar, Srikant: TCP-Illinois: A loss- and delay-based congestion control algorithm for \
              high-speed networks, Performance Evaluation 65(6-7), 2008"
)]
pub struct Params {
    /// Minimum of alpha, in segments per round trip.
    #[param(default = 0.3, range = 0.01..=10.0)]
    #[param(unit = "segments", source = "Liu et al. 2008, section 4; ns-3.44 TcpIllinois::AlphaMin")]
    pub alpha_min: f64,
    /// Maximum of alpha, in segments per round trip.
    #[param(basic, default = 10.0, range = 1.0..=1000.0)]
    #[param(unit = "segments", source = "Liu et al. 2008, section 4; ns-3.44 TcpIllinois::AlphaMax")]
    pub alpha_max: f64,
    /// Minimum of beta, the fraction of the bytes in flight removed at a congestion event.
    #[param(default = 0.125, range = 0.01..=0.5)]
    #[param(unit = "1", source = "Liu et al. 2008, section 4; ns-3.44 TcpIllinois::BetaMin")]
    pub beta_min: f64,
    /// Maximum of beta.
    #[param(basic, default = 0.5, range = 0.5..=0.9)]
    #[param(unit = "1", source = "Liu et al. 2008, section 4; ns-3.44 TcpIllinois::BetaMax")]
    pub beta_max: f64,
    /// Window below which it behaves as NewReno.
    #[param(default = 15.0, range = 1.0..=10000.0)]
    #[param(
        unit = "segments",
        source = "Liu et al. 2008, section 4 (Wthresh); ns-3.44 TcpIllinois::WinThresh"
    )]
    pub window_threshold: f64,
    /// Number of consecutive round trips with a short delay before alpha returns to its maximum.
    #[param(default = 5, range = 1..=1000)]
    #[param(unit = "1", source = "Liu et al. 2008, section 4; ns-3.44 TcpIllinois::Theta")]
    pub theta: u32,
}

/// Fractions of the maximum queueing delay (Liu et al. 2008, section 4): eta1, eta2 and eta3.
const FASTEST_UP_TO: f64 = 0.01;
const MIN_REDUCTION_UP_TO: f64 = 0.1;
const GREATEST_REDUCTION_FROM: f64 = 0.8;

/// State of Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    params: Params,
    window: Window,
    alpha: f64,
    beta: f64,
    longest: Span,
    /// Sum and number of the RTT samples of this round trip.
    samples: (Span, u64),
    round: u64,
    was_long: bool,
    short_rounds: u32,
}

impl Illinois {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Illinois {
        Illinois {
            window: Window::new(ctx),
            alpha: 1.0,
            beta: params.beta_max,
            params,
            longest: Span(0),
            samples: (Span(0), 0),
            round: 0,
            was_long: false,
            short_rounds: 0,
        }
    }

    fn adapt(&mut self, base: Span) {
        let (sum, count) = std::mem::take(&mut self.samples);
        if self.window.segments() < self.params.window_threshold {
            (self.alpha, self.beta) = (1.0, self.params.beta_max);
        } else if let Some(mean) = sum.0.checked_div(count).map(Span) {
            let da = (mean - base.min(mean)).as_secs();
            let dm = (self.longest - base.min(self.longest)).as_secs();
            self.adapt_alpha(da, dm);
            self.adapt_beta(da, dm);
        }
    }

    fn adapt_alpha(&mut self, da: f64, dm: f64) {
        let Params { alpha_min, alpha_max, theta, .. } = self.params;
        let d1 = FASTEST_UP_TO * dm;
        if da > d1 {
            (self.was_long, self.short_rounds) = (true, 0);
            let k1 = (dm - d1) * alpha_min * alpha_max / (alpha_max - alpha_min);
            let k2 = (dm - d1) * alpha_min / (alpha_max - alpha_min) - d1;
            self.alpha = k1 / (k2 + da);
            return;
        }
        self.short_rounds += 1;
        if !self.was_long || self.short_rounds >= theta {
            (self.was_long, self.short_rounds) = (false, 0);
            self.alpha = alpha_max;
        }
    }

    fn adapt_beta(&mut self, da: f64, dm: f64) {
        let Params { beta_min, beta_max, .. } = self.params;
        let (d2, d3) = (MIN_REDUCTION_UP_TO * dm, GREATEST_REDUCTION_FROM * dm);
        self.beta = if da <= d2 {
            beta_min
        } else if da >= d3 {
            beta_max
        } else {
            beta_min + (beta_max - beta_min) * (da - d2) / (d3 - d2)
        };
    }
}

impl CongestionControl for Illinois {
    //= exception illinois-samples
    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.longest = self.longest.max(rtt);
            self.samples = (self.samples.0 + rtt, self.samples.1 + 1);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.round != self.round {
            self.round = ack.round;
            self.adapt(ack.min_rtt.unwrap_or_default());
        }
        let acked = self.window.count(ack.acked);
        if self.window.in_slow_start() {
            self.window.slow_start(acked.min(1.0));
        } else {
            self.window.add(acked * self.alpha / self.window.segments());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event, (1.0 - self.beta) * self.window.count(event.in_flight));
        if event.signal.is_timeout() {
            (self.alpha, self.beta) = (1.0, self.params.beta_max);
            (self.was_long, self.short_rounds) = (false, 0);
            self.samples = (Span(0), 0);
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

    /// Runs a round trip of `rtt_ms` on a path of 100 ms whose maximum queueing delay was 100 ms.
    fn after(illinois: &mut Illinois, round: u64, rtt_ms: u64) {
        illinois.longest = Span::from_millis(200);
        illinois.samples = (Span::from_millis(rtt_ms), 1);
        illinois.on_ack(&Ack { round, min_rtt: Some(Span::from_millis(100)), ..ack(0) });
    }

    #[test]
    fn delay_sets_alpha_and_beta() {
        let mut illinois = Illinois::new(Params::default(), &ctx(1000, 20));
        // (delay in ms, alpha, beta): the ends, and 45 ms: 30.619 / (2.062 + 45), 0.125 + 0.375 x 35 / 70
        for (round, (delay, alpha, beta)) in
            [(1, 10.0, 0.125), (100, 0.3, 0.5), (45, 0.6506, 0.3125)].into_iter().enumerate()
        {
            after(&mut illinois, round as u64 + 1, 100 + delay);
            assert!((illinois.alpha - alpha).abs() < 1e-3, "alpha({delay} ms) = {}", illinois.alpha);
            assert!((illinois.beta - beta).abs() < 1e-9, "beta({delay} ms) = {}", illinois.beta);
        }
        illinois.on_congestion(&congestion(Signal::Loss, 20_000));
        // 20 (1 - 0.3125)
        assert_eq!(illinois.cwnd(), Bytes(13_750));
    }

    #[test]
    fn alpha_max_returns_after_theta_round_trips_of_short_delay() {
        let mut illinois = Illinois::new(Params::default(), &ctx(1000, 20));
        after(&mut illinois, 1, 200);
        for round in 2..6 {
            after(&mut illinois, round, 100);
            assert!((illinois.alpha - 0.3).abs() < 1e-9, "round {round}");
        }
        after(&mut illinois, 6, 100);
        assert!((illinois.alpha - 10.0).abs() < 1e-9);
    }

    #[test]
    fn small_windows_and_timeouts_behave_as_newreno() {
        let mut illinois = Illinois::new(Params::default(), &ctx(1000, 10));
        after(&mut illinois, 1, 100);
        assert_eq!((illinois.alpha, illinois.beta), (1.0, 0.5));
        let mut illinois = Illinois::new(Params::default(), &ctx(1000, 20));
        after(&mut illinois, 1, 100);
        illinois.on_congestion(&congestion(Signal::Timeout, 20_000));
        assert_eq!((illinois.alpha, illinois.beta, illinois.cwnd()), (1.0, 0.5, Bytes(1000)));
    }
}

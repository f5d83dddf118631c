//! Compound TCP: Reno's window plus a delay-based window.

pub use super::newreno::Growth;
use super::parts::window::Window;
use super::{Ack, Before, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// Compound TCP: Reno's cwnd plus a delay-based window dwnd, which grows while fewer than gamma segments are queued.
///
/// The window is
///
/// ```math
/// W = \mathrm{cwnd} + \mathrm{dwnd}
/// ```
///
/// and each ACK adds 1 / W to cwnd. Once per round trip, with the smoothed RTT, the number of queued segments is
///
/// ```math
/// \mathit{diff} = W \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// ```math
/// \mathrm{dwnd} \leftarrow \begin{cases}
/// \mathrm{dwnd} + \max(\alpha \, W^k - 1, \, 0) & \mathit{diff} < \gamma \\
/// \max(\mathrm{dwnd} - \zeta \cdot \mathit{diff}, \, 0) & \mathit{diff} \ge \gamma
/// \end{cases}
/// ```
///
/// Below `low_window` dwnd does not change. A congestion event halves cwnd and sets
///
/// ```math
/// \mathrm{dwnd} \leftarrow \max(W \, (1 - \beta) - \frac{\mathrm{cwnd}}{2}, \, 0)
/// ```
///
/// At each congestion event gamma is updated, between `gamma_low` and `gamma_high`:
///
/// ```math
/// \gamma \leftarrow (1 - \lambda) \, \gamma + \lambda \cdot \frac{3}{4} \, \mathrm{cwnd} \,
/// (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// A timeout sets dwnd to zero and resets RTTmin and gamma.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-sridharan-tcpm-ctcp-02")]
pub struct Params {
    /// Factor of dwnd's growth (alpha).
    #[param(basic, default = 0.125, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (alpha)")]
    pub alpha: f64,
    /// Fraction of the window removed at a congestion event (beta).
    #[param(basic)]
    #[param(default = 0.5, range = 0.0..=0.99, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (beta)")]
    pub beta: f64,
    /// Exponent of dwnd's growth (k).
    #[param(basic)]
    #[param(default = 0.75, range = 0.0..=1.0, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (k)")]
    pub k: f64,
    /// Decrease of dwnd as a multiple of the queued segments (zeta).
    #[param(default = 1.0, range = 0.0..=10.0, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (zeta)")]
    pub zeta: f64,
    /// Minimum of gamma.
    #[param(default = 5.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (gamma_low)")]
    pub gamma_low: f64,
    /// Initial and maximum gamma, the number of queued segments from which dwnd shrinks.
    #[param(default = 30.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (gamma, gamma_high)")]
    pub gamma_high: f64,
    /// Weight of a new sample in gamma (lambda); 0: gamma is constant.
    #[param(default = 0.8, range = 0.0..=1.0)]
    #[param(unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (lambda)")]
    pub lambda: f64,
    /// Minimum window at which dwnd changes.
    #[param(default = 38.0, range = 1.0..=100_000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3; RFC 3649 §5 (Low_Window)")]
    pub low_window: f64,
    /// Unit in which ACKs are counted for growth of cwnd.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// Target of gamma as a fraction of the queue at a loss.
const AIMED_AT: f64 = 0.75;

/// State of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Params,
    /// Sum of cwnd and dwnd.
    window: Window,
    dwnd: f64,
    gamma: f64,
    /// Queued segments of cwnd alone in the last round trip; cleared by a loss.
    queued_by_cwnd: Option<f64>,
    base: Option<Span>,
    round: u64,
}

impl Compound {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Compound {
        let gamma = params.gamma_high;
        Compound {
            params,
            window: Window::new(ctx),
            dwnd: 0.0,
            gamma,
            queued_by_cwnd: None,
            base: None,
            round: 0,
        }
    }

    fn by_loss(&self) -> f64 {
        self.window.segments() - self.dwnd
    }

    /// Handles the end of a round trip in which the fraction `part` of the window was queued.
    fn adapt(&mut self, part: f64) {
        let Params { alpha, k, zeta, low_window, .. } = self.params;
        let (w, cwnd) = (self.window.segments(), self.by_loss());
        self.queued_by_cwnd = Some(cwnd * part);
        if w < low_window {
            return;
        }
        let diff = w * part;
        self.dwnd = if diff < self.gamma {
            self.dwnd + (alpha * libm::pow(w, k) - 1.0).max(0.0)
        } else {
            (self.dwnd - zeta * diff).max(0.0)
        };
        self.window.set(cwnd + self.dwnd);
        self.dwnd = self.window.segments() - cwnd;
        self.window.end_slow_start();
    }

    fn tune_gamma(&mut self) {
        let Params { gamma_low, gamma_high, lambda, .. } = self.params;
        if let Some(queued) = self.queued_by_cwnd.take() {
            let gamma = (1.0 - lambda) * self.gamma + lambda * AIMED_AT * queued;
            self.gamma = gamma.min(gamma_high).max(gamma_low);
        }
    }
}

impl CongestionControl for Compound {
    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let is_new = ack.round != self.round;
        self.round = ack.round;
        let slow_start = self.window.in_slow_start();
        self.window.grow_as_reno(ack.acked, self.params.growth);
        if let (true, false, Some(rtt), Some(base)) = (is_new, slow_start, ack.srtt, self.base) {
            self.adapt(super::parts::rounds::queued(rtt, base));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let (w, cwnd) = (self.window.segments(), self.by_loss());
        if event.signal.is_timeout() {
            (self.dwnd, self.gamma, self.queued_by_cwnd) = (0.0, self.params.gamma_high, None);
            self.base = None;
            self.window.reduce(event, self.window.count(event.in_flight) / 2.0);
        } else {
            self.tune_gamma();
            self.dwnd = (w * (1.0 - self.params.beta) - cwnd / 2.0).max(0.0);
            self.window.reduce(event, cwnd / 2.0 + self.dwnd);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.dwnd = 0.0;
        self.window.set_cwnd(cwnd);
    }

    fn restart(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.dwnd = 0.0;
        self.window.restart(cwnd, ssthresh);
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

    fn at(round: u64, rtt_ms: u64) -> Ack {
        let rtt = Some(Span::from_millis(rtt_ms));
        Ack { rtt, srtt: rtt, round, ..ack(0) }
    }

    fn cwnd_after(compound: &mut Compound, ack: &Ack) -> u64 {
        compound.on_delivery(ack);
        compound.on_ack(ack);
        compound.cwnd().0
    }

    /// Returns a controller in congestion avoidance with half of 512 segments.
    fn at_256() -> Compound {
        let mut compound = Compound::new(Params::default(), &ctx(1000, 512));
        compound.on_congestion(&congestion(Signal::Loss, 512_000));
        assert_eq!(cwnd_after(&mut compound, &at(0, 80)), 256_000);
        compound
    }

    #[test]
    fn dwnd_grows_with_an_empty_queue_and_shrinks_with_a_long_one() {
        let mut compound = at_256();
        // 256^0.75 / 8 - 1 = 7
        assert_eq!(cwnd_after(&mut compound, &at(1, 80)), 263_000);
        // 263 / 3 segments are queued, more than dwnd
        assert_eq!(cwnd_after(&mut compound, &at(2, 120)), 256_000);
    }

    #[test]
    fn a_loss_halves_both_windows_and_lowers_gamma() {
        let mut compound = at_256();
        cwnd_after(&mut compound, &at(1, 80));
        // 256 (1 - 80 / 82) = 6.24 of cwnd are queued: 0.2 x 30 + 0.8 x 0.75 x 6.24 = 9.75
        cwnd_after(&mut compound, &at(2, 82));
        let (w, dwnd) = (compound.window.segments(), compound.dwnd);
        compound.on_congestion(&congestion(Signal::Loss, 0));
        assert_eq!((compound.window.segments(), compound.dwnd), (w / 2.0, dwnd / 2.0));
        assert!((compound.gamma - 9.746).abs() < 1e-3, "{}", compound.gamma);
    }
}

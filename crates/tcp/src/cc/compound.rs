//! Reno's window and one by delay beside it.

pub use super::newreno::Growth;
use super::parts::window::Window;
use super::{Ack, Before, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span};

/// Compound TCP: a window by loss, as Reno's, and one by delay beside it that fills a fast path quickly.
///
/// The window is W = cwnd + dwnd; cwnd grows by 1 / W for each ACK. Once in a round trip, with the smoothed round-trip
/// time RTT and diff = W (1 - RTTmin / RTT), dwnd grows by max(alpha W^k - 1, 0) if diff < gamma, and shrinks by zeta
/// diff otherwise; below `low_window` it rests. A loss leaves dwnd = max(W (1 - beta) - cwnd / 2, 0) and half of cwnd.
/// gamma follows losses: (1 - lambda) gamma + lambda 3/4 cwnd (1 - RTTmin / RTT), between `gamma_low` and `gamma_high`.
/// A timeout ends dwnd and begins RTTmin and gamma anew.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "draft-sridharan-tcpm-ctcp-02")]
pub struct Params {
    /// Factor of growth by delay.
    #[param(default = 0.125, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (alpha)")]
    pub alpha: f64,
    /// Part of the window that a loss takes.
    #[param(default = 0.5, range = 0.0..=0.99, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (beta)")]
    pub beta: f64,
    /// Exponent of growth by delay.
    #[param(default = 0.75, range = 0.0..=1.0, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (k)")]
    pub k: f64,
    /// Part of the queue by which dwnd shrinks.
    #[param(default = 1.0, range = 0.0..=10.0, unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3 (zeta)")]
    pub zeta: f64,
    /// The least of gamma.
    #[param(default = 5.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (gamma_low)")]
    pub gamma_low: f64,
    /// Gamma to begin with and its greatest: queued segments from which on dwnd shrinks.
    #[param(default = 30.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (gamma, gamma_high)")]
    pub gamma_high: f64,
    /// Part of a new sample in gamma; 0 leaves it as it is.
    #[param(default = 0.8, range = 0.0..=1.0)]
    #[param(unit = "1", source = "draft-sridharan-tcpm-ctcp-02 §3.3 (lambda)")]
    pub lambda: f64,
    /// The window from which on delay counts.
    #[param(default = 38.0, range = 1.0..=100_000.0)]
    #[param(unit = "segments", source = "draft-sridharan-tcpm-ctcp-02 §3; RFC 3649 §5 (Low_Window)")]
    pub low_window: f64,
    /// What cwnd grows with.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// The part of the queue at a loss that gamma aims at.
const AIMED_AT: f64 = 0.75;

/// State of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Params,
    /// cwnd and dwnd together.
    window: Window,
    dwnd: f64,
    gamma: f64,
    /// What of cwnd alone was queued in the last round trip, until a loss.
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

    /// A round trip has ended; `part` of its window was queued.
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

    fn told(compound: &mut Compound, ack: &Ack) -> u64 {
        compound.on_delivery(ack);
        compound.on_ack(ack);
        compound.cwnd().0
    }

    /// Out of slow start, with half of 512 segments.
    fn at_256() -> Compound {
        let mut compound = Compound::new(Params::default(), &ctx(1000, 512));
        compound.on_congestion(&congestion(Signal::Loss, 512_000));
        assert_eq!(told(&mut compound, &at(0, 80)), 256_000);
        compound
    }

    #[test]
    fn an_empty_queue_lets_the_window_by_delay_grow_and_a_long_one_shrinks_it() {
        let mut compound = at_256();
        // 256^0.75 / 8 - 1 = 7
        assert_eq!(told(&mut compound, &at(1, 80)), 263_000);
        // 263 / 3 are queued, more than dwnd
        assert_eq!(told(&mut compound, &at(2, 120)), 256_000);
    }

    #[test]
    fn a_loss_halves_both_windows_and_lowers_gamma() {
        let mut compound = at_256();
        told(&mut compound, &at(1, 80));
        // 256 (1 - 80 / 82) = 6.24 of cwnd are queued: 0.2 x 30 + 0.8 x 0.75 x 6.24 = 9.75
        told(&mut compound, &at(2, 82));
        let (w, dwnd) = (compound.window.segments(), compound.dwnd);
        compound.on_congestion(&congestion(Signal::Loss, 0));
        assert_eq!((compound.window.segments(), compound.dwnd), (w / 2.0, dwnd / 2.0));
        assert!((compound.gamma - 9.746).abs() < 1e-3, "{}", compound.gamma);
    }
}

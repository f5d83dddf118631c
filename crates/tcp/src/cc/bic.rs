//! BIC: binary search for the window of the last loss.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// BIC: binary search towards the window of the last loss, then probing beyond it.
///
/// With Wmax the window at the last loss and B = `search`, the step of the search is
///
/// ```math
/// d = \frac{W_{\max} - \mathrm{cwnd}}{B}
/// ```
///
/// A round trip below Wmax adds
///
/// ```math
/// \begin{cases}
/// \mathrm{max\_increment} & d > \mathrm{max\_increment} \\
/// d & 1 < d \le \mathrm{max\_increment} \\
/// B / \mathrm{smooth} & d \le 1
/// \end{cases}
/// ```
///
/// From Wmax on it adds `B / smooth` for the first B segments, then `(cwnd - Wmax) / (B - 1)` up to
/// `Wmax + max_increment (B - 1)`, and `max_increment` beyond. Below `low_window` a round trip adds one segment. While
/// no loss is known, it adds at least cwnd / 20. A congestion event keeps beta of the bytes in flight, or half of them
/// below `low_window`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Xu, Harfoush, Rhee: Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks, \
              INFOCOM 2004; Linux tcp_bic"
)]
pub struct Params {
    /// Multiplicative decrease: fraction of the bytes in flight kept at a congestion event.
    #[param(basic, default = 0.8, range = 0.1..=0.99)]
    #[param(
        unit = "1",
        source = "Linux tcp_bic beta (819/1024); ns-3.44 TcpBic::Beta; Xu et al. 2004 has 0.875"
    )]
    pub beta: f64,
    /// Fast convergence: a loss below the last Wmax sets Wmax = cwnd (1 + beta) / 2.
    #[param(default = true, unit = "1", source = "Xu et al. 2004, section III.C")]
    pub fast_convergence: bool,
    /// Maximum increment per round trip (Smax).
    #[param(basic, default = 16.0, range = 1.0..=1000.0)]
    #[param(
        unit = "segments",
        source = "Linux tcp_bic max_increment; ns-3.44 TcpBic::MaxIncr; Xu et al. 2004 has 32 (Smax)"
    )]
    pub max_increment: f64,
    /// Window below which it behaves as NewReno.
    #[param(default = 14.0, range = 1.0..=10000.0)]
    #[param(
        unit = "segments",
        source = "Xu et al. 2004, section III.D (low_window); ns-3.44 TcpBic::LowWnd"
    )]
    pub low_window: f64,
    /// Divisor of the binary search (B): a step covers 1/B of the distance to Wmax.
    #[param(default = 4.0, range = 1.1..=100.0)]
    #[param(unit = "1", source = "Linux tcp_bic BICTCP_B; ns-3.44 TcpBic::BinarySearchCoefficient")]
    pub search: f64,
    /// Round trips for the last B segments before Wmax.
    #[param(default = 5.0, range = 0.1..=1000.0)]
    #[param(unit = "1", source = "ns-3.44 TcpBic::SmoothPart; 20 in Linux tcp_bic smooth_part")]
    pub smooth: f64,
}

/// Minimum growth while no loss is known, as a fraction of the acknowledged segments.
const GROWTH_BEFORE_LOSS: f64 = 1.0 / 20.0;

/// State of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    window: Window,
    /// Wmax; `None`: no loss is known.
    max: Option<f64>,
}

impl Bic {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Bic {
        Bic { params, window: Window::new(ctx), max: None }
    }

    /// Returns the segments that a round trip adds at a window of w.
    fn increment(&self, w: f64) -> f64 {
        let Params { max_increment, low_window, search: b, smooth, .. } = self.params;
        if w < low_window {
            return 1.0;
        }
        let above = w - self.max.unwrap_or(0.0);
        if above < 0.0 {
            let step = -above / b;
            if step > 1.0 { step.min(max_increment) } else { b / smooth }
        } else if above < b {
            b / smooth
        } else if above < max_increment * (b - 1.0) {
            above / (b - 1.0)
        } else {
            max_increment
        }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.count(ack.acked);
        if self.window.in_slow_start() {
            self.window.slow_start(acked.min(1.0));
            return;
        }
        let w = self.window.segments();
        let mut part = (self.increment(w) / w).min(1.0);
        if self.max.is_none() && w >= self.params.low_window {
            part = part.max(GROWTH_BEFORE_LOSS);
        }
        self.window.add(acked * part);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let Params { beta, fast_convergence, low_window, .. } = self.params;
        let w = self.window.segments();
        //= exception bic-fast-convergence
        let early = fast_convergence && self.max.is_some_and(|max| w < max);
        self.max = (!event.signal.is_timeout()).then_some(if early { w * (1.0 + beta) / 2.0 } else { w });
        let keep = if w < low_window { 0.5 } else { beta };
        self.window.reduce(event, keep * self.window.count(event.in_flight));
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    #[test]
    fn increment_per_round_trip() {
        let bic = Bic { max: Some(200.0), ..Bic::new(Params::default(), &ctx(1000, 10)) };
        let found = [10.0, 100.0, 160.0, 198.0, 202.0, 230.0, 300.0].map(|w| bic.increment(w));
        // 1; (200 - 100) / 4 > 16; (200 - 160) / 4; 4 / 5; 4 / 5; 30 / 3; 16
        assert_eq!(found, [1.0, 16.0, 10.0, 0.8, 0.8, 10.0, 16.0]);
    }

    #[test]
    fn a_loss_keeps_beta_and_sets_wmax() {
        let mut bic = Bic::new(Params::default(), &ctx(1000, 100));
        bic.on_congestion(&congestion(Signal::Loss, 100_000));
        assert_eq!(bic.cwnd(), Bytes(80_000));
        // (100 - 80) / 4 per window of ACKs
        bic.on_ack(&ack(80_000));
        assert_eq!(bic.cwnd(), Bytes(85_000));
        bic.on_congestion(&congestion(Signal::Loss, 85_000));
        // 85 (1 + 0.8) / 2
        assert!((bic.max.unwrap() - 76.5).abs() < 1e-9);
    }
}

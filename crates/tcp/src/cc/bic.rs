//! A binary search for the window of the last loss.

use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// BIC: a binary search for the window of the last loss, and away from it as it came.
///
/// A round trip adds, with Wmax the window of the last loss and d = (Wmax - cwnd) / B: `max_increment` if d is more
/// than that, d down to one segment, then B / `smooth`. From Wmax on it is B / `smooth` for the next B segments,
/// (cwnd - Wmax) / (B - 1) up to Wmax + `max_increment` (B - 1), and `max_increment` above; 1 below `low_window`,
/// and at least cwnd / 20 while no loss is known. A loss keeps beta of the flight, half of it below `low_window`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Xu, Harfoush and Rhee, INFOCOM 2004; Linux tcp_bic")]
pub struct Params {
    /// Part of the flight that is kept at a loss.
    #[param(default = 0.8, range = 0.1..=0.99)]
    #[param(
        unit = "1",
        source = "Linux tcp_bic beta (819/1024); ns-3.44 TcpBic::Beta; Xu et al. 2004 has 0.875"
    )]
    pub beta: f64,
    /// Aim below the last maximum if the loss came before it.
    #[param(default = true, unit = "1", source = "Xu et al. 2004, section III.C")]
    pub fast_convergence: bool,
    /// The most that a round trip adds.
    #[param(default = 16.0, range = 1.0..=1000.0)]
    #[param(
        unit = "segments",
        source = "Linux tcp_bic max_increment; ns-3.44 TcpBic::MaxIncr; Xu et al. 2004 has 32 (Smax)"
    )]
    pub max_increment: f64,
    /// The window below which it is NewReno.
    #[param(default = 14.0, range = 1.0..=10000.0)]
    #[param(
        unit = "segments",
        source = "Xu et al. 2004, section III.D (low_window); ns-3.44 TcpBic::LowWnd"
    )]
    pub low_window: f64,
    /// How far a step of the search goes: 1/B of the rest.
    #[param(default = 4.0, range = 1.1..=100.0)]
    #[param(unit = "1", source = "Linux tcp_bic BICTCP_B; ns-3.44 TcpBic::BinarySearchCoefficient")]
    pub search: f64,
    /// Round trips for the last B segments before the maximum.
    #[param(default = 5.0, range = 0.1..=1000.0)]
    #[param(unit = "1", source = "ns-3.44 TcpBic::SmoothPart; 20 in Linux tcp_bic smooth_part")]
    pub smooth: f64,
}

/// The least growth while no loss is known, as part of the acknowledged segments.
const GROWTH_BEFORE_LOSS: f64 = 1.0 / 20.0;

/// The state of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    window: Window,
    /// Wmax, unless no loss is known.
    max: Option<f64>,
}

impl Bic {
    /// A controller at the beginning of a connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Bic {
        Bic { params, window: Window::new(ctx), max: None }
    }

    /// Segments that a round trip adds at a window of w.
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
    fn a_round_trip_adds_what_the_search_says() {
        let bic = Bic { max: Some(200.0), ..Bic::new(Params::default(), &ctx(1000, 10)) };
        let found = [10.0, 100.0, 160.0, 198.0, 202.0, 230.0, 300.0].map(|w| bic.increment(w));
        // 1; (200 - 100) / 4 > 16; (200 - 160) / 4; 4 / 5; 4 / 5; 30 / 3; 16
        assert_eq!(found, [1.0, 16.0, 10.0, 0.8, 0.8, 10.0, 16.0]);
    }

    #[test]
    fn a_loss_keeps_four_fifths_and_its_window_as_the_aim() {
        let mut bic = Bic::new(Params::default(), &ctx(1000, 100));
        bic.on_congestion(&congestion(Signal::Loss, 100_000));
        assert_eq!(bic.cwnd(), Bytes(80_000));
        // (100 - 80) / 4 for a window of ACKs
        bic.on_ack(&ack(80_000));
        assert_eq!(bic.cwnd(), Bytes(85_000));
        bic.on_congestion(&congestion(Signal::Loss, 85_000));
        // 85 (1 + 0.8) / 2
        assert!((bic.max.unwrap() - 76.5).abs() < 1e-9);
    }
}

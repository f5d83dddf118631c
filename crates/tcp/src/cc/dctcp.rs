//! DCTCP: reduction in proportion to the fraction of marked bytes.

pub use super::newreno::Growth;
use super::parts::marking::Marking;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext, Signal};
use crate::stack::Ecn;
use airwnd_catalog::Params;

/// DCTCP: NewReno that reduces cwnd in proportion to the fraction of CE-marked bytes.
///
/// Once per window of data, with M the fraction of acknowledged bytes that were CE-marked,
///
/// ```math
/// \alpha \leftarrow (1 - g) \, \alpha + g \, M
/// ```
///
/// starting at alpha = 1. Marks reduce the window at most once per window of data:
///
/// ```math
/// \mathrm{cwnd} \leftarrow \mathrm{cwnd} \, (1 - \frac{\alpha}{2})
/// ```
///
/// A loss keeps `beta` of the bytes in flight. DCTCP needs `tcp.ecn = "dctcp"`, the default of its flows,
/// or "accurate", and a queue that marks.
/// With the feedback of RFC 3168 it halves cwnd.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 8257")]
pub struct Params {
    /// Weight of a window's marked fraction in alpha (g).
    #[param(basic, default = 0.0625, range = 0.0001..=1.0, unit = "1", source = "RFC 8257 §3.3 (g), §4.2")]
    pub gain: f64,
    /// Multiplicative decrease: fraction of the bytes in flight kept at a loss.
    #[param(default = 0.5, range = 0.1..=0.99, unit = "1", source = "RFC 8257 §3.5, RFC 5681 §3.1 eq. 4")]
    pub beta: f64,
    /// Unit in which ACKs are counted for window growth.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 8257 §3.4, RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    params: Params,
    window: Window,
    marking: Marking,
    round: u64,
}

impl Dctcp {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Dctcp {
        Dctcp { params, window: Window::new(ctx), marking: Marking::new(), round: 0 }
    }
}

impl CongestionControl for Dctcp {
    fn on_delivery(&mut self, ack: &Ack) {
        self.marking.on_delivery(ack);
        if ack.round != self.round {
            self.round = ack.round;
            self.marking.update(self.params.gain);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.window.grow_as_reno(ack.acked, self.params.growth);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let kept = match event.signal {
            //= RFC 8257 §3.3 step 9
            Signal::Ecn => self.window.segments() * (1.0 - self.marking.alpha() / 2.0),
            _ => self.params.beta * self.window.count(event.in_flight),
        };
        self.window.reduce(event, kept);
    }

    keeps_window!(window);

    //= RFC 8257 §3.2
    fn needed_ecn(&self) -> Option<Ecn> {
        Some(Ecn::Dctcp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    #[test]
    fn marks_reduce_cwnd_by_half_of_alpha() {
        let mut dctcp = Dctcp::new(Params { gain: 0.5, ..Params::default() }, &ctx(1000, 100));
        dctcp.on_delivery(&Ack { marked: Bytes(200), round: 1, ..ack(1000) });
        // alpha = 0.5 + 0.5 x 0.2 = 0.6; 100 (1 - 0.3)
        dctcp.on_congestion(&congestion(Signal::Ecn, 50_000));
        assert_eq!((dctcp.cwnd(), dctcp.ssthresh()), (Bytes(70_000), Bytes(70_000)));
        dctcp.on_congestion(&congestion(Signal::Loss, 60_000));
        assert_eq!(dctcp.cwnd(), Bytes(30_000));
    }

    #[test]
    fn alpha_is_updated_once_per_window_of_data() {
        let mut dctcp = Dctcp::new(Params::default(), &ctx(1000, 100));
        for segment in 0..10 {
            dctcp.on_delivery(&Ack { marked: Bytes(100), round: segment / 5, ..ack(1000) });
        }
        // one change of round: 15/16 + 0.1/16
        assert!((dctcp.marking.alpha() - 0.94375).abs() < 1e-12);
    }

    #[test]
    fn feedback_without_counts_halves_cwnd() {
        let mut dctcp = Dctcp::new(Params::default(), &ctx(1000, 100));
        for round in 1..100 {
            dctcp.on_delivery(&Ack { round, ..ack(1000) });
        }
        dctcp.on_congestion(&congestion(Signal::Ecn, 100_000));
        assert_eq!(dctcp.cwnd(), Bytes(50_000));
    }
}

//! YeAH: fast mode while the queue is short, slow mode otherwise.

pub use super::newreno::Growth;
use super::parts::rounds::{Rounds, queued};
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::Params;

/// YeAH: grows as Scalable TCP while the estimated queue is short, otherwise as NewReno with precautionary
/// decongestion.
///
/// Once per round trip, with RTT its minimum sample, the queue in segments and the relative queueing delay are
///
/// ```math
/// Q = \mathrm{cwnd} \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// ```math
/// L = \frac{\mathit{RTT} - \mathit{RTT}_{\min}}{\mathit{RTT}_{\min}}
/// ```
///
/// The mode is slow if Q > alpha or L > 1 / phi, and fast otherwise. In slow mode with Q > alpha and cwnd above R, the
/// estimated window of a Reno flow, precautionary decongestion sets cwnd and ssthresh to
///
/// ```math
/// \mathrm{cwnd} \leftarrow \max(\mathrm{cwnd} - \min(\frac{Q}{\gamma}, \, \frac{\mathrm{cwnd}}{2^\epsilon}), \, R)
/// ```
///
/// R starts at cwnd / 2 and grows by one segment in each slow round trip; zeta fast round trips reset it. A congestion
/// event removes `max(Q, FlightSize / 2^delta)`, at most half of the bytes in flight. After rho consecutive slow round
/// trips it removes half of them. It also halves R.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Baiocchi, Castellani, Vacirca: YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007")]
pub struct Params {
    /// Maximum queue in fast mode (alpha, Qmax).
    #[param(basic, default = 80.0, range = 0.0..=100_000.0)]
    #[param(unit = "segments", source = "Linux tcp_yeah TCP_YEAH_ALPHA; ns-3.44 TcpYeah::Alpha")]
    pub alpha: f64,
    /// Divisor of the queue removed by precautionary decongestion: 1/gamma of it is drained.
    #[param(default = 1.0, range = 0.1..=100.0)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_GAMMA; ns-3.44 TcpYeah::Gamma")]
    pub gamma: f64,
    /// Exponent of the minimum reduction at a congestion event: FlightSize / 2^delta.
    #[param(default = 3, range = 1..=20)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_DELTA; ns-3.44 TcpYeah::Delta")]
    pub delta: u32,
    /// Exponent of the maximum precautionary decongestion: cwnd / 2^epsilon.
    #[param(default = 1, range = 0..=20)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_EPSILON; ns-3.44 TcpYeah::Epsilon")]
    pub epsilon: u32,
    /// Divisor of RTTmin that gives the maximum queueing delay in fast mode.
    #[param(basic, default = 8.0, range = 0.1..=1000.0)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_PHY; ns-3.44 TcpYeah::Phy")]
    pub phi: f64,
    /// Consecutive slow round trips that indicate competing Reno flows.
    #[param(default = 16, range = 1..=10_000)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_RHO; ns-3.44 TcpYeah::Rho")]
    pub rho: u32,
    /// Fast round trips after which competition is assumed to have ended.
    #[param(default = 50, range = 1..=10_000)]
    #[param(unit = "1", source = "Linux tcp_yeah TCP_YEAH_ZETA; ns-3.44 TcpYeah::Zeta")]
    pub zeta: u32,
    /// Increase of cwnd per acknowledged segment in fast mode, in segments.
    #[param(default = 0.01, range = 0.0001..=1.0)]
    #[param(unit = "1", source = "Baiocchi et al. 2007, section 2; ns-3.44 TcpYeah::StcpAiFactor")]
    pub increase: f64,
    /// Unit in which ACKs are counted for growth in slow mode.
    #[param(default = Growth::PerAck, unit = "word", source = "RFC 5681 §3.1 eq. 2 and 3")]
    pub growth: Growth,
}

/// Minimum window of a competing Reno flow, in segments.
const MIN: f64 = 2.0;

/// State of YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    params: Params,
    window: Window,
    rounds: Rounds,
    /// Segments in the queue in the last round trip.
    queue: f64,
    /// R, the estimated window of a competing Reno flow.
    reno: f64,
    slow_rounds: u32,
    fast_rounds: u32,
}

impl Yeah {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Yeah {
        Yeah {
            params,
            window: Window::new(ctx),
            rounds: Rounds::default(),
            queue: 0.0,
            reno: MIN,
            slow_rounds: 0,
            fast_rounds: 0,
        }
    }

    /// Handles the end of a round trip in which the fraction `part` of the window was queued.
    fn adapt(&mut self, part: f64) {
        let Params { alpha, gamma, epsilon, phi, zeta, .. } = self.params;
        let w = self.window.segments();
        self.queue = w * part;
        // L = (RTT - base) / base with part = (RTT - base) / RTT
        if self.queue <= alpha && part * phi <= 1.0 - part {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > zeta {
                (self.reno, self.fast_rounds) = (MIN, 0);
            }
            return;
        }
        if self.queue > alpha && w > self.reno {
            let drained = (self.queue / gamma).min(w / f64::from(1_u32 << epsilon));
            self.window.set((w - drained).max(self.reno));
            self.window.set_threshold(self.window.segments());
        }
        self.reno = if self.reno <= MIN { (self.window.segments() / 2.0).max(MIN) } else { self.reno + 1.0 };
        self.slow_rounds += 1;
    }
}

impl CongestionControl for Yeah {
    fn on_delivery(&mut self, ack: &Ack) {
        self.rounds.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.window.in_slow_start() || self.slow_rounds > 0 {
            self.window.grow_as_reno(ack.acked, self.params.growth);
        } else {
            let part = self.params.increase.max(1.0 / self.window.segments());
            self.window.add(self.window.count(ack.acked) * part);
        }
        if let (Some(rtt), Some(base)) = (self.rounds.take(ack), ack.min_rtt) {
            self.adapt(queued(rtt, base));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let flight = self.window.count(event.in_flight);
        let max = (flight / 2.0).max(MIN);
        let taken = if self.slow_rounds < self.params.rho {
            self.queue.max(flight / f64::from(1_u32 << self.params.delta)).min(max)
        } else {
            max
        };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2.0).max(MIN);
        self.rounds.forget();
        self.window.reduce(event, flight - taken);
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
    fn a_long_queue_is_drained() {
        let mut yeah = Yeah::new(Params::default(), &ctx(1000, 400));
        // 400 x 0.4 = 160 > 80 segments, less than half of the window
        yeah.adapt(0.4);
        assert_eq!((yeah.cwnd(), yeah.ssthresh()), (Bytes(240_000), Bytes(240_000)));
        // R = 240 / 2, and one more in the next slow round trip
        assert_eq!(yeah.reno, 120.0);
        yeah.adapt(0.2);
        assert_eq!((yeah.cwnd(), yeah.reno), (Bytes(240_000), 121.0));
    }

    #[test]
    fn a_short_queue_grows_as_scalable_tcp() {
        let mut yeah = Yeah::new(Params::default(), &ctx(1000, 400));
        yeah.on_congestion(&congestion(Signal::Loss, 400_000));
        // an eighth less
        assert_eq!(yeah.cwnd(), Bytes(350_000));
        yeah.on_ack(&ack(100_000));
        assert_eq!(yeah.cwnd(), Bytes(351_000));
        // L = 0.2 / 0.8 > 1/8: slow
        yeah.adapt(0.2);
        let before = yeah.cwnd().0;
        yeah.on_ack(&ack(100_000));
        assert_eq!(yeah.cwnd().0 - before, 2);
    }

    #[test]
    fn a_loss_halves_the_flight_after_rho_slow_rounds() {
        let mut yeah = Yeah::new(Params::default(), &ctx(1000, 100));
        for _ in 0..16 {
            yeah.adapt(0.2);
        }
        yeah.on_congestion(&congestion(Signal::Loss, 100_000));
        assert_eq!(yeah.cwnd(), Bytes(50_000));
    }
}

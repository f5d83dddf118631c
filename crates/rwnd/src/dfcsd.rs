//! Delay-based flow control with service differentiation.

use super::parts::round::{HEADROOM, Round, Rounds};
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, ReceiverContext, RecvView, RwndController, Wants};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// How DFCSD's window gets to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Update {
    /// At once (eq. 13).
    #[word = "direct"]
    Direct,
    /// By at most one segment each round trip (§4.2).
    #[word = "step"]
    Step,
}

/// DFCSD: the window with which so many segments of a connection wait in the network, fewer the more it has received.
///
/// Once per round trip `rwnd = backlog_s * D / (D - d)` (eq. 13), with the round trip D, its least d, and
/// `backlog_s = backlog * exp(-(size - min) / (max - min))` (eq. 12): what this connection has received among those
/// of the same device that receive now, so that the longest keeps 1/e of the backlog that the shortest has. One
/// connection by itself, and equals, have the whole.
///
/// Units. Eq. 13 is `alpha_s * D d / (D - d)`. As in Vegas (eqs 5 to 8) alpha is a rate, segments per second, and
/// alpha * d a backlog, w - x d with the rate x = w / D; so eq. 13 is that backlog times D / (D - d). The paper calls
/// alpha a number of packets elsewhere and gives no value. The parameter is the backlog alpha * d, one for all
/// connections of a device even if their d differ.
///
/// What is set at once settles only where the bandwidth-delay product is not much above the backlog: a window
/// that is one segment too wide is followed by one that is BDP / backlog segments too narrow. Above, the window swings
/// between too little and as much as the congestion window takes; with `update = "step"` it does not.
///
/// Where the paper is silent: before the first round trip `initial` is offered, then never more than four times what
/// a round trip brought, which is what counts without a queue (D = d), and never less than `floor` segments. What was
/// offered is not taken back. With "step" the target is not followed until it is first below what a round trip
/// brought: one segment each round trip from the start would hold back slow start. D is the receiver's mean over
/// the last round trip, from timestamps where they are exchanged, else from the time in which a window arrives.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Dong, Gao, Xie, Tang, Xiong, Vasilakos: Receiver-Side TCP Countermeasure in Cellular Networks, \
              Sensors 19(12):2791, 2019, section 4"
)]
pub struct Params {
    /// Segments that may wait in the network, of the connection that has received the least (alpha * d).
    #[param(default = 4.0, range = 0.1..=10_000.0)]
    #[param(
        unit = "segments",
        source = "not given; DFCSD 2019 §4.1 builds on Vegas, whose beta is 4 in ns-3"
    )]
    pub backlog: f64,
    /// How the window gets to its target.
    #[param(default = Update::Direct, unit = "word", source = "DFCSD 2019 eq. 13; §4.2 for steps")]
    pub update: Update,
    /// What is offered before the first round trip is known.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "not given; Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// The least window that is offered.
    #[param(default = 2, range = 1..=1000)]
    #[param(
        unit = "segments",
        source = "not given; two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)"
    )]
    pub floor: u64,
    /// How long a least round trip is remembered; none: for ever.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "DFCSD 2019 §4.3 (the least ever seen); RFC 6817 §2.5 lets it expire")]
    pub base_history: Option<Span>,
}

/// The state of DFCSD.
#[derive(Clone, Debug)]
pub struct Dfcsd {
    params: Params,
    mss: f64,
    rounds: Rounds,
    /// In bytes.
    window: f64,
    /// Whether the target has been below what came, with steps.
    follows: bool,
}

impl Dfcsd {
    /// A receiver that knows nothing yet.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Dfcsd {
        let rounds = Rounds::new(params.base_history);
        let window = params.initial.0 as f64;
        Dfcsd { params, mss: ctx.mss.0 as f64, rounds, window, follows: false }
    }

    /// Bytes of this connection that may wait in the network.
    fn backlog(&self, view: &RecvView) -> f64 {
        let (least, most) = (view.device.least_received.0, view.device.most_received.0);
        let whole = self.params.backlog * self.mss;
        if most <= least {
            return whole;
        }
        // The device was asked before this segment came.
        let size = view.received.0.clamp(least, most);
        //= DFCSD 2019, eq. 12
        whole * libm::exp(-((size - least) as f64 / (most - least) as f64))
    }

    fn end_round(&mut self, round: Round, view: &RecvView) {
        let Round { bytes: arrived, rtt, least } = round;
        let most = (arrived * HEADROOM) as f64;
        let queueing = (rtt - least).0 as f64;
        //= DFCSD 2019, eq. 13
        let target = (self.backlog(view) * (rtt.0 as f64 / queueing)).min(most);
        if self.params.update == Update::Direct {
            self.window = target;
            return;
        }
        let arrived = arrived as f64;
        //= exception dfcsd-start
        if !self.follows && target >= arrived {
            self.window = most;
            return;
        }
        let from = if self.follows { self.window } else { arrived };
        self.follows = true;
        self.window = from + (target - from).clamp(-self.mss, self.mss);
    }
}

impl RwndController for Dfcsd {
    fn capabilities(&self) -> Capabilities {
        let wants = Wants { connections: true, ..Wants::default() };
        Capabilities { max_window_scale: MAX_SHIFT, wants, ..Capabilities::default() }
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if let Some(round) = self.rounds.add(arrival.now, arrival.new, view.rtt) {
            self.end_round(round, view);
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        //= exception dfcsd-bounds
        view.offer(Bytes(self.window as u64), self.params.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::tests_support::{MSS, arrival, ctx, view};
    use proptest::prelude::*;

    /// Equations 12 and 13 and section 4.2 in the paper's letters, in segments and milliseconds.
    struct Literal {
        alpha_d: f64,
        is_direct: bool,
        floor: f64,
        rwnd: f64,
        d_s: f64,
        last: Option<f64>,
        came: f64,
        was_below: bool,
    }

    impl Literal {
        fn packet(&mut self, now: f64, rtt: f64, size_s: f64, size_min: f64, size_max: f64) -> f64 {
            self.came += 1.0;
            let last = *self.last.get_or_insert(now);
            if now - last >= rtt {
                if rtt < self.d_s {
                    self.d_s = rtt;
                }
                let mut alpha_s = self.alpha_d;
                if size_max > size_min {
                    alpha_s = self.alpha_d * ((size_min - size_s) / (size_max - size_min)).exp();
                }
                let target = if rtt > self.d_s { alpha_s * rtt / (rtt - self.d_s) } else { f64::INFINITY };
                let most = 4.0 * self.came;
                let target = if target > most { most } else { target };
                if self.is_direct {
                    self.rwnd = target;
                } else if !self.was_below {
                    if target < self.came {
                        self.was_below = true;
                        self.rwnd = if self.came - target > 1.0 { self.came - 1.0 } else { target };
                    } else {
                        self.rwnd = most;
                    }
                } else if target > self.rwnd + 1.0 {
                    self.rwnd += 1.0;
                } else if target < self.rwnd - 1.0 {
                    self.rwnd -= 1.0;
                } else {
                    self.rwnd = target;
                }
                self.came = 0.0;
                self.last = Some(now);
            }
            if self.rwnd < self.floor { self.floor } else { self.rwnd }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_literal_transcription(
            (backlog, is_direct, floor, initial) in (0.1..40.0_f64, any::<bool>(), 1..6_u64, 2..100_u64),
            (shortest, beyond) in (0..300_u64, 0..3000_u64),
            steps in prop::collection::vec((0..12_u64, 5..300_u64), 1..600),
        ) {
            let update = if is_direct { Update::Direct } else { Update::Step };
            let params = Params { backlog, update, floor, initial: Bytes(initial * MSS), ..Params::default() };
            let mut dfcsd = Dfcsd::new(params, &ctx());
            let mut literal = Literal {
                alpha_d: backlog,
                is_direct,
                floor: floor as f64,
                rwnd: initial as f64,
                d_s: f64::INFINITY,
                last: None,
                came: 0.0,
                was_below: false,
            };
            let mut now = 0;
            for (received, (gap, rtt)) in (1..).zip(steps) {
                now += gap;
                let at = Time(now * 1_000_000);
                // Others of the device: one that has received least, one that has received most.
                let (least, most) = (shortest.min(received), (shortest + beyond).max(received));
                let device = Device {
                    connections: 3,
                    least_received: Bytes(least * MSS),
                    most_received: Bytes(most * MSS),
                    link: None,
                };
                let view = RecvView { received: Bytes(received * MSS), device, ..view(Some(Span::from_millis(rtt))) };
                dfcsd.on_segment(&arrival(at, at, MSS), &view);
                let expected =
                    MSS as f64 * literal.packet(now as f64, rtt as f64, received as f64, least as f64, most as f64);
                let Advertisement::Window(window) = dfcsd.window(at, &view) else { panic!("no codes") };
                prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-9 * expected, "{window:?} {expected}");
            }
        }
    }

    /// The backlog in segments after 400 round trips over a link of 1 segment each 5 ms and so long a base round trip,
    /// with round trips as they are when the window of the one before stands in the queue.
    fn settled(params: Params, base_ms: u64) -> f64 {
        let mut dfcsd = Dfcsd::new(params, &ctx());
        let (base, slot) = (Span::from_millis(base_ms), Span::from_millis(5));
        let (mut now, mut window) = (Time::ZERO, 2 * MSS);
        for _ in 0..400 {
            let rtt = Span(slot.0 * window / MSS).max(base);
            let arrived = window / MSS;
            for _ in 0..arrived {
                now += rtt / arrived;
                dfcsd.on_segment(&arrival(now, now, MSS), &view(Some(rtt)));
            }
            now += Span::from_millis(1);
            let Advertisement::Window(offered) = dfcsd.window(now, &view(None)) else { panic!("no codes") };
            window = offered.0.min(window * 2);
        }
        window as f64 / MSS as f64 - base.0 as f64 / slot.0 as f64
    }

    #[test]
    fn a_fixed_point_is_the_backlog_where_the_pipe_is_shorter_than_it() {
        // W - BDP = backlog = 8, BDP = 4.
        let backlog = settled(Params { backlog: 8.0, ..Params::default() }, 20);
        assert!((backlog - 8.0).abs() < 1.0, "{backlog}");
    }

    #[test]
    fn steps_settle_where_the_direct_update_swings() {
        // BDP = 40, ten times the backlog.
        let params = Params { update: Update::Step, ..Params::default() };
        let backlog = settled(params, 200);
        assert!((backlog - 4.0).abs() < 1.0, "{backlog}");
        assert!((settled(Params::default(), 200) - 4.0).abs() > 4.0);
    }

    /// What is offered after a round trip of 40 ms and a least one of 20 ms, by sizes in segments.
    fn offered(size: u64, least: u64, most: u64) -> Bytes {
        let mut dfcsd = Dfcsd::new(Params::default(), &ctx());
        let device = Device {
            connections: 2,
            least_received: Bytes(least * MSS),
            most_received: Bytes(most * MSS),
            link: None,
        };
        for (at, rtt) in [(0, 20), (20, 20), (30, 40), (40, 40), (50, 40), (60, 40)] {
            let rtt = Some(Span::from_millis(rtt));
            let view = RecvView { received: Bytes(size * MSS), device, ..view(rtt) };
            let at = Time(at * 1_000_000);
            dfcsd.on_segment(&arrival(at, at, MSS), &view);
        }
        let Advertisement::Window(window) = dfcsd.window(Time::ZERO, &view(None)) else { panic!("no codes") };
        window
    }

    #[test]
    fn the_longest_connection_has_a_window_e_times_smaller() {
        // 4 * 40 / (40 - 20) = 8 segments
        assert_eq!(offered(10, 10, 1000), Bytes(8 * MSS));
        assert_eq!(offered(500, 500, 500), Bytes(8 * MSS));
        assert_eq!(offered(1000, 10, 1000), Bytes((8000.0 / std::f64::consts::E) as u64));
    }
}

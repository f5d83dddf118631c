//! Delay-based flow control with service differentiation.

use super::parts::base_rtt::BaseRtt;
use super::parts::round::{HEADROOM, Round};
use super::{Advertisement, Arrival, Ctx, RecvView, RwndController, Wants};
use airwnd_catalog::{choice, params};
use airwnd_units::{Bytes, Span, Time};

choice! {
    /// How DFCSD's window gets to its target.
    pub enum Update {
        /// At once (eq. 13).
        Direct = "direct",
        /// By at most one segment each round trip (§4.2).
        Step = "step",
    }
}

params! {
    /// DFCSD: the window with which so many segments of a connection wait in the network, fewer the more it has received.
    ///
    /// Once per round trip `rwnd = backlog_s * D / (D - d)` (eq. 13), with the round trip D, its least d, and
    /// `backlog_s = backlog * exp(-(size - min) / (max - min))` (eq. 12): what this connection has received among those
    /// of the same device that receive now, so that the longest keeps 1/e of the backlog that the shortest has. One
    /// connection by itself, and equals, have the whole.
    ///
    /// Units. The paper's eq. 13 has alpha where its eqs 5 to 8, Vegas's, have alpha * d: a backlog in segments, w - x d,
    /// with a rate x = w / D. That is w = alpha d * D / (D - d). The parameter is this backlog; the paper gives neither.
    ///
    /// What is set at once settles only where the bandwidth-delay product is not much above the backlog: a window that is
    /// e too wide is followed by one that is e * d * rate / backlog too narrow. Where it is, the window swings between too
    /// little and as much as the sender's congestion window takes; `update = "step"` does not.
    ///
    /// Where the paper is silent: before the first round trip `initial` is offered, then never more than four times what
    /// a round trip brought, which is what counts without a queue (D = d), and never less than `floor` segments. What was
    /// offered is not taken back. With "step" the target is not followed until it is first below what a round trip
    /// brought: one segment each round trip from the start would hold back slow start. D is the receiver's mean over
    /// the last round trip, from timestamps where they are exchanged, else from the time in which a window arrives.
    pub struct Params ("Dong, Gao, Xie, Tang, Xiong, Vasilakos: Receiver-Side TCP Countermeasure in Cellular Networks, Sensors 19(12):2791, 2019, section 4") {
        /// Segments that may wait in the network, of the connection that has received the least (alpha * d).
        pub backlog: f64 = 4.0, unit "segments", range 0.1..=10_000.0, source "not given; DFCSD 2019 §4.1 builds on Vegas, whose beta is 4 in ns-3";
        /// How the window gets to its target.
        pub update: Update = Update::Direct, unit "word", source "DFCSD 2019 eq. 13; §4.2 for steps";
        /// What is offered before the first round trip is known.
        pub initial: Bytes = Bytes(64 * 1024), unit "B", range Bytes(1024)..=Bytes(1 << 30), source "not given; Linux tcp_rmem (second value) less its overhead";
        /// The least window that is offered.
        pub floor: u64 = 2, unit "segments", range 1..=1000, source "not given; two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)";
        /// How long a least round trip is remembered; none: for ever.
        pub base_history: Option<Span> = None, unit "time", range Span::from_secs(1)..=Span::from_secs(86_400), source "DFCSD 2019 §4.3 (the least ever seen); RFC 6817 §2.5 lets it expire";
    }
}

/// The state of DFCSD.
#[derive(Clone, Debug)]
pub struct Dfcsd {
    params: Params,
    mss: f64,
    round: Round,
    base: BaseRtt,
    /// In bytes.
    window: f64,
    /// Whether the target has been below what came, with steps.
    follows: bool,
}

impl Dfcsd {
    /// A receiver that knows nothing yet.
    pub fn new(params: Params, ctx: &Ctx) -> Dfcsd {
        let base = BaseRtt::new(params.base_history);
        let window = params.initial.0 as f64;
        Dfcsd { params, mss: ctx.mss.0 as f64, round: Round::default(), base, window, follows: false }
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

    fn end_round(&mut self, arrived: u64, rtt: Span, least: Span, view: &RecvView) {
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
    fn wants(&self) -> Wants {
        Wants { connections: true, ..Wants::default() }
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if let Some((arrived, rtt)) = self.round.add(arrival.now, arrival.new, view.rtt) {
            let least = self.base.update(arrival.now, rtt);
            self.end_round(arrived, rtt, least, view);
        }
    }

    fn window(&mut self, _: Time, view: &RecvView) -> Advertisement {
        //= exception dfcsd-bounds
        let window = Bytes(self.window as u64).max(view.mss * self.params.floor);
        Advertisement::Window(window.min(view.free))
    }
}

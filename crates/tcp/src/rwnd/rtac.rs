//! Receiver-side TCP adaptive queue control: a reconstruction.

use super::parts::base_rtt::BaseRtt;
use super::parts::round::{HEADROOM, Round};
use super::{Advertisement, Arrival, Ctx, RecvView, RwndController};
use airwnd_catalog::params;
use airwnd_engine::Stream;
use airwnd_units::{Bytes, Span, Time};

params! {
    /// RTAC, a reconstruction: Reno's window at the receiver, behind a RED that the receiver imagines.
    ///
    /// **The paper's text was not at hand.** Its abstract and the papers that compare with it say: it runs at the receiver,
    /// joins an AQM to the window growth of loss-based TCP, estimates the delay and the data in flight, assumes the
    /// queue's length, and shares with ordinary TCP. What follows fits that; its equations and numbers are ours, and
    /// what it shows is no evidence about the real RTAC.
    ///
    /// Once per round trip, with F the bytes that it brought: `q = F * (1 - RTTmin / RTT)`, of which `avg` is the
    /// moving average (`weight`). Each data segment is marked with probability p: 0 below `min_th`, rising to
    /// `max_p` at `max_th`, 1 from there on, both thresholds as parts of the assumed `queue`. The first mark in a
    /// round trip halves the window, and F if that is less; a round trip without one adds a segment. Before the first
    /// mark `initial` is offered, then four times what a round trip brought, as in slow start. What was offered is not
    /// taken back: a window shrinks by what arrives.
    pub struct Params ("our reconstruction of Im, Joo, Lee, Bahk: Receiver-Side TCP Countermeasure to Bufferbloat in Wireless Access Networks, IEEE TMC 15(8), 2016") {
        /// The queue that the bottleneck is assumed to have.
        pub queue: u64 = 50, unit "segments", range 1..=1_000_000, source "assumed by RTAC, as ARWA 2019 §2 says; DFCSD 2019 §5: the buffer there";
        /// Average queue from which on segments are marked, as a part of `queue`.
        pub min_th: f64 = 0.2, unit "1", range 0.0..=1.0, source "our reconstruction; experiments/dfcsd-2019/fig6";
        /// Average queue from which on all are.
        pub max_th: f64 = 0.6, unit "1", range 0.0..=1.0, source "our reconstruction; experiments/dfcsd-2019/fig6";
        /// Probability of a mark at the upper threshold.
        pub max_p: f64 = 0.1, unit "1", range 0.0..=1.0, source "our reconstruction; experiments/dfcsd-2019/fig6";
        /// Weight of a round trip's queue in the average.
        pub weight: f64 = 0.25, unit "1", range 0.001..=1.0, source "our reconstruction; experiments/dfcsd-2019/fig6";
        /// What is offered before the first round trip is known.
        pub initial: Bytes = Bytes(64 * 1024), unit "B", range Bytes(1024)..=Bytes(1 << 30), source "our reconstruction; Linux tcp_rmem (second value) less its overhead";
        /// The least window that is offered.
        pub floor: u64 = 2, unit "segments", range 1..=1000, source "two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)";
        /// How long a least round trip is remembered; none: for ever.
        pub base_history: Option<Span> = None, unit "time", range Span::from_secs(1)..=Span::from_secs(86_400), source "as the others (DRWA, DFCSD); RFC 6817 §2.5 lets it expire";
    }
}

/// The state of RTAC.
#[derive(Clone, Debug)]
pub struct Rtac {
    params: Params,
    mss: f64,
    round: Round,
    base: BaseRtt,
    random: Stream,
    /// Bytes that the last round trip brought.
    flight: f64,
    /// The average queue in segments.
    average: Option<f64>,
    probability: f64,
    is_marked: bool,
    /// In bytes.
    window: f64,
    /// Whether there has been a mark.
    is_avoiding: bool,
}

impl Rtac {
    /// A receiver that knows nothing yet.
    pub fn new(params: Params, ctx: &Ctx) -> Rtac {
        Rtac {
            mss: ctx.mss.0 as f64,
            round: Round::default(),
            base: BaseRtt::new(params.base_history),
            random: Stream::new(ctx.seed, "rtac"),
            flight: 0.0,
            average: None,
            probability: 0.0,
            is_marked: false,
            window: params.initial.0 as f64,
            is_avoiding: false,
            params,
        }
    }

    /// Floyd and Jacobson 1993, section 4, without spacing.
    fn mark_probability(&self, average: f64) -> f64 {
        let Params { queue, min_th, max_th, max_p, .. } = self.params;
        let part = average / queue as f64;
        if part >= max_th {
            1.0
        } else if part < min_th {
            0.0
        } else {
            max_p * (part - min_th) / (max_th - min_th)
        }
    }

    fn end_round(&mut self, now: Time, arrived: u64, rtt: Span) {
        let least = self.base.update(now, rtt);
        self.flight = arrived as f64;
        let queue = self.flight / self.mss * (1.0 - least.0 as f64 / rtt.0 as f64);
        let weight = self.params.weight;
        let average = self.average.map_or(queue, |former| former + weight * (queue - former));
        self.average = Some(average);
        self.probability = self.mark_probability(average);
        if !self.is_avoiding {
            self.window = (arrived * HEADROOM) as f64;
        } else if !self.is_marked {
            self.window += self.mss;
        }
        self.is_marked = false;
    }
}

impl RwndController for Rtac {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        if self.probability > 0.0 && !self.is_marked && self.random.uniform() < self.probability {
            self.is_marked = true;
            self.is_avoiding = true;
            self.window = self.window.min(self.flight) / 2.0;
        }
        if let Some((arrived, rtt)) = self.round.add(arrival.now, arrival.new, view.rtt) {
            self.end_round(arrival.now, arrived, rtt);
        }
    }

    fn window(&mut self, _: Time, view: &RecvView) -> Advertisement {
        let window = Bytes(self.window as u64).max(view.mss * self.params.floor);
        Advertisement::Window(window.min(view.free))
    }
}

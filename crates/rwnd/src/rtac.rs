//! Receiver-side TCP adaptive queue control: a reconstruction.

use super::parts::round::{HEADROOM, Round, Rounds};
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

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
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "our reconstruction of Im, Joo, Lee, Bahk: Receiver-Side TCP Countermeasure to Bufferbloat in \
              Wireless Access Networks, IEEE TMC 15(8), 2016",
    check
)]
pub struct Params {
    /// The queue that the bottleneck is assumed to have.
    #[param(default = 50, range = 1..=1_000_000)]
    #[param(
        unit = "segments",
        source = "assumed by RTAC, as ARWA 2019 §2 says; DFCSD 2019 §5: the buffer there"
    )]
    pub queue: u64,
    /// Average queue from which on segments are marked, as a part of `queue`.
    #[param(default = 0.8, range = 0.0..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, so that DFCSD 2019 Table 1 comes out; experiments/dfcsd-2019/fig6"
    )]
    pub min_th: f64,
    /// Average queue from which on all are.
    #[param(default = 1.0, range = 0.0..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, so that DFCSD 2019 Table 1 comes out; experiments/dfcsd-2019/fig6"
    )]
    pub max_th: f64,
    /// Probability of a mark at the upper threshold.
    #[param(default = 0.1, range = 0.0..=1.0)]
    #[param(unit = "1", source = "our reconstruction; ns-2 RED linterm_ = 10")]
    pub max_p: f64,
    /// Weight of a round trip's queue in the average.
    #[param(default = 0.1, range = 0.001..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, so that DFCSD 2019 Table 1 comes out; experiments/dfcsd-2019/fig6"
    )]
    pub weight: f64,
    /// What is offered before the first round trip is known.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "our reconstruction; Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// The least window that is offered.
    #[param(default = 2, range = 1..=1000)]
    #[param(unit = "segments", source = "two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)")]
    pub floor: u64,
    /// How long a least round trip is remembered; none: for ever.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "as the others (DRWA, DFCSD); RFC 6817 §2.5 lets it expire")]
    pub base_history: Option<Span>,
}

impl Params {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.min_th < self.max_th {
            return Ok(());
        }
        Err(("max_th", format!("{} of the queue is not above min_th, {}", self.max_th, self.min_th)))
    }
}

/// The state of RTAC.
#[derive(Clone, Debug)]
pub struct Rtac {
    params: Params,
    mss: f64,
    rounds: Rounds,
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
    pub fn new(params: Params, ctx: &ReceiverContext) -> Rtac {
        Rtac {
            mss: ctx.mss.0 as f64,
            rounds: Rounds::new(params.base_history),
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

    fn end_round(&mut self, round: Round) {
        let Round { bytes: arrived, rtt, least } = round;
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
        let may_mark = self.probability > 0.0 && !self.is_marked;
        // One draw for each segment up to the first mark.
        if may_mark && (0..arrival.segments).any(|_| self.random.uniform() < self.probability) {
            self.is_marked = true;
            self.is_avoiding = true;
            self.window = self.window.min(self.flight) / 2.0;
        }
        if let Some(round) = self.rounds.add(arrival.now, arrival.new, view.rtt) {
            self.end_round(round);
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { max_window_scale: MAX_SHIFT, ..Capabilities::default() }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        view.offer(Bytes(self.window as u64), self.params.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, arrival, ctx, view};
    use proptest::prelude::*;

    /// The docstring's sentences in their order, in segments and seconds.
    struct Literal {
        p: Params,
        draws: Stream,
        round_start: Option<f64>,
        came: f64,
        f: f64,
        avg: Option<f64>,
        prob: f64,
        had_mark_in_round: bool,
        ever_marked: bool,
        rtt_min: f64,
        rwnd: f64,
    }

    impl Literal {
        fn new(p: Params) -> Literal {
            Literal {
                rwnd: p.initial.0 as f64 / MSS as f64,
                p,
                draws: Stream::new(ctx().seed, "rtac"),
                round_start: None,
                came: 0.0,
                f: 0.0,
                avg: None,
                prob: 0.0,
                had_mark_in_round: false,
                ever_marked: false,
                rtt_min: f64::INFINITY,
            }
        }

        fn segment(&mut self, now: f64, rtt: f64) {
            if self.prob > 0.0 && !self.had_mark_in_round {
                let draw = self.draws.uniform();
                if draw < self.prob {
                    self.rwnd = 0.5 * if self.f < self.rwnd { self.f } else { self.rwnd };
                    self.had_mark_in_round = true;
                    self.ever_marked = true;
                }
            }
            self.came += 1.0;
            let start = *self.round_start.get_or_insert(now);
            if now - start < rtt {
                return;
            }
            if rtt < self.rtt_min {
                self.rtt_min = rtt;
            }
            self.f = self.came;
            let q = self.f * (1.0 - self.rtt_min / rtt);
            self.avg = match self.avg {
                None => Some(q),
                Some(avg) => Some((1.0 - self.p.weight) * avg + self.p.weight * q),
            };
            let avg = self.avg.unwrap();
            let (low, high) = (self.p.min_th * self.p.queue as f64, self.p.max_th * self.p.queue as f64);
            self.prob = 0.0;
            if avg >= low {
                self.prob = self.p.max_p * (avg - low) / (high - low);
            }
            if avg >= high {
                self.prob = 1.0;
            }
            if !self.ever_marked {
                self.rwnd = 4.0 * self.came;
            } else if !self.had_mark_in_round {
                self.rwnd += 1.0;
            }
            self.had_mark_in_round = false;
            self.round_start = Some(now);
            self.came = 0.0;
        }
    }

    proptest! {
        /// Times in whole milliseconds, so that both clocks are exact.
        #[test]
        fn agrees_with_a_literal_transcription(
            (queue, min_th, span, max_p) in (5..80_u64, 0.0..0.5_f64, 0.1..0.5_f64, 0.0..1.0_f64),
            (weight, initial) in (0.01..1.0_f64, 2..100_u64),
            steps in prop::collection::vec((0..12_u64, 5..300_u64), 1..600),
        ) {
            let params = Params {
                queue, min_th, max_th: min_th + span, max_p, weight, initial: Bytes(initial * MSS), ..Params::default()
            };
            let mut rtac = Rtac::new(params.clone(), &ctx());
            let mut literal = Literal::new(params);
            let mut now = 0;
            for (gap, rtt) in steps {
                now += gap;
                let at = Time(now * 1_000_000);
                rtac.on_segment(&arrival(at, at, MSS), &view(Some(Span::from_millis(rtt))));
                literal.segment(now as f64, rtt as f64);
                let Advertisement::Window(window) = rtac.window(at, &view(None)) else { panic!("no codes") };
                let expected = literal.rwnd.max(2.0) * MSS as f64;
                prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-9 * expected, "{window:?} {expected}");
            }
        }
    }

    /// A round trip of so many segments.
    fn round(rtac: &mut Rtac, now: &mut Time, segments: u64, rtt_ms: u64) -> Bytes {
        let rtt = Span::from_millis(rtt_ms);
        for _ in 0..segments {
            *now += rtt / segments;
            rtac.on_segment(&arrival(*now, *now, MSS), &view(Some(rtt)));
        }
        let Advertisement::Window(window) = rtac.window(*now, &view(None)) else { panic!("no codes") };
        window
    }

    #[test]
    fn a_full_imagined_queue_halves_and_an_empty_one_adds_a_segment() {
        let params = Params { min_th: 0.2, max_th: 0.6, weight: 1.0, ..Params::default() };
        let mut rtac = Rtac::new(params, &ctx());
        let mut now = Time::ZERO;
        rtac.on_segment(&arrival(now, now, MSS), &view(None));
        round(&mut rtac, &mut now, 10, 20);
        // q = 40 (1 - 20/100) = 32 of 50: above 0.6, so that the next segment is marked: min(W, 40) / 2 = 20.
        assert!(round(&mut rtac, &mut now, 40, 100) > Bytes(40 * MSS));
        assert_eq!(round(&mut rtac, &mut now, 20, 20), Bytes(20 * MSS));
        assert_eq!(round(&mut rtac, &mut now, 20, 20), Bytes(21 * MSS));
    }
}

//! Receiver-side TCP adaptive queue control (RTAC): a reconstruction.

use super::parts::round::{HEADROOM, Round, Rounds};
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};

/// RTAC (reconstruction): AIMD window at the receiver; RED on an estimated queue of assumed size marks segments.
///
/// **The paper's text was not available.** According to its abstract and to the papers that compare with it, RTAC runs
/// at the receiver, combines AQM with the window growth of loss-based TCP, estimates the delay and the data in flight,
/// assumes the queue's length, and shares fairly with ordinary TCP. The following is consistent with these statements.
/// Its equations and numbers are ours, and its results are no evidence about the original RTAC.
///
/// Once per RTT the receiver estimates the queue from F, the bytes received in that RTT:
///
/// ```math
/// q = F \, (1 - \frac{\mathit{RTT}_{\min}}{\mathit{RTT}})
/// ```
///
/// `avg` is the moving average of q with weight `weight`. Each data segment is marked with the probability p of RED,
/// where x is `avg` as a fraction of the assumed `queue`:
///
/// ```math
/// p = \begin{cases}
/// 0 & x < \mathrm{min\_th} \\
/// \mathrm{max\_p} \, \frac{x - \mathrm{min\_th}}{\mathrm{max\_th} - \mathrm{min\_th}} &
/// \mathrm{min\_th} \le x < \mathrm{max\_th} \\
/// 1 & x \ge \mathrm{max\_th}
/// \end{cases}
/// ```
///
/// The first mark in an RTT sets the window to `min(window, F) / 2`. An RTT without a mark adds one segment. Before the
/// first mark the receiver offers `initial`, then four times the bytes of the last RTT, as in slow start. An offered
/// window is not taken back: the right edge stays, and the window shrinks as data arrives.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "reconstruction of Im, Joo, Lee, Bahk: Receiver-Side TCP Countermeasure to Bufferbloat in \
              Wireless Access Networks, IEEE TMC 15(8), 2016",
    check
)]
pub struct Params {
    /// Assumed queue length of the bottleneck.
    #[param(basic, default = 50, range = 1..=1_000_000)]
    #[param(
        unit = "segments",
        source = "assumed by RTAC according to ARWA 2019 §2; DFCSD 2019 §5: the buffer there"
    )]
    pub queue: u64,
    /// Average queue at which marking begins, as a fraction of `queue`.
    #[param(default = 0.8, range = 0.0..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, fitted to DFCSD 2019 Table 1; experiments/dfcsd-2019/fig6"
    )]
    pub min_th: f64,
    /// Average queue at which every segment is marked, as a fraction of `queue`.
    #[param(default = 1.0, range = 0.0..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, fitted to DFCSD 2019 Table 1; experiments/dfcsd-2019/fig6"
    )]
    pub max_th: f64,
    /// Marking probability at `max_th`.
    #[param(default = 0.1, range = 0.0..=1.0)]
    #[param(unit = "1", source = "our reconstruction; ns-2 RED linterm_ = 10")]
    pub max_p: f64,
    /// Weight of the newest queue estimate in the average.
    #[param(default = 0.1, range = 0.001..=1.0)]
    #[param(
        unit = "1",
        source = "our reconstruction, fitted to DFCSD 2019 Table 1; experiments/dfcsd-2019/fig6"
    )]
    pub weight: f64,
    /// Window offered before the first RTT sample.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "our reconstruction; Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// Minimum offered window.
    #[param(default = 2, range = 1..=1000)]
    #[param(unit = "segments", source = "two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)")]
    pub floor: u64,
    /// Time after which an RTTmin sample expires; `none`: never expires.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "as in DRWA and DFCSD; RFC 6817 §2.5: it expires")]
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

/// State of RTAC.
#[derive(Clone, Debug)]
pub struct Rtac {
    params: Params,
    mss: f64,
    rounds: Rounds,
    random: Stream,
    /// Bytes received in the last RTT.
    flight: f64,
    /// Average queue in segments.
    average: Option<f64>,
    probability: f64,
    is_marked: bool,
    /// Window in bytes.
    window: f64,
    /// Whether a segment has been marked.
    is_avoiding: bool,
}

impl Rtac {
    /// Creates the state before the first measurement.
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

    /// Returns the marking probability of RED (Floyd and Jacobson 1993, section 4) without spacing of marks.
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
        let Round { bytes: arrived, rtt, min_rtt, .. } = round;
        self.flight = arrived as f64;
        let queue = self.flight / self.mss * (1.0 - min_rtt.0 as f64 / rtt.0 as f64);
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
        // One draw per segment up to the first mark.
        if may_mark && (0..arrival.segments).any(|_| self.random.uniform() < self.probability) {
            self.is_marked = true;
            self.is_avoiding = true;
            self.window = self.window.min(self.flight) / 2.0;
        }
        if let Some(round) = self.rounds.add(arrival.now, arrival.new, view.rtt) {
            self.end_round(round);
        }
    }

    fn on_path_rtt(&mut self, now: Time, rtt: Span) {
        self.rounds.add_path_rtt(now, rtt);
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

    /// Literal transcription of the documented rules, in segments and milliseconds.
    struct Literal {
        p: Params,
        draws: Stream,
        round_start: Option<f64>,
        arrived_in_rtt: f64,
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
                arrived_in_rtt: 0.0,
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
            self.arrived_in_rtt += 1.0;
            let start = *self.round_start.get_or_insert(now);
            if now - start < rtt {
                return;
            }
            if rtt < self.rtt_min {
                self.rtt_min = rtt;
            }
            self.f = self.arrived_in_rtt;
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
                self.rwnd = 4.0 * self.arrived_in_rtt;
            } else if !self.had_mark_in_round {
                self.rwnd += 1.0;
            }
            self.had_mark_in_round = false;
            self.round_start = Some(now);
            self.arrived_in_rtt = 0.0;
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

    /// Plays one RTT of `segments` segments and returns the window.
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
    fn a_full_estimated_queue_halves_the_window_and_an_empty_one_adds_a_segment() {
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

//! Dynamic receive window adjustment (DRWA).

use super::parts::competition::{Competition, Segment};
use super::parts::downlink::{Downlink, Queue};
use super::parts::round::Rounds;
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, DeviceNeeds, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Tick of most timestamps (Linux), to which RTT samples and one-way delays are known.
const TICK: Span = Span::from_millis(1);

/// Multiple of the delay of the way back for which the window has room with `queue = "downlink"`.
const WAY_BACK: f64 = 2.0;

/// DRWA: rwnd = lambda (RTTmin / RTT) cwnd_est, updated once per RTT; settles at RTT = lambda RTTmin.
///
/// Once per RTT, when data is copied to the application, the receiver estimates the sender's cwnd from the bytes copied
/// in that RTT and sets the window:
///
/// ```math
/// \mathrm{cwnd\_est} \leftarrow \alpha \, \mathrm{cwnd\_est} + (1 - \alpha) \, \mathrm{copied}
/// ```
///
/// ```math
/// \mathrm{rwnd} = \lambda \, \frac{\mathit{RTT}_{\min}}{\mathit{RTT}} \, \mathrm{cwnd\_est}
/// ```
///
/// With `queue = "downlink"`, a variant that is not in the paper, an upload, whose queue delays the ACKs, does not shrink the
/// windows of downloads. `rate_est` is the average of the bytes copied per second, with the same weight, and U the delay
/// that the way back adds: the minimum, over the last two RTTmin, of the RTT in excess of RTTmin and of the excess of the
/// one-way delay; zero up to RTTmin / 2, and without one-way delay:
///
/// ```math
/// \mathrm{rwnd} = \mathrm{rate\_est} \, (\lambda \, \mathit{RTT}_{\min} + 2 U)
/// ```
///
/// Without U the fixed point is the paper's, since a rate times the RTT is the data of an RTT. With U it has a queueing
/// delay of (lambda - 1) RTTmin + U in the downlink. With U alone, a rate that the growth of U has lowered would not grow
/// again where U is much longer than RTTmin; and two-way traffic fills the two queues in turn, so that the window must hold
/// both. As long as there is a queue in the downlink the rate is that of the link, whatever the window is, so that neither
/// RTT nor U feed back on it. A connection that begins while there is a queue has that queue in its minimum one-way delay, and
/// so in each U; it does not count, up to (lambda - 1) RTTmin.
///
/// With `competes` the window is released where the queue is that of others, or of an upload, by the rule of `standing`.
///
/// The fixed point is RTT = lambda RTTmin. RTTmin does not expire, as in the paper: after a change to a longer route,
/// the added delay counts as queueing delay for the rest of the connection, unless `base_history` is set.
///
/// Where the paper is silent: the receiver offers `initial` before the first estimate, and never less than `floor`
/// segments. RTT is the receiver's mean over the last round trip, from timestamps where both ends use them. Without
/// timestamps it is the time in which one window of data arrives; an initial window above the BDP then makes RTTmin the
/// RTT of a full queue. An offered window is not taken back: a whole receive buffer, offered at the start, would stay
/// in effect until that much data has arrived. Without a floor, the formula shrinks the window to zero where the RTT
/// exceeds lambda RTTmin at any window, as in a cell shared by many UEs.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Jiang, Wang, Lee, Rhee: Tackling Bufferbloat in 3G/4G Networks, IMC 2012, section 4")]
pub struct Params {
    /// Target ratio of RTT to RTTmin.
    #[param(basic, default = 3.0, range = 0.1..=100.0, unit = "1", source = "IMC 2012 §4.2")]
    pub lambda: f64,
    /// Weight of the previous estimate in cwnd_est.
    #[param(default = 0.875, range = 0.0..=0.999, unit = "1", source = "IMC 2012 §4.2")]
    pub alpha: f64,
    /// Window offered before the first estimate.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "not in the paper: Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
    /// Minimum offered window; 0: no minimum.
    #[param(default = 2, range = 0..=1000)]
    #[param(
        unit = "segments",
        source = "not in the paper: two segments keep a receiver's ACKs going (RFC 9293 §3.8.6.3)"
    )]
    pub floor: u64,
    /// Time after which an RTTmin sample expires; `none`: never expires.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "IMC 2012 §4.2 (minimum so far); RFC 6817 §2.5: it expires")]
    pub base_history: Option<Span>,
    /// Queue that counts against the target; `none`: `round-trip` as in the paper, and `downlink` in `airwnd guard`.
    #[param(default = None, unit = "word")]
    #[param(source = "IMC 2012 §4.2 (RTT); one-way delay as in LEDBAT (RFC 6817)")]
    pub queue: Option<Queue>,
    /// Whether the sender's own congestion control competes where the queue is that of others; `none`: not, as in the
    /// paper, and `true` in `airwnd guard`.
    #[param(default = None)]
    #[param(unit = "1", source = "Copa (Arun and Balakrishnan, NSDI 2018), section 2.2: competitive mode")]
    pub competes: Option<bool>,
}

/// State of DRWA.
#[derive(Clone, Debug)]
pub struct Drwa {
    params: Params,
    rounds: Rounds,
    downlink: Downlink,
    /// `None`: the control is never released.
    competition: Option<Competition>,
    /// cwnd_est in bytes, or rate_est in bytes per second.
    estimate: Option<f64>,
    window: Option<u64>,
}

impl Drwa {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, _: &ReceiverContext) -> Drwa {
        let rounds = Rounds::new(params.base_history);
        let competition = (params.competes == Some(true)).then(Competition::new);
        Drwa { params, rounds, downlink: Downlink::new(TICK), competition, estimate: None, window: None }
    }

    /// Queueing delay aimed at without an uplink queue.
    fn aim(&self, min_rtt: Span) -> Span {
        Span::from_secs_f64((self.params.lambda - 1.0).max(0.0) * min_rtt.as_secs())
    }

    /// Delay that an uplink queue adds.
    fn way_back(&self, min_rtt: Span) -> Span {
        let back = self.downlink.way_back();
        back - self.downlink.late(self.aim(min_rtt)).min(back)
    }

    /// Looks whether the queue is that of others. `queue`: that of the downlink, if known.
    fn compete(&mut self, arrival: &Arrival, queue: Option<Span>, view: &RecvView) {
        let Some(min_rtt) = self.rounds.min_rtt() else { return };
        let (aim, back) = (self.aim(min_rtt), self.way_back(min_rtt));
        let queue = queue.map(|queue| queue + self.downlink.late(aim));
        let Some(competition) = &mut self.competition else { return };
        let of_both = view.rtt.map_or(Span::ZERO, |rtt| rtt - min_rtt.min(rtt));
        let aim_s = aim.as_secs() + (WAY_BACK - 1.0) * back.as_secs();
        competition.on_segment(&Segment {
            now: arrival.now,
            new: arrival.new,
            rtt: view.rtt,
            base_rtt: min_rtt + back,
            queue: queue.unwrap_or(of_both),
            aim: Span::from_secs_f64(aim_s) + TICK,
            extra: Bytes::ZERO,
            mss: view.mss,
            way_back: back,
            device: &view.device,
            window: Bytes(self.window.unwrap_or(self.params.initial.0)),
            offered: view.offered,
            has_gap: view.early > Bytes::ZERO,
        });
    }
}

impl RwndController for Drwa {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        let min_rtt = self.rounds.min_rtt();
        let is_of_downlink = self.params.queue == Some(Queue::Downlink);
        if let Some(rtt) = view.device.min_rtt.filter(|_| is_of_downlink) {
            self.rounds.add_path_rtt(arrival.now, rtt);
        }
        let delay = arrival.one_way_delay.filter(|_| is_of_downlink);
        let queue = delay.map(|delay| self.downlink.add(arrival.now, delay, arrival.rtt, min_rtt));
        self.compete(arrival, queue, view);
    }

    fn is_released(&self) -> bool {
        self.competition.as_ref().is_some_and(Competition::is_released)
    }

    fn is_beside_others(&self) -> bool {
        self.competition.as_ref().is_some_and(Competition::is_beside_others)
    }

    fn on_copied(&mut self, now: Time, copied: Bytes, view: &RecvView) {
        //= exception drwa-receiver-rtt
        let Some(round) = self.rounds.add(now, copied, view.rtt) else { return };
        let is_of_downlink = self.params.queue == Some(Queue::Downlink);
        let unit_s = if is_of_downlink { round.duration.as_secs() } else { 1.0 };
        let copied = round.bytes as f64 / unit_s;
        let alpha = self.params.alpha;
        let estimate = self.estimate.map_or(copied, |former| alpha * former + (1.0 - alpha) * copied);
        self.estimate = Some(estimate);
        let lambda = self.params.lambda;
        let factor = if is_of_downlink {
            lambda * round.min_rtt.as_secs() + WAY_BACK * self.way_back(round.min_rtt).as_secs()
        } else {
            lambda * (round.min_rtt.0 as f64 / round.rtt.0 as f64)
        };
        self.window = Some((factor * estimate) as u64);
    }

    fn on_path_rtt(&mut self, now: Time, rtt: Span) {
        self.rounds.add_path_rtt(now, rtt);
    }

    fn capabilities(&self) -> Capabilities {
        let uses_one_way_delay = self.params.queue == Some(Queue::Downlink);
        let needs =
            DeviceNeeds { connections: uses_one_way_delay || self.competition.is_some(), link: false };
        Capabilities { uses_one_way_delay, max_window_scale: MAX_SHIFT, needs, ..Capabilities::default() }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let instead = self.competition.as_ref().and_then(|competition| competition.window(view.mss));
        if let Some(window) = instead {
            return view.offer(window, self.params.floor);
        }
        //= exception drwa-floor
        view.offer(self.window.map_or(self.params.initial, Bytes), self.params.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, ctx, view};
    use proptest::prelude::*;

    #[test]
    fn fixed_point_is_lambda_times_rtt_min() {
        // The bottleneck serves 10 segments per 20 ms and the base RTT is 20 ms: RTT = W / B.
        let mut drwa = Drwa::new(Params::default(), &ctx());
        let base = Span::from_millis(20);
        let mut now = Time::ZERO;
        let mut window = 10 * MSS;
        let mut rtt = base;
        drwa.on_copied(now, Bytes::ZERO, &view(Some(rtt)));
        for _ in 0..400 {
            rtt = Span(base.0 * window / (10 * MSS)).max(base);
            now += rtt;
            drwa.on_copied(now, Bytes(window), &view(Some(rtt)));
            let Advertisement::Window(offered) = drwa.window(now, &view(None)) else { panic!("no codes") };
            window = offered.0;
        }
        assert!((rtt.as_millis() - 3.0 * base.as_millis()).abs() < 0.5, "{rtt:?}");
    }

    /// Literal transcription of the paper's steps 1 to 4, in floating-point milliseconds.
    struct Literal {
        lambda: f64,
        alpha: f64,
        rtt_min: f64,
        cwnd_est: f64,
        rwnd: f64,
        last: f64,
        data: f64,
        first: bool,
    }

    impl Literal {
        fn copy(&mut self, now: f64, bytes: f64, rtt_est: f64) {
            self.data += bytes;
            if now - self.last < rtt_est {
                return;
            }
            if self.first {
                self.cwnd_est = self.data;
                self.first = false;
            } else {
                self.cwnd_est = self.alpha * self.cwnd_est + (1.0 - self.alpha) * self.data;
            }
            if rtt_est < self.rtt_min {
                self.rtt_min = rtt_est;
            }
            self.rwnd = self.lambda * (self.rtt_min / rtt_est) * self.cwnd_est;
            self.data = 0.0;
            self.last = now;
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_literal_transcription(
            (lambda, alpha) in (0.5..10.0_f64, 0.0..0.99_f64),
            steps in prop::collection::vec((1..50_u64, 1..20_u64, 5..300_u64), 1..300),
        ) {
            let mut drwa = Drwa::new(Params { lambda, alpha, ..Params::default() }, &ctx());
            let (rtt_min, cwnd_est, rwnd, last, data) = (f64::INFINITY, 0.0, 0.0, 0.0, 0.0);
            let mut literal = Literal { lambda, alpha, rtt_min, cwnd_est, rwnd, last, data, first: true };
            drwa.on_copied(Time::ZERO, Bytes::ZERO, &view(None));
            let mut now = 0;
            for (gap, segments, rtt) in steps {
                now += gap;
                drwa.on_copied(Time(now * 1_000_000), Bytes(segments * MSS), &view(Some(Span::from_millis(rtt))));
                literal.copy(now as f64, (segments * MSS) as f64, rtt as f64);
                let window = drwa.window.unwrap_or(0) as f64;
                prop_assert!((window - literal.rwnd).abs() <= 1.0 + 1e-9 * literal.rwnd, "{} {}", window, literal.rwnd);
            }
        }
    }

    #[test]
    fn a_longer_rtt_min_is_accepted_when_the_history_expires() {
        let window = |base_history| {
            let mut drwa = Drwa::new(Params { alpha: 0.0, base_history, ..Params::default() }, &ctx());
            for second in 0..20 {
                let rtt = Span::from_millis(if second < 2 { 20 } else { 80 });
                drwa.on_copied(Time::ZERO + Span::from_secs(second), Bytes(MSS), &view(Some(rtt)));
            }
            drwa.window
        };
        // 3 * 20/80 and 3 * 80/80 of a segment
        assert_eq!(window(None), Some(750));
        assert_eq!(window(Some(Span::from_secs(5))), Some(3000));
    }
}

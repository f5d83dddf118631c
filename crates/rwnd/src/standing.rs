//! Control of the standing queue from the receiver's own delivery rate and RTT samples.

use super::parts::base_rtt::BaseRtt;
use super::parts::small_windows::{MAX_SHIFT, MIN_SEGMENTS};
use super::{Advertisement, Arrival, Capabilities, DeviceNeeds, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Standing-queue control: rwnd = delivery rate x (RTTmin + target) once per RTT; grows while there is no standing queue.
///
/// A round trip lasts the mean of its RTT samples. At its end the receiver knows the rate at which data arrived, and
/// the standing queue, the delay that was there throughout:
///
/// ```math
/// q = \min_{\text{round}} \mathit{RTT} - \mathit{RTT}_{\min}
/// ```
///
/// The target is a delay plus the time of a few segments at the rate of all n connections of the device, whose shares
/// are taken as equal:
///
/// ```math
/// T = \mathrm{target} + \frac{\mathrm{extra} \cdot \mathrm{MSS}}{n \cdot \mathrm{rate}}
/// ```
///
/// With a standing queue, the rate is the capacity, and the window is that of the path with a queue of T. Without one
/// the rate is only what the window allowed, and the window grows:
///
/// ```math
/// \mathrm{rwnd} \leftarrow \begin{cases} \mathrm{rate} \cdot (\mathit{RTT}_{\min} + T) & q \ge \mathrm{low} \cdot T \\
/// (1 + \mathrm{gain}) \cdot \mathrm{rwnd} & \text{otherwise} \end{cases}
/// ```
///
/// The window doubles per round trip until the first standing queue, and never exceeds `headroom` times the window of
/// the measured rate plus `initial`, so that it stays a limit if the sender or the application limits the rate.
///
/// Stability: on a link of constant capacity C, a window W above C RTTmin has q = W/C - RTTmin. The first case then
/// sets W = C (RTTmin + T) in a single step, whatever W was: a deadbeat response, and q = T afterwards, which is not
/// below low T. If the capacity falls by a factor, the next round trip but one has the window of the new capacity. If
/// it rises, the queue empties and the window grows by `gain` per round trip. n connections with the same RTTmin have the
/// sum of the windows C (RTTmin + T); their shares keep their ratios but for the extra segments, which are equal for all.
/// A connection that starts behind a standing queue takes it for part of RTTmin, and adds its own target.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "airwnd: experiments/frontier; the standing queue as in Copa (Arun, Balakrishnan, NSDI 2018), \
              the window of rate and RTTmin as in BBR (Cardwell et al., ACM Queue 2016)"
)]
pub struct Params {
    /// Queueing delay aimed at, without the extra segments.
    #[param(default = Span::from_millis(10), range = Span::ZERO..=Span::from_secs(10))]
    #[param(
        unit = "time",
        source = "chosen on the development set: 5 ms costs an eighth of the median throughput"
    )]
    pub target: Span,
    /// Additional segments of the queue, for all connections of the device together.
    #[param(default = 2.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "as in the oracle: an ACK waits for the second segment (RFC 1122)")]
    pub extra: f64,
    /// Standing queue below which the window grows, as a share of the target.
    #[param(default = 0.8, range = 0.0..=1.0)]
    #[param(
        unit = "1",
        source = "development set: with 0.5 a cell's jitter counts as a queue, and fast cells lose half"
    )]
    pub low: f64,
    /// Growth of the window per RTT without a standing queue.
    #[param(default = 0.25, range = 0.0..=1.0)]
    #[param(unit = "1", source = "BBR's gain of 1.25 in ProbeBW")]
    pub gain: f64,
    /// Maximum window, as a multiple of the window of the measured rate.
    #[param(default = 2.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "slow start doubles in an RTT")]
    pub headroom: f64,
    /// Window offered before the first RTT has passed, for all connections of the device together.
    #[param(default = 10, range = 2..=10_000)]
    #[param(unit = "segments", source = "initial window of RFC 6928")]
    pub initial: u64,
    /// Time after which an RTTmin sample expires; `none`: never.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd; BBR: 10 s")]
    pub base_history: Option<Span>,
    /// Interval of dips, in which half of the window is offered for one RTT so that the queue empties and RTTmin shows;
    /// a new connection of the device also causes one. `none`: no dips.
    #[param(default = None, range = Span::from_millis(500)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd; BBRv3: 5 s")]
    pub dips: Option<Span>,
}

/// Measurements of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    bytes: u64,
    least_s: f64,
    sum_s: f64,
    samples: u32,
}

impl Round {
    fn new(since: Time) -> Round {
        Round { since, bytes: 0, least_s: f64::INFINITY, sum_s: 0.0, samples: 0 }
    }

    fn add(&mut self, arrival: &Arrival) {
        self.bytes += arrival.new.0;
        if let Some(rtt) = arrival.rtt {
            self.least_s = self.least_s.min(rtt.as_secs());
            self.sum_s += rtt.as_secs();
            self.samples += 1;
        }
    }

    /// Returns the duration, once it is the mean RTT; at least 10 ms, the tick of the coarsest common timestamp clock.
    fn duration_s(&self, now: Time) -> Option<f64> {
        let duration = now.since(self.since).as_secs();
        let is_over = self.samples > 0 && duration >= (self.sum_s / f64::from(self.samples)).max(0.01);
        is_over.then_some(duration)
    }
}

/// State of the control.
#[derive(Clone, Debug)]
pub struct Standing {
    params: Params,
    base: BaseRtt,
    round: Option<Round>,
    /// Delivery rate of the last round trip, in bytes per second.
    rate: f64,
    window: Option<f64>,
    /// Whether there has been no standing queue yet.
    is_starting: bool,
    /// During a dip: the window after it.
    after_dip: Option<f64>,
    last_dip: Time,
    connections: u32,
}

impl Standing {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, _: &ReceiverContext) -> Standing {
        let base = BaseRtt::new(params.base_history);
        Standing {
            params,
            base,
            round: None,
            rate: 0.0,
            window: None,
            is_starting: true,
            after_dip: None,
            last_dip: Time::ZERO,
            connections: 0,
        }
    }

    /// Share of this many segments of the device.
    fn share(view: &RecvView, segments: f64) -> f64 {
        segments * view.mss.0 as f64 / f64::from(view.device.connections.max(1))
    }

    /// Window offered before the first round trip has passed.
    fn initial(&self, view: &RecvView) -> f64 {
        Standing::share(view, self.params.initial as f64)
    }

    /// Returns the window after a round trip with this rate.
    fn next(&mut self, least_s: f64, base_s: f64, rate: f64, view: &RecvView) -> f64 {
        let params = &self.params;
        let extra = Standing::share(view, params.extra);
        let target_s = params.target.as_secs() + extra / rate.max(1.0);
        let of_rate = rate * (base_s + target_s);
        if least_s - base_s >= params.low * target_s {
            self.is_starting = false;
            return of_rate;
        }
        let gain = if self.is_starting { 1.0 } else { params.gain };
        let most = params.headroom * rate.max(self.rate) * (base_s + target_s) + self.initial(view);
        let former = self.window.unwrap_or_else(|| self.initial(view));
        (former * (1.0 + gain)).min(most).max(of_rate)
    }

    /// Returns whether a dip is due.
    fn dips(&mut self, now: Time, connections: u32) -> bool {
        let has_company =
            connections > std::mem::replace(&mut self.connections, connections) && connections > 1;
        let Some(interval) = self.params.dips.filter(|_| !self.is_starting) else { return false };
        let is_due = has_company || now.since(self.last_dip) >= interval;
        if is_due {
            self.last_dip = now;
        }
        is_due
    }
}

impl RwndController for Standing {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        let now = arrival.now;
        if let Some(rtt) = arrival.rtt {
            self.base.update(now, rtt);
        }
        let Some(round) = &mut self.round else {
            let mut first = Round::new(now);
            first.add(arrival);
            // Data before the first interval belongs to no rate.
            first.bytes = 0;
            self.round = Some(first);
            return;
        };
        round.add(arrival);
        let Some(duration_s) = round.duration_s(now) else { return };
        let Some(base) = self.base.get() else { return };
        let round = std::mem::replace(round, Round::new(now));
        let rate = round.bytes as f64 / duration_s;
        let least = Bytes(MIN_SEGMENTS * view.mss.0).0 as f64;
        let window = match self.after_dip.take() {
            Some(window) => window,
            None => {
                let window = self.next(round.least_s, base.as_secs(), rate, view).max(least);
                self.rate = rate;
                if self.dips(now, view.device.connections) {
                    self.after_dip = Some(window);
                    (window / 2.0).max(least)
                } else {
                    window
                }
            }
        };
        self.window = Some(window);
    }

    fn on_path_rtt(&mut self, now: Time, rtt: Span) {
        self.base.update(now, rtt);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_window_scale: MAX_SHIFT,
            needs: DeviceNeeds { connections: true, link: false },
            ..Capabilities::default()
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let window = self.window.unwrap_or_else(|| self.initial(view));
        view.offer(Bytes(window as u64), MIN_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, ctx, view};
    use crate::{Advertisement, Device};

    const BASE: Span = Span::from_millis(40);
    /// Segments that the link carries per millisecond.
    const CAPACITY: f64 = 2.0;

    /// A sender that always uses the window, over a link of constant capacity: an RTT sample and a segment after each
    /// time that the link takes for a segment at the present rate. Returns the window after this time.
    fn over_a_link(
        standing: &mut Standing,
        from: Time,
        ms: u64,
        capacity: f64,
        base: Span,
        connections: u32,
    ) -> f64 {
        let mut view = view(None);
        view.device = Device { connections, ..Device::default() };
        let offered = |standing: &Standing| {
            let Advertisement::Window(window) = standing.window(from, &view) else { panic!("no codes") };
            window.0 as f64
        };
        for step in 1..=ms {
            let window = offered(standing) / MSS as f64;
            let rtt_ms = (window / capacity).max(base.as_millis());
            let bytes = (window / rtt_ms * MSS as f64) as u64;
            let arrival = Arrival {
                now: from + Span::from_millis(step),
                one_way_delay: None,
                segments: 1,
                len: Bytes(bytes),
                new: Bytes(bytes),
                in_order: true,
                rtt: Some(Span((rtt_ms * 1e6) as u64)),
                retransmission: false,
            };
            standing.on_segment(&arrival, &view);
        }
        offered(standing) / MSS as f64
    }

    fn settled(connections: u32) -> (Standing, f64) {
        let mut standing = Standing::new(Params::default(), &ctx());
        let window = over_a_link(&mut standing, Time::ZERO, 4000, CAPACITY, BASE, connections);
        (standing, window)
    }

    #[test]
    fn the_queue_is_the_target_and_the_extra_segments() {
        // 2 segments per ms: 2 * (40 + 10) and 2 more.
        assert!((settled(1).1 - 102.0).abs() < 1.0, "{}", settled(1).1);
        assert!((settled(2).1 - 101.0).abs() < 1.0, "{}", settled(2).1);
    }

    #[test]
    fn the_window_follows_the_capacity_within_round_trips() {
        let (mut standing, _) = settled(1);
        // At a fourth of the capacity the queue's delay is 4 * 50 ms - 40 ms at first.
        let less = over_a_link(&mut standing, Time(4_000_000_000), 600, CAPACITY / 4.0, BASE, 1);
        assert!((less - 27.0).abs() < 1.0, "{less}");
        // Growth by 1.25 in each RTT: a factor of four within seven round trips.
        let more = over_a_link(&mut standing, Time(4_600_000_000), 500, CAPACITY, BASE, 1);
        assert!((more - 102.0).abs() < 1.0, "{more}");
    }

    #[test]
    fn a_longer_route_counts_as_a_queue_until_the_history_expires() {
        let window = |base_history| {
            let mut standing = Standing::new(Params { base_history, ..Params::default() }, &ctx());
            over_a_link(&mut standing, Time::ZERO, 4000, CAPACITY, BASE, 1);
            over_a_link(&mut standing, Time(4_000_000_000), 8000, CAPACITY, BASE + Span::from_millis(100), 1)
        };
        let of_long_route = CAPACITY * 140.0;
        assert!(window(None) < 0.2 * of_long_route, "{}", window(None));
        assert!(window(Some(Span::from_secs(2))) >= 0.9 * of_long_route);
    }

    #[test]
    fn a_dip_halves_the_window_for_one_round_trip() {
        let dips = Some(Span::from_secs(1));
        let mut standing = Standing::new(Params { dips, ..Params::default() }, &ctx());
        let (mut now, mut low_ms) = (Time::ZERO, 0);
        for _ in 0..5000 {
            let window = over_a_link(&mut standing, now, 1, CAPACITY, BASE, 1);
            now += Span::from_millis(1);
            low_ms += u64::from(now > Time(2_000_000_000) && window < 60.0);
        }
        // One RTT of at least 40 ms in each of three seconds.
        assert!((100..=220).contains(&low_ms), "{low_ms}");
    }

    #[test]
    fn a_slow_sender_does_not_open_the_window_without_limit() {
        let mut standing = Standing::new(Params::default(), &ctx());
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            now += Span::from_millis(20);
            let arrival = Arrival {
                now,
                one_way_delay: None,
                segments: 1,
                len: Bytes(MSS),
                new: Bytes(MSS),
                in_order: true,
                rtt: Some(BASE),
                retransmission: false,
            };
            standing.on_segment(&arrival, &view(None));
        }
        // 50 segments per second: 2 * (2 * 0.9 + 2) segments and 10 more.
        assert!(standing.window.unwrap() < 20.0 * MSS as f64, "{:?}", standing.window);
    }
}

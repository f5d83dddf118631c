//! Control of the queueing delay from one-way delay and the device's own delivery rate.

use super::parts::base_rtt::BaseRtt;
use super::parts::small_windows::{MAX_SHIFT, MIN_SEGMENTS};
use super::{Advertisement, Arrival, Capabilities, DeviceNeeds, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Queue control: one window for the device, changed once per RTT by delivery rate x (target - queueing delay).
///
/// At the end of a round trip, which lasts the mean of its RTT samples and at least `round`, the receiver knows the
/// rate at which data of all n connections of the device arrived, and the mean queueing delay of this connection:
///
/// ```math
/// q = \overline{\mathit{OWD}} - \mathit{OWD}_{\min} - \frac{\mathrm{tick}}{2} + \mathit{RTT}_{\min} - \min_n \mathit{RTT}_{\min}
/// ```
///
/// The one-way delay (OWD) is that of the downlink, up to a constant. It contains neither the wait of a delayed ACK nor
/// that for an uplink grant. These are long while windows are small, and in an RTT they look like a queue. Half a tick
/// is the mean error of timestamps. The last two terms are the queue that was there when this connection started, if
/// another connection of the device has seen the path without it; with `base_history` they are not used.
///
/// The target is a delay plus the time of a few segments, and the window W of the device, of which each connection
/// offers an equal share, follows from W', the window of one round trip before, whose data the round trip has measured:
///
/// ```math
/// T = \mathrm{target} + \frac{\mathrm{extra} \cdot \mathrm{MSS}}{\mathrm{rate}}, \quad
/// W \leftarrow \begin{cases} \max(W' - \mathrm{rate} \cdot (q - T),\ \mathrm{floor} \cdot W') & q \ge T \\
/// W' + \max(\mathrm{rate} \cdot (T - q),\ \mathrm{gain} \cdot W') & \text{otherwise} \end{cases}
/// ```
///
/// The window doubles per round trip until the first queue, and never exceeds `headroom` times the data of the mean RTT
/// and T at the measured rate plus `initial`, so that it stays a limit if the sender or the application limits the rate.
///
/// Stability: on a link of constant capacity C, with RTT R without a queue, W' > C R has q = W'/C - R. The first case
/// then sets W = W' - C (W'/C - R - T) = C (R + T) in a single step, unless `floor` makes it several: a deadbeat
/// response with the fixed point q = T. Since W' is the window that caused q, and not the present one, the delay of one
/// RTT in the loop does not make it oscillate. If the capacity falls, W halves per round trip until q is T. If it
/// rises, the queue empties and W grows by `gain` every other round trip. n connections compute W from the same rate;
/// the sum of their shares has the fixed point of one.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "airwnd: experiments/frontier; a window from queueing delay as in FAST TCP (Wei, Jin, Low, \
              Hegde, IEEE/ACM ToN 2006), the one-way delay as in LEDBAT (RFC 6817)"
)]
pub struct Params {
    /// Mean queueing delay aimed at, without the extra segments.
    #[param(default = Span::from_millis(2), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "as in the oracle: one TTI in which ACKs accumulate, one for segments")]
    pub target: Span,
    /// Additional segments of the queue, for all connections of the device together.
    #[param(default = 2.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "as in the oracle: an ACK waits for the second segment (RFC 1122)")]
    pub extra: f64,
    /// Minimum growth of the window with less than the target's delay.
    #[param(default = 0.25, range = 0.0..=1.0)]
    #[param(unit = "1", source = "BBR's gain of 1.25 in ProbeBW")]
    pub gain: f64,
    /// Minimum of the window after a round trip, as a share of the former one.
    #[param(default = 0.5, range = 0.0..=1.0)]
    #[param(unit = "1", source = "the decrease of NewReno (RFC 5681)")]
    pub floor: f64,
    /// Maximum window, as a multiple of the data of an RTT at the measured rate.
    #[param(default = 2.0, range = 1.0..=100.0)]
    #[param(unit = "1", source = "slow start doubles in an RTT")]
    pub headroom: f64,
    /// Window offered before the first RTT has passed, for all connections of the device together.
    #[param(default = 10, range = 2..=10_000)]
    #[param(unit = "segments", source = "initial window of RFC 6928")]
    pub initial: u64,
    /// Minimum duration of the measurements of a round trip.
    #[param(default = Span::from_millis(50), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "development: 50 ms passes as often as 10 ms, with fewer changes")]
    pub round: Span,
    /// Tick of the sender's timestamps, to which the time of transmission is rounded down.
    #[param(default = Span::from_millis(1), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Linux: TSval counts milliseconds")]
    pub tick: Span,
    /// Time after which minima of one-way delay and RTT expire; `none`: never.
    #[param(default = None, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd; BBR: 10 s")]
    pub base_history: Option<Span>,
}

/// Measurements of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    /// Bytes of this connection.
    bytes: u64,
    /// Bytes of the device at the start.
    of_device: u64,
    rtts_s: f64,
    rtts: u32,
    delays_s: f64,
    delays: u32,
}

impl Round {
    fn new(since: Time, view: &RecvView) -> Round {
        let of_device = view.device.received.0;
        Round { since, bytes: 0, of_device, rtts_s: 0.0, rtts: 0, delays_s: 0.0, delays: 0 }
    }

    fn add(&mut self, arrival: &Arrival, delay: Span) {
        self.bytes += arrival.new.0;
        self.delays_s += delay.as_secs();
        self.delays += 1;
        if let Some(rtt) = arrival.rtt {
            self.rtts_s += rtt.as_secs();
            self.rtts += 1;
        }
    }

    /// Returns the delivery rate of the device in bytes per second and the mean RTT in seconds, once that has passed.
    fn end(&self, now: Time, least: Span, view: &RecvView) -> Option<(f64, f64)> {
        let duration = now.since(self.since).as_secs();
        let rtt = self.rtts_s / f64::from(self.rtts);
        // The device's bytes may be older than this connection's.
        let bytes = view.device.received.0.saturating_sub(self.of_device).max(self.bytes);
        (self.rtts > 0 && duration >= rtt.max(least.as_secs())).then(|| (bytes as f64 / duration, rtt))
    }
}

/// State of the control.
#[derive(Clone, Debug)]
pub struct Standing {
    params: Params,
    base_rtt: BaseRtt,
    base_delay: BaseRtt,
    /// Minimum RTT of the path, from other connections.
    path_rtt: Option<Span>,
    round: Option<Round>,
    /// Delivery rate of the last round trip, in bytes per second.
    rate: f64,
    /// Windows of the device: the present one, and the one of the round trip before.
    window: Option<f64>,
    former: Option<f64>,
    /// Whether there has been no queue yet.
    is_starting: bool,
    /// Whether the last arrival had no one-way delay.
    is_blind: bool,
}

impl Standing {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, _: &ReceiverContext) -> Standing {
        let base = BaseRtt::new(params.base_history);
        Standing {
            params,
            base_rtt: base.clone(),
            base_delay: base,
            path_rtt: None,
            round: None,
            rate: 0.0,
            window: None,
            former: None,
            is_starting: true,
            is_blind: false,
        }
    }

    /// Window of the device before the first round trip has passed.
    fn initial(&self, view: &RecvView) -> f64 {
        (view.mss * self.params.initial).0 as f64
    }

    /// Returns the one-way delay from the tick in which a segment was sent.
    fn delay(&self, now: Time, exact: Span) -> Span {
        // The clocks of both ends may differ by any constant.
        let sent = i128::from(now.0) - i128::from(exact.0);
        exact + Span(sent.rem_euclid(i128::from(self.params.tick.0)) as u64)
    }

    /// Returns the mean queueing delay of a round trip in seconds.
    fn queue_s(&self, round: &Round, view: &RecvView) -> f64 {
        let least = |base: &BaseRtt| base.get().unwrap_or(Span::ZERO);
        let own = least(&self.base_rtt);
        let path = [view.device.least_rtt, self.path_rtt].into_iter().flatten().fold(own, Span::min);
        // A path's minimum does not expire, so it says nothing once the own one may have.
        let late = if self.params.base_history.is_none() { (own - path).as_secs() } else { 0.0 };
        let mean = round.delays_s / f64::from(round.delays);
        mean - least(&self.base_delay).as_secs() - self.params.tick.as_secs() / 2.0 + late
    }

    /// Returns the window of the device after a round trip with this queueing delay, rate and RTT.
    fn next(&mut self, queue_s: f64, rate: f64, rtt_s: f64, view: &RecvView) -> f64 {
        let params = &self.params;
        let target_s = params.target.as_secs() + params.extra * view.mss.0 as f64 / rate.max(1.0);
        let present = self.window.unwrap_or_else(|| self.initial(view));
        let former = self.former.replace(present).unwrap_or(present);
        let most = params.headroom * rate.max(self.rate) * (rtt_s + target_s) + self.initial(view);
        let missing = rate * (target_s - queue_s);
        let next = if queue_s >= target_s {
            self.is_starting = false;
            // The sender may not use the whole window.
            (former.min(most) + missing).max(params.floor * former)
        } else if self.is_starting {
            2.0 * present
        } else {
            former + missing.max(params.gain * former)
        };
        next.min(most)
    }
}

impl RwndController for Standing {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        let now = arrival.now;
        self.is_blind = arrival.one_way_delay.is_none();
        let Some(exact) = arrival.one_way_delay else { return };
        let delay = self.delay(now, exact);
        self.base_delay.update(now, delay);
        if let Some(rtt) = arrival.rtt {
            self.base_rtt.update(now, rtt);
        }
        // Data before the first interval belongs to no rate.
        let Some(round) = &mut self.round else {
            self.round = Some(Round::new(now, view));
            return;
        };
        round.add(arrival, delay);
        let Some((rate, rtt_s)) = round.end(now, self.params.round, view) else { return };
        let round = std::mem::replace(round, Round::new(now, view));
        let queue_s = self.queue_s(&round, view);
        let least = (view.mss * MIN_SEGMENTS).0 as f64 * f64::from(view.device.connections.max(1));
        self.window = Some(self.next(queue_s, rate, rtt_s, view).max(least));
        self.rate = rate;
    }

    fn on_path_rtt(&mut self, _: Time, rtt: Span) {
        self.path_rtt = Some(self.path_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            needs_timestamps: true,
            needs_one_way_delay: true,
            max_window_scale: MAX_SHIFT,
            needs: DeviceNeeds { connections: true, link: false },
            ..Capabilities::default()
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        if self.is_blind {
            return Advertisement::Window(view.free);
        }
        let whole = self.window.unwrap_or_else(|| self.initial(view));
        view.offer(Bytes((whole / f64::from(view.device.connections.max(1))) as u64), MIN_SEGMENTS)
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

    /// Connections of a device whose senders always use the window, over a link of constant capacity.
    struct Bench {
        flows: Vec<Standing>,
        received: Bytes,
        now: Time,
    }

    impl Bench {
        fn new(connections: usize, base_history: Option<Span>) -> Bench {
            let params = Params { base_history, ..Params::default() };
            let flows = vec![Standing::new(params, &ctx()); connections];
            Bench { flows, received: Bytes::ZERO, now: Time(1_000_000_000) }
        }

        fn view(&self) -> RecvView {
            let mut view = view(None);
            let connections = self.flows.len() as u32;
            let least_rtt = self.flows.iter().filter_map(|flow| flow.base_rtt.get()).min();
            view.device = Device { connections, received: self.received, least_rtt, ..Device::default() };
            view
        }

        fn windows(&self) -> Vec<f64> {
            let window = |flow: &Standing| match flow.window(self.now, &self.view()) {
                Advertisement::Window(window) => window.0 as f64 / MSS as f64,
                Advertisement::Code { .. } => panic!("no codes"),
            };
            self.flows.iter().map(window).collect()
        }

        /// One arrival at each connection per millisecond. Returns the sum of the windows in segments afterwards.
        fn run(&mut self, ms: u64, capacity: f64, base: Span) -> f64 {
            // Windows whose data arrives now: those of one RTT ago.
            let mut flight = std::collections::VecDeque::new();
            for _ in 0..ms {
                self.now += Span::from_millis(1);
                flight.push_back(self.windows());
                let rtt_of = |windows: &[f64]| (windows.iter().sum::<f64>() / capacity).max(base.as_millis());
                while flight.len() as f64 > rtt_of(&flight[0]) {
                    flight.pop_front();
                }
                let rtt_ms = rtt_of(&flight[0]);
                for (at, window) in flight[0].clone().into_iter().enumerate() {
                    let bytes = Bytes((window / rtt_ms * MSS as f64) as u64);
                    let arrival = Arrival {
                        now: self.now,
                        // The downlink has half of the base RTT and the queue.
                        one_way_delay: Some(Span(((rtt_ms - base.as_millis() / 2.0) * 1e6) as u64)),
                        segments: 1,
                        len: bytes,
                        new: bytes,
                        in_order: true,
                        rtt: Some(Span((rtt_ms * 1e6) as u64)),
                        retransmission: false,
                    };
                    let view = self.view();
                    self.flows[at].on_segment(&arrival, &view);
                    self.received += bytes;
                }
            }
            self.windows().iter().sum()
        }
    }

    #[test]
    fn the_queue_is_the_target_and_the_extra_segments_for_any_number_of_connections() {
        // 2 segments per ms: 2 * (40 + 2) and 2 more; ticks add up to 1 ms.
        for connections in [1, 2, 5] {
            let window = Bench::new(connections, None).run(6000, CAPACITY, BASE);
            assert!((window / 86.0 - 1.0).abs() < 0.05, "{connections}: {window}");
        }
    }

    #[test]
    fn the_window_follows_the_capacity_within_round_trips() {
        let mut bench = Bench::new(1, None);
        bench.run(6000, CAPACITY, BASE);
        // 0.5 * (40 + 2) and 2 more.
        let less = bench.run(2000, CAPACITY / 4.0, BASE);
        assert!((less - 23.0).abs() < 2.0, "{less}");
        // Growth by 1.25 in two round trips: a factor of four within thirteen of 50 ms.
        let more = bench.run(1000, CAPACITY, BASE);
        assert!((more - 86.0).abs() < 3.0, "{more}");
    }

    #[test]
    fn a_late_connection_knows_the_queue_that_it_finds() {
        let mut late = Standing::new(Params::default(), &ctx());
        let queue = Span::from_millis(30);
        late.base_rtt.update(Time::ZERO, BASE + queue);
        late.base_delay.update(Time::ZERO, BASE / 2 + queue);
        let mut view = view(None);
        let mut round = Round::new(Time::ZERO, &view);
        (round.delays_s, round.delays) = ((BASE / 2 + queue).as_secs(), 1);
        assert!(late.queue_s(&round, &view).abs() < 0.001);
        view.device.least_rtt = Some(BASE);
        assert!((late.queue_s(&round, &view) - 0.030).abs() < 0.001);
    }

    #[test]
    fn a_longer_route_counts_as_a_queue_until_the_history_expires() {
        let window = |base_history| {
            let mut bench = Bench::new(1, base_history);
            bench.run(4000, CAPACITY, BASE);
            bench.run(10_000, CAPACITY, BASE + Span::from_millis(100))
        };
        let of_long_route = CAPACITY * 140.0;
        assert!(window(None) < 0.2 * of_long_route, "{}", window(None));
        let expired = window(Some(Span::from_secs(2)));
        assert!(expired >= 0.9 * of_long_route, "{expired}");
    }

    #[test]
    fn a_slow_sender_does_not_open_the_window_without_limit() {
        let mut standing = Standing::new(Params::default(), &ctx());
        let mut now = Time(1_000_000_000);
        for _ in 0..1000 {
            now += Span::from_millis(20);
            let arrival =
                Arrival { rtt: Some(BASE), ..crate::tests_support::arrival(now, now - BASE / 2, MSS) };
            standing.on_segment(&arrival, &view(None));
        }
        // 50 segments per second: 2 * (2 + 2 + 0.1) segments and 10 more.
        let window = standing.window.unwrap() / MSS as f64;
        assert!(window < 20.0, "{window}");
    }

    #[test]
    fn without_one_way_delay_the_window_is_the_free_buffer() {
        let mut standing = Standing::new(Params::default(), &ctx());
        let blind = Arrival { one_way_delay: None, ..crate::tests_support::arrival(Time(9), Time(0), MSS) };
        standing.on_segment(&blind, &view(None));
        assert_eq!(standing.window(Time(9), &view(None)), Advertisement::Window(view(None).free));
    }
}

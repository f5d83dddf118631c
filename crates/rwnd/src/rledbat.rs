//! Less-than-best-effort transport by the receiver (rLEDBAT).

use super::parts::downlink::Queue;
use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, ReceiverContext, RecvView, RwndController};
use crate::ledbat::{Decrease, Ledbat, MIN_SEGMENTS, QueueingDelay, Rules, Sign, Window};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// rLEDBAT: LEDBAT++ at the receiver; reduces rwnd once queueing delay exceeds a target, so that downloads yield.
///
/// The receive window is the minimum of the free buffer, fc.WND, and a window rl.WND that the receiver keeps by the
/// algorithm of `ledbat-plus-plus`, with arriving bytes in place of acknowledged bytes:
///
/// ```math
/// \mathrm{RCV.WND} = \min(\mathrm{fc.WND}, \mathrm{rl.WND})
/// ```
///
/// The queueing delay D is the minimum of the last `current_filter` RTT samples less `base`, the minimum of
/// `base_history` minutes. An RTT sample is the time from a TSval sent on an ACK to the first data that echoes it. The
/// gain is
///
/// ```math
/// G = \frac{1}{\min(\mathrm{slowest}, \mathrm{ceil}(2 \, \mathrm{target} / \mathrm{base}))}
/// ```
///
/// If D <= target, an RTT adds G segments. Otherwise rl.WND, in segments, changes by
///
/// ```math
/// \max(G - \mathrm{constant} \cdot \mathrm{rl.WND} \, (\frac{D}{\mathrm{target}} - 1), \, -\frac{\mathrm{rl.WND}}{2})
/// ```
///
/// A decrease is applied at once, at most one per RTT. A retransmission halves rl.WND, at most once per RTT. The
/// initial slow start, the slowdowns and the minimum window of two segments are those of `ledbat-plus-plus`.
///
/// With `queue = "downlink"`, which RFC 9840 does not have, the one-way delay is filtered in the same way, and D is the
/// lesser of both: an upload, whose queue delays the ACKs, then does not count. LEDBAT (RFC 6817) is defined with one-way
/// delay. Clocks that drift, and a path that changes, can only raise one of the two, or lower D. Without one-way delay D is
/// that of the RTT.
///
/// An offered window is not taken back: a decrease takes effect as data arrives. The window scale is at most 2^11.
/// rl.WND also grows while the sender does not use it, as in the RFC, up to the receive buffer. If a sender pauses
/// between writes, its late response counts as queueing delay.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9840; draft-irtf-iccrg-ledbat-plus-plus-01")]
pub struct Params {
    /// Target queueing delay (T).
    #[param(basic, default = Span::from_millis(60), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9840 §4.2.1 (T); draft-irtf-iccrg-ledbat-plus-plus-01 §4.5")]
    pub target: Span,
    /// Whether the target is the base delay where that is smaller, so that queueing does not more than double the RTT
    /// of short paths.
    #[param(default = false)]
    #[param(unit = "1", source = "github.com/net-research/rledbat_module (RLEDBAT2: min(60 ms, base RTT))")]
    pub within_base: bool,
    /// Reciprocal of the minimum gain.
    #[param(default = 16.0, range = 1.0..=1000.0)]
    #[param(
        unit = "1",
        source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.2; XNU tcp_rledbat.c GAIN_CONSTANT"
    )]
    pub slowest: f64,
    /// Weight of delay beyond the target.
    #[param(default = 1.0, range = 0.0..=100.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.3 (Constant)")]
    pub constant: f64,
    /// Share of the target at which the initial slow start ends.
    #[param(default = 0.75, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.1 (3/4)")]
    pub slow_start_exit: f64,
    /// Time to the next slowdown over the length of the last one; 9 costs at most a tenth of the throughput.
    #[param(default = 9.0, range = 0.0..=1000.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.4")]
    pub interval: f64,
    /// Length of the base delay history.
    #[param(expert, default = 10, range = 1..=1000)]
    #[param(unit = "min", source = "RFC 9840 §4.2.1 (N); RFC 6817 §2.5 (BASE_HISTORY)")]
    pub base_history: u32,
    /// Number of newest samples; their minimum is the current delay.
    #[param(expert, default = 4, range = 1..=1000, unit = "1", source = "RFC 6817 §2.5 (CURRENT_FILTER)")]
    pub current_filter: u32,
    /// Queue that is compared with the target; `none`: `round-trip` as in the RFC, and `downlink` in `airwnd guard`.
    #[param(default = None, unit = "word")]
    #[param(source = "RFC 9840 §4.2 (RTT); RFC 6817 §2.1.2 (one-way delay)")]
    pub queue: Option<Queue>,
}

/// State of rLEDBAT.
#[derive(Clone, Debug)]
pub struct Rledbat {
    ledbat: Ledbat,
    /// Maximum of rl.WND in segments: the receive buffer.
    max_segments: f64,
    /// Time until which further retransmissions are ignored.
    halved_until: Time,
}

impl Rledbat {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Rledbat {
        let Params { target, within_base, slowest, constant, slow_start_exit, interval, .. } = params;
        let decrease = Decrease::Once;
        let rules = Rules { target, within_base, slowest, constant, slow_start_exit, interval, decrease };
        let delay = QueueingDelay::new(params.current_filter, params.base_history);
        let mss = ctx.mss.0 as f64;
        let window = Window::new(ctx.mss, Bytes((MIN_SEGMENTS * mss) as u64), Bytes(u64::MAX));
        let max_segments = (ctx.buffer.0 as f64 / mss).max(MIN_SEGMENTS);
        let one_way = (params.queue == Some(Queue::Downlink)).then(|| delay.clone());
        let ledbat = Ledbat { one_way, ..Ledbat::new(rules, window, delay) };
        Rledbat { ledbat, max_segments, halved_until: Time::ZERO }
    }

    //= RFC 9840 §4.3
    fn on_retransmission(&mut self, now: Time) {
        if now < self.halved_until {
            return;
        }
        let pause = now + self.ledbat.round_trip;
        self.halved_until = pause;
        self.ledbat.spared_until = pause;
        self.ledbat.on_congestion(now, Sign::Loss, self.ledbat.window.cwnd());
    }
}

impl RwndController for Rledbat {
    //= RFC 9840 §4.1.2
    fn capabilities(&self) -> Capabilities {
        let uses_one_way_delay = self.ledbat.one_way.is_some();
        Capabilities {
            needs_timestamps: true,
            uses_one_way_delay,
            max_window_scale: MAX_SHIFT,
            ..Capabilities::default()
        }
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        //= exception rledbat-delay-in-ticks
        if let Some(sample) = arrival.rtt {
            self.ledbat.delay.add(arrival.now, sample);
        }
        if let (Some(filter), Some(delay)) = (&mut self.ledbat.one_way, arrival.one_way_delay) {
            filter.add(arrival.now, delay);
        }
        self.ledbat.round_trip = view.rtt.unwrap_or(self.ledbat.round_trip);
        if arrival.retransmission {
            self.on_retransmission(arrival.now);
            return;
        }
        self.ledbat.on_delivered(arrival.now, arrival.new);
        let window = &mut self.ledbat.window;
        window.set(window.segments().min(self.max_segments));
    }

    //= RFC 9840 §4.1
    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        Advertisement::Window(self.ledbat.window.cwnd().min(view.free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, arrival, ctx, view};

    /// A receiver on a path with a base RTT of 50 ms.
    struct Bench {
        rwnd: Rledbat,
        now: Time,
    }

    impl Bench {
        fn new(params: Params) -> Bench {
            let mut bench = Bench { rwnd: Rledbat::new(params, &ctx()), now: Time(1_000_000_000) };
            bench.deliver(0, 50, 0, false);
            bench
        }

        /// Delivers data `gap_ms` after the last and returns the window in segments.
        fn deliver(&mut self, gap_ms: u64, rtt_ms: u64, segments: u64, retransmission: bool) -> f64 {
            self.now += Span::from_millis(gap_ms);
            let rtt = Some(Span::from_millis(rtt_ms));
            let view = view(rtt);
            let arrival = Arrival { rtt, retransmission, ..arrival(self.now, self.now, segments * MSS) };
            self.rwnd.on_segment(&arrival, &view);
            let Advertisement::Window(window) = RwndController::window(&self.rwnd, self.now, &view) else {
                panic!("no codes")
            };
            window.0 as f64 / MSS as f64
        }

        /// Creates a bench after the initial slow start, with 20 segments and no slowdown due.
        fn steady(params: Params) -> Bench {
            let mut bench = Bench::new(params);
            bench.rwnd.ledbat.window.set(20.0);
            bench.deliver(1, 100, 1, false);
            assert!(!bench.rwnd.ledbat.window.in_slow_start());
            bench.rwnd.ledbat.phase = crate::ledbat::Phase::Steady { slowdown_at: Time(u64::MAX) };
            bench
        }
    }

    fn unfiltered() -> Params {
        Params { current_filter: 1, ..Params::default() }
    }

    #[test]
    fn a_decrease_is_applied_at_once_and_once_per_rtt() {
        let mut bench = Bench::steady(unfiltered());
        // G = 1 / ceil(120 / 50) = 1/3; 1/3 - 20 (75 / 60 - 1) = -4.67 segments
        let lowered = bench.deliver(10, 125, 1, false);
        assert!((lowered - 15.333).abs() < 1e-3, "{lowered}");
        assert_eq!(bench.deliver(124, 125, 1, false), lowered);
        assert!(bench.deliver(1, 125, 1, false) < lowered);
    }

    #[test]
    fn below_the_target_an_rtt_adds_the_gain() {
        let mut bench = Bench::steady(unfiltered());
        assert!((bench.deliver(10, 110, 20, false) - 20.333).abs() < 1e-3);
    }

    #[test]
    fn a_retransmission_halves_once_per_rtt() {
        let mut bench = Bench::steady(unfiltered());
        assert_eq!(bench.deliver(10, 100, 1, true), 10.0);
        assert_eq!(bench.deliver(99, 100, 1, true), 10.0);
        assert_eq!(bench.deliver(1, 100, 1, true), 5.0);
        for _ in 0..10 {
            bench.deliver(100, 100, 1, true);
        }
        assert_eq!(bench.deliver(100, 100, 1, true), 2.0);
    }

    #[test]
    fn the_target_can_be_the_base_delay() {
        // 55 ms of queueing delay exceed the base delay of 50 ms: 1/2 - 20 (55 / 50 - 1)
        let mut bench = Bench::steady(Params { within_base: true, ..unfiltered() });
        assert!((bench.deliver(10, 105, 20, false) - 18.5).abs() < 1e-3);
    }

    #[test]
    fn the_window_never_exceeds_the_buffer() {
        let mut bench = Bench::new(Params::default());
        for _ in 0..100 {
            bench.deliver(50, 50, 1000, false);
        }
        let buffer = ctx().buffer;
        assert_eq!(bench.rwnd.ledbat.window.cwnd(), buffer);
        let free = Bytes(5 * MSS);
        let offered = RwndController::window(&bench.rwnd, bench.now, &RecvView { free, ..view(None) });
        assert_eq!(offered, Advertisement::Window(free));
    }
}

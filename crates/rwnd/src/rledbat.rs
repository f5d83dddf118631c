//! Less than best effort, by the receiver.

use super::parts::small_windows::MAX_SHIFT;
use super::{Advertisement, Arrival, Capabilities, ReceiverContext, RecvView, RwndController};
use crate::ledbat::{Decrease, LEAST, Ledbat, QueueingDelay, Rules, Sign, Window};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// rLEDBAT: the receive window is LEDBAT++'s congestion window, so that a download gives way to other traffic.
///
/// RCV.WND = min(fc.WND, rl.WND): the free buffer, and a window that the receiver keeps by the algorithm of
/// `ledbat-plus-plus`, with what arrives in place of what is acknowledged. D is the least of the last `current_filter`
/// round-trip times less base, the least of `base_history` minutes; a round-trip time is a TSval's way on an
/// ACK to the sender and back on the first data that echoes it. G = 1 / min(16, ceil(2 target / base)). A round trip
/// adds G segments if D <= target; else rl.WND changes by max(G - constant rl.WND (D / target - 1), -rl.WND / 2),
/// a decrease at once and at most one in a round trip. A segment that was sent again halves it, at most once in a round
/// trip. The first slow start, the slowdowns and the least window, two segments, are those of `ledbat-plus-plus`.
///
/// What was offered is not taken back: a decrease takes effect as fast as data arrives. Windows are not scaled by more
/// than 2^11. rl.WND also grows while the sender does not use it up, as in the RFC, up to the receive buffer. A sender
/// that pauses between writes answers late, which counts as a queue.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 9840; draft-irtf-iccrg-ledbat-plus-plus-01")]
pub struct Params {
    /// The queueing delay that it aims at (T).
    #[param(default = Span::from_millis(60), range = Span::from_millis(1)..=Span::from_secs(10))]
    #[param(unit = "time", source = "RFC 9840 §4.2.1 (T); draft-irtf-iccrg-ledbat-plus-plus-01 §4.5")]
    pub target: Span,
    /// Whether it aims at base where that is less, so that short paths are not made twice as long and more.
    #[param(default = false)]
    #[param(unit = "1", source = "github.com/net-research/rledbat_module (RLEDBAT2: min(60 ms, base RTT))")]
    pub within_base: bool,
    /// The least gain is 1 over this.
    #[param(default = 16.0, range = 1.0..=1000.0)]
    #[param(
        unit = "1",
        source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.2; XNU tcp_rledbat.c GAIN_CONSTANT"
    )]
    pub slowest: f64,
    /// How strongly delay beyond the target tells.
    #[param(default = 1.0, range = 0.0..=100.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.3 (Constant)")]
    pub constant: f64,
    /// Part of the target that ends the first slow start.
    #[param(default = 0.75, range = 0.0..=10.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.1 (3/4)")]
    pub slow_start_exit: f64,
    /// How much longer than a slowdown the time to the next one is; 9 costs a tenth of the throughput at most.
    #[param(default = 9.0, range = 0.0..=1000.0)]
    #[param(unit = "1", source = "draft-irtf-iccrg-ledbat-plus-plus-01 §4.4")]
    pub interval: f64,
    /// Minutes that the base delay is remembered.
    #[param(default = 10, range = 1..=1000)]
    #[param(unit = "min", source = "RFC 9840 §4.2.1 (N); RFC 6817 §2.5 (BASE_HISTORY)")]
    pub base_history: u32,
    /// Samples whose least is the current delay.
    #[param(default = 4, range = 1..=1000, unit = "1", source = "RFC 6817 §2.5 (CURRENT_FILTER)")]
    pub current_filter: u32,
}

/// The state of rLEDBAT.
#[derive(Clone, Debug)]
pub struct Rledbat {
    ledbat: Ledbat,
    /// rl.WND cannot mean more, in segments.
    most: f64,
    /// Until when another retransmission tells nothing new.
    halved_until: Time,
}

impl Rledbat {
    /// A receiver that knows nothing yet.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Rledbat {
        let Params { target, within_base, slowest, constant, slow_start_exit, interval, .. } = params;
        let decrease = Decrease::Once;
        let rules = Rules { target, within_base, slowest, constant, slow_start_exit, interval, decrease };
        let delay = QueueingDelay::new(params.current_filter, params.base_history);
        let mss = ctx.mss.0 as f64;
        let window = Window::new(ctx.mss, Bytes((LEAST * mss) as u64), Bytes(u64::MAX));
        let most = (ctx.buffer.0 as f64 / mss).max(LEAST);
        Rledbat { ledbat: Ledbat::new(rules, window, delay), most, halved_until: Time::ZERO }
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
        Capabilities { needs_timestamps: true, max_window_scale: MAX_SHIFT, ..Capabilities::default() }
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        //= exception rledbat-delay-in-ticks
        if let Some(sample) = arrival.rtt {
            self.ledbat.delay.add(arrival.now, sample);
        }
        self.ledbat.round_trip = view.rtt.unwrap_or(self.ledbat.round_trip);
        if arrival.retransmission {
            self.on_retransmission(arrival.now);
            return;
        }
        self.ledbat.on_delivered(arrival.now, arrival.new);
        let window = &mut self.ledbat.window;
        window.set(window.segments().min(self.most));
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

    /// A receiver on a path of 50 ms, as it is told of data each `gap_ms`.
    struct Told {
        rwnd: Rledbat,
        now: Time,
    }

    impl Told {
        fn new(params: Params) -> Told {
            let mut told = Told { rwnd: Rledbat::new(params, &ctx()), now: Time(1_000_000_000) };
            told.hear(0, 50, 0, false);
            told
        }

        /// The window in segments after so many more.
        fn hear(&mut self, gap_ms: u64, rtt_ms: u64, segments: u64, retransmission: bool) -> f64 {
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

        /// After the first slow start, with 20 segments and no slowdown due.
        fn steady(params: Params) -> Told {
            let mut told = Told::new(params);
            told.rwnd.ledbat.window.set(20.0);
            told.hear(1, 100, 1, false);
            assert!(!told.rwnd.ledbat.window.in_slow_start());
            told.rwnd.ledbat.phase = crate::ledbat::Phase::Steady { slowdown_at: Time(u64::MAX) };
            told
        }
    }

    fn unfiltered() -> Params {
        Params { current_filter: 1, ..Params::default() }
    }

    #[test]
    fn a_decrease_comes_at_once_and_once_in_a_round_trip() {
        let mut told = Told::steady(unfiltered());
        // G = 1 / ceil(120 / 50) = 1/3; 1/3 - 20 (75 / 60 - 1) = -4.67 segments
        let lowered = told.hear(10, 125, 1, false);
        assert!((lowered - 15.333).abs() < 1e-3, "{lowered}");
        assert_eq!(told.hear(124, 125, 1, false), lowered);
        assert!(told.hear(1, 125, 1, false) < lowered);
    }

    #[test]
    fn below_the_target_a_round_trip_adds_the_gain() {
        let mut told = Told::steady(unfiltered());
        assert!((told.hear(10, 110, 20, false) - 20.333).abs() < 1e-3);
    }

    #[test]
    fn a_retransmission_halves_once_in_a_round_trip() {
        let mut told = Told::steady(unfiltered());
        assert_eq!(told.hear(10, 100, 1, true), 10.0);
        assert_eq!(told.hear(99, 100, 1, true), 10.0);
        assert_eq!(told.hear(1, 100, 1, true), 5.0);
        for _ in 0..10 {
            told.hear(100, 100, 1, true);
        }
        assert_eq!(told.hear(100, 100, 1, true), 2.0);
    }

    #[test]
    fn the_target_can_be_the_base_delay() {
        // 55 ms of queue are more than the base of 50 ms: 1/2 - 20 (55 / 50 - 1)
        let mut told = Told::steady(Params { within_base: true, ..unfiltered() });
        assert!((told.hear(10, 105, 20, false) - 18.5).abs() < 1e-3);
    }

    #[test]
    fn its_window_is_never_more_than_the_buffer() {
        let mut told = Told::new(Params::default());
        for _ in 0..100 {
            told.hear(50, 50, 1000, false);
        }
        let buffer = ctx().buffer;
        assert_eq!(told.rwnd.ledbat.window.cwnd(), buffer);
        let free = Bytes(5 * MSS);
        let offered = RwndController::window(&told.rwnd, told.now, &RecvView { free, ..view(None) });
        assert_eq!(offered, Advertisement::Window(free));
    }
}

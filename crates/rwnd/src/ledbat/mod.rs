//! The window of LEDBAT++, at the sender or, in RFC 9840, at the receiver.

mod queueing_delay;
mod window;

pub use queueing_delay::QueueingDelay;
pub use window::{LARGEST, Sign, Window};

use airwnd_units::{Bytes, Span, Time};

/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.1, §4.4: initial window, window of a slowdown, and minimum window, in
/// segments.
pub const MIN_SEGMENTS: f64 = 2.0;
/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.4: RTTs from slow start to the first slowdown, and at the minimum window.
const ROUND_TRIPS: u64 = 2;

/// Constants of the algorithm, documented with the parameters of the controllers.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Target queueing delay (T).
    pub target: Span,
    /// Whether the target is the base delay where that is smaller.
    pub within_base: bool,
    /// Reciprocal of the minimum gain.
    pub slowest: f64,
    /// Weight of delay beyond the target.
    pub constant: f64,
    /// Share of the target at which the initial slow start ends.
    pub slow_start_exit: f64,
    /// Time to the next slowdown over the length of the last one.
    pub interval: f64,
    /// How a decrease is applied.
    pub decrease: Decrease,
}

impl Rules {
    fn target(&self, base: Span) -> f64 {
        let target = if self.within_base { self.target.min(base.max(Span(1))) } else { self.target };
        target.as_secs()
    }

    fn gain(&self, base: Span) -> f64 {
        //= draft-irtf-iccrg-ledbat-plus-plus-01 §4.2
        let ratio = 2.0 * self.target(base) / base.max(Span(1)).as_secs();
        1.0 / libm::ceil(ratio).clamp(1.0, self.slowest)
    }
}

/// How the decrease of an RTT is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decrease {
    /// In proportion with each ACK.
    Spread,
    /// At once, then none for an RTT.
    Once,
}

/// Phase of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// Initial slow start.
    Begin,
    /// LEDBAT's rules, until the next slowdown is due.
    Steady {
        /// Time at which the next slowdown is due.
        slowdown_at: Time,
    },
    /// In a slowdown: at the minimum window until `until`, then in slow start.
    Slowdown {
        /// Start of the slowdown.
        began: Time,
        /// Start of slow start.
        until: Time,
    },
}

/// State of LEDBAT++.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// Constants of the algorithm.
    pub rules: Rules,
    /// Congestion window and slow-start threshold.
    pub window: Window,
    /// Measured queueing delay, of the RTT or of one-way delay.
    pub delay: QueueingDelay,
    /// Another measurement of the same queue, by one-way delay. The lesser of both counts; the base RTT is that of `delay`.
    pub one_way: Option<QueueingDelay>,
    /// Current phase.
    pub phase: Phase,
    /// RTT for all waiting times.
    pub round_trip: Span,
    /// Time until which no further decrease is applied at once.
    pub spared_until: Time,
}

impl Ledbat {
    /// Creates the state of a new connection; `window` is the initial window of other algorithms.
    pub fn new(rules: Rules, mut window: Window, delay: QueueingDelay) -> Ledbat {
        window.set(window.segments().min(MIN_SEGMENTS));
        let phase = Phase::Begin;
        let round_trip = Span::ZERO;
        Ledbat { rules, window, delay, one_way: None, phase, round_trip, spared_until: Time::ZERO }
    }

    /// Processes `bytes` newly delivered bytes.
    pub fn on_delivered(&mut self, now: Time, bytes: Bytes) {
        let (Some(base), Some(delay)) = (self.delay.base(), self.delay.get()) else { return };
        let one_way = self.one_way.as_ref().and_then(QueueingDelay::get);
        let delay = one_way.map_or(delay, |one_way| one_way.min(delay));
        let delivered = self.window.count(bytes);
        match self.phase {
            Phase::Begin => self.begin(now, delivered, base, delay),
            Phase::Steady { slowdown_at } if now >= slowdown_at && !self.window.in_slow_start() => {
                self.slow_down(now);
            }
            Phase::Steady { .. } => self.steady(now, delivered, base, delay),
            Phase::Slowdown { until, .. } if now < until => {}
            Phase::Slowdown { began, .. } => {
                self.window.slow_start(delivered);
                if !self.window.in_slow_start() {
                    self.end_slowdown(now, began);
                }
            }
        }
    }

    fn begin(&mut self, now: Time, delivered: f64, base: Span, delay: Span) {
        //= draft-irtf-iccrg-ledbat-plus-plus-01 §4.1
        if delay.as_secs() > self.rules.slow_start_exit * self.rules.target(base) {
            self.window.set_threshold(self.window.segments());
        } else {
            self.window.slow_start(self.rules.gain(base) * delivered);
        }
        if !self.window.in_slow_start() {
            self.phase = Phase::Steady { slowdown_at: now + self.round_trip * ROUND_TRIPS };
        }
    }

    fn steady(&mut self, now: Time, delivered: f64, base: Span, delay: Span) {
        let w = self.window.segments();
        if self.window.in_slow_start() {
            self.window.slow_start(delivered.min(1.0));
            return;
        }
        let gain = self.rules.gain(base);
        let excess = delay.as_secs() / self.rules.target(base) - 1.0;
        //= draft-irtf-iccrg-ledbat-plus-plus-01 §4.3
        // Taken literally, the formula holds at every delay, and an empty queue would double the window per RTT; the
        // draft's text has GAIN below the target.
        let per_rtt =
            if excess <= 0.0 { gain } else { (gain - self.rules.constant * w * excess).max(-w / 2.0) };
        let change = match self.rules.decrease {
            Decrease::Once if per_rtt < 0.0 => self.once_per_rtt(now, per_rtt),
            Decrease::Once | Decrease::Spread => per_rtt * delivered / w,
        };
        self.window.set((w + change).max(MIN_SEGMENTS));
        self.window.end_slow_start();
    }

    /// Returns the decrease, or zero if one was applied less than an RTT ago.
    fn once_per_rtt(&mut self, now: Time, decrease: f64) -> f64 {
        if now < self.spared_until {
            return 0.0;
        }
        self.spared_until = now + self.round_trip;
        decrease
    }

    //= draft-irtf-iccrg-ledbat-plus-plus-01 §4.4
    fn slow_down(&mut self, now: Time) {
        self.window.set_threshold(self.window.segments());
        self.window.set(MIN_SEGMENTS);
        self.phase = Phase::Slowdown { began: now, until: now + self.round_trip * ROUND_TRIPS };
    }

    fn end_slowdown(&mut self, now: Time, began: Time) {
        let wait = self.rules.interval * (now - began).as_secs() * 1e9;
        self.phase = Phase::Steady { slowdown_at: now + Span(wait as u64) };
    }

    /// Halves the bytes in flight at a loss, and restarts after a timeout.
    pub fn on_congestion(&mut self, now: Time, sign: Sign, in_flight: Bytes) {
        self.window.reduce(sign, self.window.count(in_flight) / 2.0);
        match self.phase {
            _ if sign == Sign::RepeatedTimeout => {}
            Phase::Begin => {
                self.phase = Phase::Steady { slowdown_at: now + self.round_trip * ROUND_TRIPS };
            }
            Phase::Slowdown { began, .. } => self.end_slowdown(now, began),
            Phase::Steady { .. } => {}
        }
    }
}

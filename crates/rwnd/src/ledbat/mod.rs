//! The window of LEDBAT++, at the sender or, by RFC 9840, at the receiver.

mod queueing_delay;
mod window;

pub use queueing_delay::QueueingDelay;
pub use window::{LARGEST, Sign, Window};

use airwnd_units::{Bytes, Span, Time};

/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.1, §4.4: the window to begin with, that of a slowdown, and the least one, in
/// segments.
pub const LEAST: f64 = 2.0;
/// draft-irtf-iccrg-ledbat-plus-plus-01 §4.4: round trips from slow start to the first slowdown, and at the least window.
const ROUND_TRIPS: u64 = 2;

/// The constants of the algorithm. What they mean stands with the parameters of those who have them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The queueing delay that it aims at (T).
    pub target: Span,
    /// Whether the base delay is the target where it is less.
    pub within_base: bool,
    /// The least gain is 1 over this.
    pub slowest: f64,
    /// Weight of delay beyond the target.
    pub constant: f64,
    /// Part of the target at which the first slow start ends.
    pub slow_start_exit: f64,
    /// Time to the next slowdown over the length of the last one.
    pub interval: f64,
    /// How decreases are spread.
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

/// How what a round trip takes from the window is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decrease {
    /// By each ACK its part.
    Spread,
    /// At once, and nothing more for a round trip.
    Once,
}

/// The phase of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// The first slow start.
    Begin,
    /// As LEDBAT; the next slowdown is due at the time.
    Steady {
        /// When the next slowdown is due.
        slowdown_at: Time,
    },
    /// In a slowdown, at the least window until the time, then in slow start.
    Slowdown {
        /// When the slowdown began.
        began: Time,
        /// When slow start begins.
        until: Time,
    },
}

/// The state of LEDBAT++.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// The constants.
    pub rules: Rules,
    /// The window.
    pub window: Window,
    /// The measured queueing delay.
    pub delay: QueueingDelay,
    /// The phase.
    pub phase: Phase,
    /// The round trip by which it waits.
    pub round_trip: Span,
    /// Until when nothing more is taken at once.
    pub spared_until: Time,
}

impl Ledbat {
    /// The beginning of a connection; `window` is where others would begin.
    pub fn new(rules: Rules, mut window: Window, delay: QueueingDelay) -> Ledbat {
        window.set(window.segments().min(LEAST));
        let phase = Phase::Begin;
        Ledbat { rules, window, delay, phase, round_trip: Span(0), spared_until: Time::ZERO }
    }

    /// So many bytes have made their way through the network.
    pub fn on_delivered(&mut self, now: Time, bytes: Bytes) {
        let (Some(base), Some(delay)) = (self.delay.base(), self.delay.get()) else { return };
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
        // By the letter the formula holds at every delay, and an empty queue would double the window in each round
        // trip; the draft's text has GAIN below the target.
        let in_a_round =
            if excess <= 0.0 { gain } else { (gain - self.rules.constant * w * excess).max(-w / 2.0) };
        let change = match self.rules.decrease {
            Decrease::Once if in_a_round < 0.0 => self.sparingly(now, in_a_round),
            Decrease::Once | Decrease::Spread => in_a_round * delivered / w,
        };
        self.window.set((w + change).max(LEAST));
        self.window.end_slow_start();
    }

    /// A decrease, once in a round trip.
    fn sparingly(&mut self, now: Time, decrease: f64) -> f64 {
        if now < self.spared_until {
            return 0.0;
        }
        self.spared_until = now + self.round_trip;
        decrease
    }

    //= draft-irtf-iccrg-ledbat-plus-plus-01 §4.4
    fn slow_down(&mut self, now: Time) {
        self.window.set_threshold(self.window.segments());
        self.window.set(LEAST);
        self.phase = Phase::Slowdown { began: now, until: now + self.round_trip * ROUND_TRIPS };
    }

    fn end_slowdown(&mut self, now: Time, began: Time) {
        let wait = self.rules.interval * (now - began).as_secs() * 1e9;
        self.phase = Phase::Steady { slowdown_at: now + Span(wait as u64) };
    }

    /// Halves what was in the network at a loss, and begins anew after a timeout.
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

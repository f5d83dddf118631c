//! Contention for the medium.

use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// Backoff countdown of a sender, in slots.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    draws: Stream,
    /// Number of countdowns drawn: the index of the next draw.
    drawn: u64,
    cw_min: u64,
    cw_max: u64,
    cw: u64,
    /// Remaining slots.
    slots: u64,
    /// Start of the first remaining slot, while the medium is idle.
    from: Time,
    /// Whether the countdown has ended with nothing to send.
    over: bool,
}

impl Backoff {
    /// Creates a sender that may send at once.
    pub fn new(draws: Stream, cw_min: u64, cw_max: u64) -> Backoff {
        Backoff { draws, drawn: 0, cw_min, cw_max, cw: cw_min, slots: 0, from: Time::ZERO, over: true }
    }

    /// Returns the end of the countdown if the medium stays idle.
    pub fn ends(&self, slot: Span) -> Time {
        self.from + slot * self.slots
    }

    /// Handles a packet that arrives at an empty queue. If the medium is idle and the countdown has ended, the packet
    /// is sent at once.
    //= IEEE 802.11-2012 §9.3.4.2
    pub fn begin(&mut self, now: Time, idle: bool, slot: Span) {
        if idle && self.ends(slot) <= now {
            (self.from, self.slots) = (now, 0);
        } else if self.over {
            self.draw();
        }
        self.over = false;
    }

    /// Suspends the countdown while another station sends; remaining slots are kept.
    //= IEEE 802.11-2012 §9.3.4.3
    pub fn freeze(&mut self, now: Time, slot: Span) {
        if now >= self.from {
            let passed = now.since(self.from).0 / slot.0;
            self.over |= passed >= self.slots;
            self.slots = self.slots.saturating_sub(passed);
        }
    }

    /// Resumes the countdown at `from`, when the medium will have been idle for the interframe space.
    pub fn resume(&mut self, from: Time) {
        self.from = from;
    }

    /// Draws a countdown after the packet has arrived or was dropped.
    //= IEEE 802.11-2012 §9.3.4.3: also with nothing to send
    pub fn succeed(&mut self) {
        self.cw = self.cw_min;
        self.draw();
    }

    /// Doubles the window and draws a countdown after a failed attempt that is followed by another one.
    //= IEEE 802.11-2012 §9.3.3
    pub fn fail(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
        self.draw();
    }

    fn draw(&mut self) {
        self.slots = (self.draws.at(self.drawn) * (self.cw + 1) as f64) as u64;
        self.drawn += 1;
        self.over = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Span = Span::from_micros(20);

    fn backoff() -> Backoff {
        Backoff::new(Stream::new(1, "test"), 31, 1023)
    }

    /// Countdowns are uniform in 0..=CW: for CW = 31, one of 32 draws each.
    #[test]
    fn countdowns_are_uniform() {
        let mut backoff = backoff();
        let mut seen = [0u32; 32];
        for _ in 0..32_000 {
            backoff.succeed();
            seen[backoff.slots as usize] += 1;
        }
        // Four standard deviations of 1000 are 125.
        assert!(seen.iter().all(|count| count.abs_diff(1000) < 125), "{seen:?}");
    }

    #[test]
    fn the_window_doubles_up_to_its_maximum_and_resets() {
        let mut backoff = backoff();
        let mut windows = Vec::new();
        for _ in 0..7 {
            windows.push(backoff.cw);
            backoff.fail();
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        backoff.succeed();
        assert_eq!(backoff.cw, 31);
    }

    #[test]
    fn a_suspended_countdown_keeps_its_slots() {
        let mut backoff = Backoff { slots: 10, over: false, ..backoff() };
        backoff.resume(Time(50_000));
        // No slot passes before DIFS is over, and a partial slot does not count.
        backoff.freeze(Time(49_000), SLOT);
        assert_eq!(backoff.slots, 10);
        backoff.freeze(Time(50_000 + 3 * 20_000 + 19_999), SLOT);
        assert_eq!(backoff.slots, 7);
        backoff.resume(Time(1_000_000));
        assert_eq!(backoff.ends(SLOT), Time(1_000_000 + 7 * 20_000));
    }

    #[test]
    fn a_packet_for_an_idle_medium_is_sent_at_once() {
        let mut idle = backoff();
        idle.begin(Time(5), true, SLOT);
        assert_eq!(idle.ends(SLOT), Time(5));
        // The countdown after the last packet has not ended.
        let mut counting = Backoff { slots: 3, over: false, from: Time(100), ..backoff() };
        counting.begin(Time(100), true, SLOT);
        assert_eq!(counting.ends(SLOT), Time(100 + 60_000));
        // The countdown has ended, but another station sends.
        let mut deferring = backoff();
        deferring.begin(Time(5), false, SLOT);
        assert_eq!((deferring.drawn, deferring.over), (1, false));
    }
}

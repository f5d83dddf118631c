//! Whose turn it is.

use airwnd_kernel::Stream;
use airwnd_units::{Span, Time};

/// A sender's count of slots before it may send.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    draws: Stream,
    /// How many counts were drawn: the next draw's address.
    drawn: u64,
    cw_min: u64,
    cw_max: u64,
    cw: u64,
    /// Slots that are still to pass.
    slots: u64,
    /// When the first of them begins, while the medium is idle.
    from: Time,
    /// The count has come to its end with nothing to send.
    over: bool,
}

impl Backoff {
    /// A sender that may send at once.
    pub fn new(draws: Stream, cw_min: u64, cw_max: u64) -> Backoff {
        Backoff { draws, drawn: 0, cw_min, cw_max, cw: cw_min, slots: 0, from: Time::ZERO, over: true }
    }

    /// When the count ends, if the medium stays idle.
    pub fn ends(&self, slot: Span) -> Time {
        self.from + slot * self.slots
    }

    /// A packet comes, and there was none: with the medium idle and the count over it goes at once.
    //= IEEE 802.11-2012 §9.3.4.2
    pub fn begin(&mut self, now: Time, idle: bool, slot: Span) {
        if idle && self.ends(slot) <= now {
            (self.from, self.slots) = (now, 0);
        } else if self.over {
            self.draw();
        }
        self.over = false;
    }

    /// Another sends: slots that have not passed are kept.
    //= IEEE 802.11-2012 §9.3.4.3
    pub fn freeze(&mut self, now: Time, slot: Span) {
        if now >= self.from {
            let passed = now.since(self.from).0 / slot.0;
            self.over |= passed >= self.slots;
            self.slots = self.slots.saturating_sub(passed);
        }
    }

    /// The medium will have been idle for long enough at `from`.
    pub fn resume(&mut self, from: Time) {
        self.from = from;
    }

    /// The packet has arrived or is given up.
    //= IEEE 802.11-2012 §9.3.4.3: also with nothing to send
    pub fn succeed(&mut self) {
        self.cw = self.cw_min;
        self.draw();
    }

    /// The attempt has failed, and another one follows.
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

    /// Counts are uniform in 0..=CW: for CW = 31, 1 draw of 32 each.
    #[test]
    fn counts_are_uniform() {
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
    fn the_window_doubles_up_to_its_greatest_and_falls_back() {
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
    fn a_frozen_count_goes_on_where_it_was() {
        let mut backoff = Backoff { slots: 10, over: false, ..backoff() };
        backoff.resume(Time(50_000));
        // Nothing passes before DIFS is over, nor by a part of a slot.
        backoff.freeze(Time(49_000), SLOT);
        assert_eq!(backoff.slots, 10);
        backoff.freeze(Time(50_000 + 3 * 20_000 + 19_999), SLOT);
        assert_eq!(backoff.slots, 7);
        backoff.resume(Time(1_000_000));
        assert_eq!(backoff.ends(SLOT), Time(1_000_000 + 7 * 20_000));
    }

    #[test]
    fn a_packet_for_an_idle_medium_goes_at_once() {
        let mut idle = backoff();
        idle.begin(Time(5), true, SLOT);
        assert_eq!(idle.ends(SLOT), Time(5));
        // The count after the last packet is not over.
        let mut counting = Backoff { slots: 3, over: false, from: Time(100), ..backoff() };
        counting.begin(Time(100), true, SLOT);
        assert_eq!(counting.ends(SLOT), Time(100 + 60_000));
        // The count is over, but another sends.
        let mut deferring = backoff();
        deferring.begin(Time(5), false, SLOT);
        assert_eq!((deferring.drawn, deferring.over), (1, false));
    }
}

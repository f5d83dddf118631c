//! A period without events.

use airwnd_units::{Span, Time};

/// What happens at each multiple of a period, caught up with when somebody comes.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    period: Span,
    next: Time,
}

impl Ticks {
    /// The first is a period after the beginning of time.
    pub fn new(period: Span) -> Ticks {
        Ticks { period, next: Time::ZERO + period }
    }

    /// The earliest tick up to now that was not taken yet.
    pub fn take(&mut self, now: Time) -> Option<Time> {
        let due = self.next;
        (due <= now).then(|| {
            self.next += self.period;
            due
        })
    }

    /// Passes over the ticks up to now: at rest they would change nothing.
    pub fn skip(&mut self, now: Time) {
        if self.next <= now {
            self.next = now - now % self.period + self.period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once() {
        let mut ticks = Ticks::new(Span(10));
        assert_eq!(ticks.take(Time(9)), None);
        assert_eq!(
            [ticks.take(Time(25)), ticks.take(Time(25)), ticks.take(Time(25))],
            [Some(Time(10)), Some(Time(20)), None]
        );
        ticks.skip(Time(50));
        assert_eq!((ticks.take(Time(59)), ticks.take(Time(60))), (None, Some(Time(60))));
    }
}

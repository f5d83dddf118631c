//! A periodic timer without events.

use airwnd_units::{Span, Time};

/// Multiples of a period, processed at the next call of the owner.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    period: Span,
    next: Time,
}

impl Ticks {
    /// Creates a timer whose first tick is one period after time zero.
    pub fn new(period: Span) -> Ticks {
        Ticks { period, next: Time::ZERO + period }
    }

    /// Returns the earliest tick up to `now` that has not been taken.
    pub fn take(&mut self, now: Time) -> Option<Time> {
        let due = self.next;
        (due <= now).then(|| {
            self.next += self.period;
            due
        })
    }

    /// Skips the ticks up to `now`, for owners at rest that no tick would change.
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
    fn each_tick_is_taken_once() {
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

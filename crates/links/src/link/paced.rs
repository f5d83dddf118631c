//! A rate that the owner of the link sets.

use super::{Served, Service};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// Paces packets at a rate that may change at any time.
///
/// A packet leaves at once when it may, as a whole; the next one may leave when the bits of this one have passed at the
/// rate. A change of the rate applies to what leaves after it.
// Linux sch_cake.c, cake_dequeue and cake_advance_shaper.
pub(super) struct Paced {
    /// `None`: no limit.
    rate: Option<BitRate>,
    free_at: Time,
}

impl Paced {
    /// Creates an idle service; `None`: no limit.
    pub fn new(rate: Option<BitRate>) -> Paced {
        Paced { rate, free_at: Time::ZERO }
    }
}

impl Service for Paced {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        let begins = self.begins(now);
        self.free_at = begins + self.alone(begins, size);
        Served { begins, ends: begins }
    }

    fn begins(&self, now: Time) -> Time {
        now.max(self.free_at)
    }

    // The rate may have been another one.
    fn capacity(&self, _: Time, _: Time) -> Option<Bytes> {
        None
    }

    fn alone(&self, _: Time, size: Bytes) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(size))
    }

    fn set_rate(&mut self, rate: Option<BitRate>) -> bool {
        self.rate = rate;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_once_and_keep_the_rate_apart() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut paced = Paced::new(None);
        let leaves = |paced: &mut Paced, ms| paced.serve(at(ms), Bytes(1000)).ends;
        assert_eq!([0; 2].map(|ms| leaves(&mut paced, ms)), [at(0); 2], "no limit");
        // 1000 B take 1 ms.
        paced.set_rate(Some(BitRate(8_000_000)));
        assert_eq!([1, 1, 1, 9].map(|ms| leaves(&mut paced, ms)), [1, 2, 3, 9].map(at));
        paced.set_rate(Some(BitRate(4_000_000)));
        // The first one waits for the bits of the packet before it only.
        assert_eq!([9; 3].map(|ms| leaves(&mut paced, ms)), [10, 12, 14].map(at));
        paced.set_rate(None);
        assert_eq!([14; 3].map(|ms| leaves(&mut paced, ms)), [16; 3].map(at));
    }
}

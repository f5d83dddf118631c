//! Bytes and time of a device's arrivals in the presence of a queue.

use airwnd_units::{Bytes, Span, Time};
use std::ops::{AddAssign, Sub};

/// Intervals between arrivals at a device in which the bottleneck was never idle, as totals.
///
/// The bottleneck was not idle between two arrivals if the later segment was there before the earlier one had arrived:
/// if its queueing delay is at least the interval. The quotient of bytes and time is the capacity of the path for the
/// device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// Payload bytes that arrived at the ends of these intervals.
    pub bytes: Bytes,
    /// Sum of these intervals.
    pub time: Span,
}

impl AddAssign for Queued {
    fn add_assign(&mut self, other: Queued) {
        self.bytes += other.bytes;
        self.time += other.time;
    }
}

impl Sub for Queued {
    type Output = Queued;

    fn sub(self, earlier: Queued) -> Queued {
        Queued { bytes: self.bytes - earlier.bytes, time: self.time - earlier.time }
    }
}

/// Measures [`Queued`] intervals from arrivals, of one connection or of all connections of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueuedMeter {
    /// Time of the last arrival, and bytes received until then.
    last: Option<(Time, Bytes)>,
    was_queued: bool,
    total: Queued,
}

impl QueuedMeter {
    /// Adds an arrival, and returns what it adds to the total. `received`: payload bytes received so far.
    /// `queueing_delay`: that of the segment.
    ///
    /// Arrivals at the same time, such as the segments of a transport block, end the same interval.
    pub fn add(&mut self, now: Time, received: Bytes, queueing_delay: Span) -> Queued {
        let Some((last, before)) = self.last.replace((now, received)) else { return Queued::default() };
        let time = now.since(last);
        if time > Span::ZERO {
            self.was_queued = queueing_delay >= time;
        }
        if !self.was_queued {
            return Queued::default();
        }
        let queued = Queued { bytes: received - before, time };
        self.total += queued;
        queued
    }

    /// Returns the totals since the start.
    pub fn total(&self) -> Queued {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_in_which_the_bottleneck_was_never_idle_count() {
        let (mut meter, mut received) = (QueuedMeter::default(), Bytes::ZERO);
        let mut add = |ms: u64, delay_ms: u64| {
            received += Bytes(1000);
            meter.add(Time(ms * 1_000_000), received, Span::from_millis(delay_ms))
        };
        let queued = |ms| Queued { bytes: Bytes(1000), time: Span::from_millis(ms) };
        // There is no interval before the first arrival.
        assert_eq!(add(10, 50), Queued::default());
        assert_eq!(add(12, 2), queued(2));
        // The rest of a transport block.
        assert_eq!(add(12, 0), queued(0));
        // It was sent after the former arrival, so the bottleneck may have been idle. So may it for the rest.
        assert_eq!(add(20, 7), Queued::default());
        assert_eq!(add(20, 7), Queued::default());
        assert_eq!(meter.total(), Queued { bytes: Bytes(2000), time: Span::from_millis(2) });
    }
}

//! The event queue.

use airwnd_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A schedulable event.
pub trait Event: Copy {
    /// Returns the event's class. Among events of the same instant, lower classes happen first.
    fn class(&self) -> u8;
}

/// A queue of events ordered by (time, class, order of scheduling).
///
/// Callers keep it short: a FIFO link schedules only its head, a cell one tick, a connection one timer.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    scheduled: u64,
    now: Time,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Time,
    /// Class in the upper 8 bits, sequence number below.
    rank: u64,
    event: E,
}

const CLASS_SHIFT: u32 = 56;

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    /// Reversed, so that the maximum of the heap is the earliest event.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.rank).cmp(&(self.at, self.rank))
    }
}

impl<E: Event> EventQueue<E> {
    /// Creates an empty queue with room for `capacity` pending events.
    pub fn with_capacity(capacity: usize) -> Self {
        const { assert!(size_of::<Entry<E>>() <= 32, "an event with its time and rank fits 32 bytes") };
        EventQueue { heap: BinaryHeap::with_capacity(capacity), scheduled: 0, now: Time::ZERO }
    }

    /// Schedules an event.
    ///
    /// # Panics
    /// If `at` is in the past.
    pub fn schedule(&mut self, at: Time, event: E) {
        assert!(at >= self.now, "an event is scheduled for {at}, before {}", self.now);
        debug_assert!(self.scheduled < 1 << CLASS_SHIFT, "sequence numbers fit below the class");
        let rank = (u64::from(event.class()) << CLASS_SHIFT) | self.scheduled;
        self.scheduled += 1;
        self.heap.push(Entry { at, rank, event });
    }

    /// Removes and returns the earliest event due at or before `end`; the clock advances to its time.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, E)> {
        if self.heap.peek()?.at > end {
            return None;
        }
        let entry = self.heap.pop()?;
        self.now = entry.at;
        Some((entry.at, entry.event))
    }

    /// Returns the time of the last event removed.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of events scheduled since the start.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Returns the due time of the earliest pending event.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Returns the earliest pending event and its due time.
    pub fn peek(&self) -> Option<(Time, &E)> {
        self.heap.peek().map(|entry| (entry.at, &entry.event))
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Tagged {
        class: u8,
        tag: u32,
    }
    impl Event for Tagged {
        fn class(&self) -> u8 {
            self.class
        }
    }

    proptest! {
        #[test]
        fn events_come_by_time_then_class_then_order(times in prop::collection::vec((0u64..50, 0u8..3), 0..200)) {
            let mut queue = EventQueue::with_capacity(16);
            let mut expected = Vec::new();
            for (tag, (at, class)) in times.iter().enumerate() {
                queue.schedule(Time(*at), Tagged { class: *class, tag: tag as u32 });
                expected.push((*at, *class, tag as u32));
            }
            expected.sort();
            let mut seen = Vec::new();
            while let Some((at, event)) = queue.pop_until(Time(1000)) {
                seen.push((at.0, event.class, event.tag));
            }
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn nothing_comes_after_the_end() {
        let mut queue = EventQueue::with_capacity(1);
        queue.schedule(Time(5), Tagged { class: 0, tag: 0 });
        assert_eq!(queue.pop_until(Time(4)), None);
        assert_eq!(queue.pop_until(Time(5)).map(|(at, _)| at), Some(Time(5)));
    }

    #[test]
    #[should_panic(expected = "before 5ns")]
    fn the_past_cannot_be_scheduled() {
        let mut queue = EventQueue::with_capacity(1);
        queue.schedule(Time(5), Tagged { class: 0, tag: 0 });
        queue.pop_until(Time(5));
        queue.schedule(Time(4), Tagged { class: 0, tag: 0 });
    }
}

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
/// Callers keep it short: a FIFO link schedules only its head, a cell one tick, a connection one timer. Most events are
/// due soon after they are scheduled, before all timers. The earliest ones are therefore in a short sorted list, which
/// costs less than a heap, and only the others in a heap.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// The earliest events, the next one last. Empty only if no event is pending.
    near: Vec<Entry<E>>,
    /// The others.
    far: BinaryHeap<Entry<E>>,
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
/// Maximum number of events in the sorted list.
// A choice: it holds the packets and ticks due next of some cells, and an insertion passes over few entries.
const NEAR: usize = 32;

impl<E> Entry<E> {
    fn key(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.rank)
    }
}
impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
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
        other.key().cmp(&self.key())
    }
}

impl<E: Event> EventQueue<E> {
    /// Creates an empty queue with room for `capacity` pending events.
    pub fn with_capacity(capacity: usize) -> Self {
        const { assert!(size_of::<Entry<E>>() <= 32, "an event with its time and rank fits 32 bytes") };
        EventQueue {
            near: Vec::with_capacity(NEAR),
            far: BinaryHeap::with_capacity(capacity),
            scheduled: 0,
            now: Time::ZERO,
        }
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
        let entry = Entry { at, rank, event };
        let key = entry.key();
        if self.near.len() == NEAR {
            self.spill();
        }
        if self.far.peek().is_some_and(|first| first.key() < key) {
            self.postpone(entry);
            return;
        }
        // Most events pass over one or two others; to find the place first and move the rest then costs more.
        self.near.push(entry);
        let near = self.near.as_mut_slice();
        let mut place = near.len() - 1;
        while place > 0 && near[place - 1].key() < key {
            near[place] = near[place - 1];
            place -= 1;
        }
        near[place] = entry;
    }

    /// Moves the later half of the sorted list to the heap.
    #[cold]
    fn spill(&mut self) {
        self.far.extend(self.near.drain(..NEAR / 2));
    }

    // Out of line, so that an insertion into the sorted list does not save registers for it.
    #[inline(never)]
    fn postpone(&mut self, entry: Entry<E>) {
        self.far.push(entry);
    }

    /// Removes and returns the earliest event due at or before `end`; the clock advances to its time.
    #[inline]
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, E)> {
        let Entry { at, event, .. } = *self.near.last()?;
        if at > end {
            return None;
        }
        self.near.pop();
        if self.near.is_empty() {
            self.refill();
        }
        self.now = at;
        Some((at, event))
    }

    /// Moves the earliest events of the heap to the sorted list.
    fn refill(&mut self) {
        self.near.extend(std::iter::from_fn(|| self.far.pop()).take(NEAR / 2));
        self.near.reverse();
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
        self.near.last().map(|entry| entry.at)
    }

    /// Returns the earliest pending event and its due time.
    pub fn peek(&self) -> Option<(Time, &E)> {
        self.near.last().map(|entry| (entry.at, &entry.event))
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
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

    proptest! {
        /// Events scheduled and removed in any order come as from a plain heap, near and far ones.
        #[test]
        fn any_trace_is_that_of_a_heap(
            steps in prop::collection::vec((0u8..4, prop_oneof![0u64..20, 0u64..5000], 0u8..3), 0..600),
        ) {
            let mut queue = EventQueue::with_capacity(16);
            let mut heap = BinaryHeap::new();
            for (tag, (removed, after, class)) in (0..).zip(steps) {
                let at = queue.now() + airwnd_units::Span(after);
                queue.schedule(at, Tagged { class, tag });
                heap.push(std::cmp::Reverse((at, class, tag)));
                for _ in 0..removed.saturating_sub(1) {
                    let next = heap.peek().map(|entry| entry.0.0);
                    prop_assert_eq!((queue.next(), queue.len()), (next, heap.len()));
                    let expected = heap.pop().map(|entry| (entry.0.0, entry.0.2));
                    let seen = queue.pop_until(Time::NEVER).map(|(at, event)| (at, event.tag));
                    prop_assert_eq!(seen, expected);
                }
            }
            while let Some((at, event)) = queue.pop_until(Time::NEVER) {
                let expected = heap.pop().map(|entry| (entry.0.0, entry.0.2));
                prop_assert_eq!(Some((at, event.tag)), expected);
            }
            prop_assert!(heap.is_empty() && queue.is_empty());
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

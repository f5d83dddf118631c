//! The queue that no segment finds empty.

use airwnd_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Time in which a queue is standing if every segment of a flow is delayed by it: longer than the time between the grants
/// of a cell and the waits of delayed ACKs (RFC 9293 §3.8.6.3: below 0.5 s; Linux: 40 ms).
const WINDOW: Span = Span::from_millis(150);
/// Duration of a standing queue where few segments pass.
const LONG_WINDOW: Span = Span::from_secs(1);
/// Segments of a flow without which its minimum says nothing: the echo after a pause of the sender contains the pause.
const ENOUGH: u32 = 3;
/// Maximum number of samples that are kept.
const SAMPLES: usize = 4096;

/// Queueing delays of recent segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing(VecDeque<(Time, u64, Span)>);

impl Standing {
    /// Adds the queueing delay of a segment of a flow.
    pub fn add(&mut self, now: Time, flow: u64, delay: Span) {
        if self.0.len() == SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back((now, flow, delay));
    }

    /// Returns the delay of the standing queue: the median over the flows of their minima, the smaller one of two. `None`:
    /// too few segments.
    ///
    /// The minimum of a flow that has begun behind a queue is too low, that of a flow with another bottleneck too high: it
    /// must not limit the others.
    pub fn delay(&mut self, now: Time) -> Option<Span> {
        while self.0.front().is_some_and(|(at, ..)| now.since(*at) > LONG_WINDOW) {
            self.0.pop_front();
        }
        self.within(now, WINDOW).or_else(|| self.within(now, LONG_WINDOW))
    }

    fn within(&self, now: Time, window: Span) -> Option<Span> {
        let mut minima: BTreeMap<u64, (u32, Span)> = BTreeMap::new();
        for (_, flow, delay) in self.0.iter().rev().take_while(|(at, ..)| now.since(*at) <= window) {
            let (number, min) = minima.entry(*flow).or_insert((0, *delay));
            (*number, *min) = (*number + 1, (*min).min(*delay));
        }
        let mut minima: Vec<Span> =
            minima.into_values().filter(|(number, _)| *number >= ENOUGH).map(|(_, min)| min).collect();
        minima.sort_unstable();
        minima.get(minima.len().saturating_sub(1) / 2).copied()
    }

    /// Forgets all delays.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a segment of a flow each 10 ms, with these delays in ms.
    fn add(standing: &mut Standing, from_ms: u64, flow: u64, delays_ms: &[u64]) -> Time {
        let mut now = Time::ZERO + Span::from_millis(from_ms);
        for delay in delays_ms {
            now += Span::from_millis(10);
            standing.add(now, flow, Span::from_millis(*delay));
        }
        now
    }

    #[test]
    fn a_queue_that_is_empty_at_times_is_not_standing() {
        let mut standing = Standing::default();
        let now = add(&mut standing, 0, 1, &[30, 40, 0, 40, 30]);
        assert_eq!(standing.delay(now), Some(Span::ZERO));
        let now = add(&mut standing, 200, 1, &[30, 40, 50, 40, 35]);
        assert_eq!(standing.delay(now), Some(Span::from_millis(30)));
    }

    #[test]
    fn the_median_of_the_flows_counts() {
        let mut standing = Standing::default();
        let now = add(&mut standing, 0, 1, &[30, 30, 30]);
        assert_eq!(standing.delay(now), Some(Span::from_millis(30)));
        // Its own bottleneck has a queue.
        let now = add(&mut standing, 0, 2, &[300, 300, 300]);
        assert_eq!(standing.delay(now), Some(Span::from_millis(30)));
        // It has begun behind the queue.
        let now = add(&mut standing, 0, 3, &[0, 0, 0]).max(now);
        assert_eq!(standing.delay(now), Some(Span::from_millis(30)));
        // Two segments say nothing.
        let now = add(&mut standing, 10, 4, &[900, 900]).max(now);
        assert_eq!(standing.delay(now), Some(Span::from_millis(30)));
    }

    #[test]
    fn few_segments_count_for_longer() {
        let mut standing = Standing::default();
        let at = add(&mut standing, 0, 1, &[30, 30, 30]);
        assert_eq!(standing.delay(at + Span::from_millis(900)), Some(Span::from_millis(30)));
        assert_eq!(standing.delay(at + Span::from_secs(2)), None);
    }
}

use super::*;
use proptest::prelude::*;

/// A bottleneck of variable capacity behind a shaper with traffic that uses any rate up to its demand.
struct Link {
    law: Law,
    /// Bits that wait.
    waiting: f64,
    /// Queueing delay that does not depend on the traffic.
    longer: Span,
    /// Bits that have left, and could have.
    sent: f64,
    could: f64,
    queues_ms: Vec<f64>,
}

impl Link {
    fn new() -> Link {
        Link {
            law: Law::default(),
            waiting: 0.0,
            longer: Span::ZERO,
            sent: 0.0,
            could: 0.0,
            queues_ms: Vec::new(),
        }
    }

    /// Runs for some seconds; `is_seen`: whether segments show the delay. Forgets minima if they are out of date.
    fn run(&mut self, seconds: u64, capacity: f64, demand: f64, is_seen: bool) -> &mut Link {
        let tick_s = TICK.as_secs();
        for _ in 0..seconds * 20 {
            let enters = self.law.rate().map_or(demand, |rate| demand.min(rate.0 as f64)) * tick_s;
            let was_queued = self.waiting > 0.0;
            self.waiting += enters;
            let leaves = self.waiting.min(capacity * tick_s);
            self.waiting -= leaves;
            let is_queued = was_queued || self.waiting > 0.0;
            (self.sent, self.could) = (self.sent + leaves, self.could + capacity * tick_s);
            let bytes = Bytes((leaves / 8.0) as u64);
            let queued = if is_queued { Queued { bytes, time: TICK } } else { Queued::default() };
            let queue = Span::from_secs_f64(self.waiting / capacity);
            self.queues_ms.push(queue.as_millis());
            let queue = is_seen.then_some(queue + self.longer);
            if self.law.tick(&Passed { time: TICK, bytes, queued, queue }) {
                self.longer = Span::ZERO;
            }
        }
        self
    }

    /// Returns the share of the capacity that was used, and the 95th percentile of the queue, since the last call.
    fn figures(&mut self) -> (f64, f64) {
        let mut queues = std::mem::take(&mut self.queues_ms);
        queues.sort_by(f64::total_cmp);
        let used = self.sent / self.could;
        (self.sent, self.could) = (0.0, 0.0);
        (used, queues[queues.len() * 95 / 100])
    }
}

const MBPS: f64 = 1e6;

#[test]
fn without_a_queue_there_is_no_limit() {
    let mut link = Link::new();
    link.run(60, 100.0 * MBPS, 80.0 * MBPS, true);
    assert_eq!((link.law.rate(), link.law.phase()), (None, Phase::Open));
}

#[test]
fn a_constant_capacity_is_found_and_used() {
    for capacity in [0.5 * MBPS, 10.0 * MBPS, 300.0 * MBPS] {
        let mut link = Link::new();
        // The traffic has filled a buffer of a second before the control begins.
        link.waiting = capacity;
        link.run(10, capacity, 2.0 * capacity, true).figures();
        let (used, queue_ms) = link.run(60, capacity, 2.0 * capacity, true).figures();
        let two_packets_ms = 2.0 * 12e6 / capacity;
        assert!(used > 0.97, "{capacity}: {used}");
        assert!(queue_ms < 16.0 + 1.5 * two_packets_ms, "{capacity}: {queue_ms} ms");
    }
}

#[test]
fn steps_of_the_capacity_are_followed() {
    let mut link = Link::new();
    link.run(20, 10.0 * MBPS, 100.0 * MBPS, true).figures();
    for capacity in [3.0, 20.0, 6.0, 10.0, 3.0, 20.0, 6.0] {
        link.run(8, capacity * MBPS, 100.0 * MBPS, true);
    }
    let (used, queue_ms) = link.figures();
    assert!(used > 0.88 && queue_ms < 80.0, "{used} {queue_ms}");
}

#[test]
fn traffic_without_a_known_delay_is_not_limited_for_long() {
    let mut link = Link::new();
    link.run(10, 5.0 * MBPS, 20.0 * MBPS, true).figures();
    // The capacity is ten times as large now, and no segment has timestamps.
    let (used, _) = link.run(10, 50.0 * MBPS, 50.0 * MBPS, false).figures();
    assert!(used > 0.7, "{used}");
    let rate = link.law.rate().unwrap();
    assert!(rate.0 as f64 > 50.0 * MBPS, "{rate:?}");
}

#[test]
fn without_traffic_the_rate_stays() {
    let mut link = Link::new();
    link.run(20, 10.0 * MBPS, 20.0 * MBPS, true);
    let rate = link.law.rate();
    link.waiting = 0.0;
    link.run(1, 10.0 * MBPS, 0.1 * MBPS, true);
    let idle = link.law.rate();
    link.run(600, 10.0 * MBPS, 0.1 * MBPS, true);
    assert_eq!(link.law.rate(), idle);
    assert!(idle >= rate);
    link.run(600, 10.0 * MBPS, 0.1 * MBPS, false);
    assert_eq!(link.law.rate(), idle);
}

/// After a longer route all segments look queued, whatever the rate is.
#[test]
fn a_longer_path_is_recognised() {
    for longer_ms in [20, 50, 300] {
        let mut link = Link::new();
        link.run(20, 10.0 * MBPS, 20.0 * MBPS, true).figures();
        link.longer = Span::from_millis(longer_ms);
        let (used, _) = link.run(20, 10.0 * MBPS, 20.0 * MBPS, true).figures();
        assert_eq!(link.longer, Span::ZERO, "{longer_ms} ms");
        assert!(used > 0.6, "{longer_ms} ms: {used}");
        let (used, _) = link.run(20, 10.0 * MBPS, 20.0 * MBPS, true).figures();
        assert!(used > 0.95, "{longer_ms} ms: {used}");
    }
}

#[test]
fn the_minimum_is_measured_at_least_every_ten_seconds() {
    let mut link = Link::new();
    link.run(20, 10.0 * MBPS, 20.0 * MBPS, true).figures();
    link.run(100, 10.0 * MBPS, 20.0 * MBPS, true);
    let longest = link.queues_ms.split(|queue| *queue < 2.0).map(<[f64]>::len).max().unwrap();
    assert!(longest <= 200, "{longest} ticks with a queue");
}

proptest! {
    /// Whatever is seen, the rate is at least the smallest one, and grows by at most a twentieth without a queue.
    #[test]
    fn rates_are_bounded(
        seen in prop::collection::vec((any::<u32>(), any::<u32>(), 0u64..2_000_000_000, prop::option::of(any::<u32>())), 1..300),
    ) {
        let mut law = Law::default();
        for (bytes, queued, time, queue) in seen {
            let before = law.rate();
            let queued = Queued { bytes: Bytes(queued.into()), time: Span(time) };
            let queue = queue.map(|nanos| Span(nanos.into()));
            law.tick(&Passed { time: TICK, bytes: Bytes(bytes.into()), queued, queue });
            prop_assert!(law.rate().is_none_or(|rate| rate.0 >= MIN));
            if let (Some(before), Some(after), Phase::Growing | Phase::Blind) = (before, law.rate(), law.phase()) {
                prop_assert!(after.0 <= before.0 + before.0 / 20);
            }
        }
    }
}

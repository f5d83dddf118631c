use super::*;
use crate::TICK;
use proptest::prelude::*;

const MS: Span = Span::from_millis(1);
/// Base RTT is twice this.
const PATH: Span = Span::from_millis(10);
/// Time by which the clock of the other end is ahead.
const AHEAD: u64 = 77_000_000_000;

/// A connection over a link with queues, a segment in each direction every 4 ms, with its bytes and queueing delays.
struct Link {
    control: Capacity,
    now: Time,
    received: Bytes,
    sent: Bytes,
}

impl Link {
    fn new() -> Link {
        Link {
            control: Capacity::new(Params::default()),
            now: Time(5_000_000_000),
            received: Bytes::ZERO,
            sent: Bytes::ZERO,
        }
    }

    /// Passes traffic for some ticks. `up` and `down`: bytes per segment, and queueing delays from the first to the last.
    fn run(&mut self, ticks: u64, up: (u64, Span, Span), down: (u64, Span, Span)) {
        let segments = ticks * (TICK.0 / (MS * 4).0);
        let delay = |(_, from, to): (u64, Span, Span), number: u64| {
            let part = |span: Span, share: u64| span.0 * share / segments;
            Span(part(to, number) + part(from, segments - number))
        };
        for number in 0..segments {
            self.now += MS * 4;
            self.sent += Bytes(up.0);
            self.received += Bytes(down.0);
            // The segment that arrives now echoes the one that has left an RTT ago, at the present rates.
            let (queue_up, queue_down) = (delay(up, number), delay(down, number));
            let answered = Time(self.now.0 - (PATH + queue_down).0);
            let sent = Time(answered.0 - (PATH + queue_up).0);
            let since = self.now.since(sent).0 / (MS * 4).0;
            self.control.on_segment(&Segment {
                now: self.now,
                flow: 1,
                ts_val: ((answered.0 + AHEAD) / 1_000_000) as u32,
                echo: Some(Echo { sent, sent_bytes: self.sent.saturating_sub(Bytes(up.0 * since)) }),
                received: self.received,
            });
            if (number + 1) % (TICK.0 / (MS * 4).0) == 0 {
                self.control.tick(self.now, self.received, self.sent);
            }
        }
    }

    fn queues_ms(&self) -> [f64; 2] {
        [Way::Down, Way::Up].map(|way| self.control.status(way).queue.unwrap().as_millis())
    }
}

fn near(value: f64, expected: f64, error: f64) -> bool {
    (value - expected).abs() <= error
}

#[test]
fn each_direction_has_its_queue() {
    let mut link = Link::new();
    let none = (100, Span::ZERO, Span::ZERO);
    link.run(20, none, none);
    assert!(link.queues_ms().into_iter().all(|queue| queue <= 1.0), "{:?}", link.queues_ms());
    link.run(40, (100, MS * 40, MS * 40), none);
    let [down, up] = link.queues_ms();
    assert!(down <= 1.0 && near(up, 40.0, 1.5), "{down} {up}");
    link.run(40, none, (100, MS * 60, MS * 60));
    let [down, up] = link.queues_ms();
    assert!(near(down, 60.0, 1.5) && up <= 1.0, "{down} {up}");
    assert_eq!(link.control.flows(), 1);
}

/// 1000 B in 4 ms are 2 Mbit/s. What is acknowledged in 576 ms was sent in 426 ms, as the queue grows by 150 ms meanwhile:
/// 2 (1 - 150/576) = 1.48 Mbit/s.
#[test]
fn the_capacity_of_the_uplink_is_known_while_its_queue_grows() {
    let mut link = Link::new();
    let none = (100, Span::ZERO, Span::ZERO);
    link.run(20, none, none);
    link.run(12, (1000, MS * 20, MS * 170), none);
    let capacity = link.control.status(Way::Up).capacity.unwrap().0 as f64 / 1e6;
    assert!(near(capacity, 1.48, 0.05), "{capacity}");
    assert!(link.control.status(Way::Up).rate.is_some());
    assert_eq!(link.control.status(Way::Down).rate, None);
}

#[test]
fn the_capacity_of_the_downlink_is_the_rate_of_arrivals() {
    let mut link = Link::new();
    let none = (100, Span::ZERO, Span::ZERO);
    link.run(20, none, none);
    link.run(20, none, (1000, MS * 60, MS * 60));
    let capacity = link.control.status(Way::Down).capacity.unwrap().0 as f64 / 1e6;
    assert!(near(capacity, 2.0, 0.05), "{capacity}");
    assert_eq!(link.control.status(Way::Up).rate, None);
}

#[test]
fn a_clock_with_a_coarse_tick_shows_no_queue() {
    let mut control = Capacity::new(Params::default());
    for number in 0..3000 {
        let now = Time(1_000_000_000) + MS * (4 * number);
        let ts_val = (now.0 / 100_000_000) as u32;
        let echo = Some(Echo { sent: now - MS, sent_bytes: Bytes(number) });
        control.on_segment(&Segment { now, flow: 1, ts_val, echo, received: Bytes(number) });
        control.tick(now, Bytes(number), Bytes(number));
    }
    assert_eq!([Way::Down, Way::Up].map(|way| control.status(way).queue), [None, None]);
}

proptest! {
    /// Whatever arrives, memory is bounded and nothing overflows.
    #[test]
    fn any_segments_are_processed(words in prop::collection::vec(prop::array::uniform6(any::<u64>()), 1..300)) {
        let mut control = Capacity::new(Params::default());
        for [now, flow, ts_val, sent, sent_bytes, received] in words {
            // Two years, and no more bytes than a link carries in them.
            let (now, sent) = (Time(now >> 8), Time(sent >> 8));
            let echo = (flow % 2 == 0).then_some(Echo { sent, sent_bytes: Bytes(sent_bytes >> 12) });
            let segment = Segment { now, flow, ts_val: ts_val as u32, echo, received: Bytes(received >> 12) };
            control.on_segment(&segment);
            control.tick(now, Bytes(received >> 12), Bytes(sent_bytes >> 12));
            prop_assert!(control.flows() <= FLOWS_MAX);
        }
    }
}

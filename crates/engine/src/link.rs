//! A wire with a rate, a delay and a drop-tail queue before it.

use crate::loss::{Loss, Passing};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// A point-to-point link: a FIFO queue, serialisation at a rate, then a constant delay.
///
/// Since both are FIFO, all of a packet's times are known when it enters; only the head needs an event. The
/// owner schedules one when [`Link::send`] says so, and again while [`Link::arrive`] names a next time. A lost
/// packet takes its time on the wire like any other, and is given up at the end.
pub struct Link<T> {
    rate: BitRate,
    delay: Span,
    /// Packets that may wait besides the one in transmission; `None` for no limit.
    limit_packets: Option<usize>,
    in_flight: VecDeque<Passage<T>>,
    /// How many of `in_flight` have left the queue for the wire, as of the last look.
    transmitted: usize,
    wire_free_at: Time,
    loss: Option<Box<dyn Loss>>,
    /// How many packets have entered.
    entered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Passage<T> {
    begins: Time,
    arrives: Time,
    lost: bool,
    item: T,
}

/// The link's queue is full: the packet is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<T>(pub T);

/// The packet did not survive the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<T>(pub T);

impl<T> Link<T> {
    /// An idle link. Rate zero stands for no serialisation.
    pub fn new(rate: BitRate, delay: Span, limit_packets: Option<usize>) -> Self {
        Link {
            rate,
            delay,
            limit_packets,
            in_flight: VecDeque::with_capacity(64),
            transmitted: 0,
            wire_free_at: Time::ZERO,
            loss: None,
            entered: 0,
        }
    }

    /// The link with this rule of which packets it loses.
    pub fn losing(self, loss: Box<dyn Loss>) -> Self {
        Link { loss: Some(loss), ..self }
    }

    /// Sends a packet of `size` on the wire. `Ok(Some(t))` asks for an event at `t`, when this packet, now the
    /// head, arrives; `Ok(None)` says that an event is already pending for an earlier one.
    pub fn send(&mut self, now: Time, size: Bytes, item: T) -> Result<Option<Time>, Refused<T>> {
        if self.limit_packets.is_some_and(|limit| self.waiting(now) >= limit && now < self.wire_free_at) {
            return Err(Refused(item));
        }
        let begins = now.max(self.wire_free_at);
        self.wire_free_at = begins + self.rate.transmission_time(size);
        let arrives = self.wire_free_at + self.delay;
        let packet = Passing { number: self.entered, size, at: arrives };
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(packet));
        self.entered += 1;
        self.in_flight.push_back(Passage { begins, arrives, lost, item });
        Ok((self.in_flight.len() == 1).then_some(arrives))
    }

    /// The packet that arrives now or turns out to be lost, and when the next one does.
    pub fn arrive(&mut self, now: Time) -> (Result<T, Lost<T>>, Option<Time>) {
        let head = self.in_flight.pop_front().expect("an arrival is scheduled for a packet");
        debug_assert_eq!(head.arrives, now, "a packet arrives when it was said to");
        self.transmitted = self.transmitted.saturating_sub(1);
        let arrived = if head.lost { Err(Lost(head.item)) } else { Ok(head.item) };
        (arrived, self.in_flight.front().map(|next| next.arrives))
    }

    /// How many packets wait for the wire, without the one in transmission.
    pub fn waiting(&mut self, now: Time) -> usize {
        while self.in_flight.get(self.transmitted).is_some_and(|packet| packet.begins <= now) {
            self.transmitted += 1;
        }
        self.in_flight.len() - self.transmitted
    }

    /// The packets inside: waiting, in transmission or under way.
    pub fn inside(&self) -> impl Iterator<Item = &T> {
        self.in_flight.iter().map(|packet| &packet.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::loss::{self, scripted};
    use proptest::prelude::*;

    const MBPS_10: BitRate = BitRate(10_000_000);

    #[test]
    fn arrival_is_serialisation_plus_delay() {
        // 1250 B at 10 Mbit/s: 1 ms each, then 25 ms of delay
        let mut link = Link::new(MBPS_10, Span::from_millis(25), None);
        assert_eq!(link.send(Time(0), Bytes(1250), 'a'), Ok(Some(Time(26_000_000))));
        assert_eq!(link.send(Time(0), Bytes(1250), 'b'), Ok(None));
        assert_eq!(link.arrive(Time(26_000_000)), (Ok('a'), Some(Time(27_000_000))));
        assert_eq!(link.arrive(Time(27_000_000)), (Ok('b'), None));
    }

    /// What is lost holds up the packets behind it, and arrives when it would have.
    #[test]
    fn a_lost_packet_occupies_the_link() {
        let script = scripted::Params { packets: vec![0, 2], instants: Vec::new() };
        let loss = loss::Spec::Scripted(script).build(Stream::new(1, "test"), Time::ZERO);
        let mut link = Link::new(MBPS_10, Span::ZERO, Some(2)).losing(loss);
        assert_eq!(link.send(Time(0), Bytes(1250), 'a'), Ok(Some(Time(1_000_000))));
        assert_eq!(link.send(Time(0), Bytes(1250), 'b'), Ok(None));
        assert_eq!(link.send(Time(0), Bytes(1250), 'c'), Ok(None));
        // The queue refuses a packet: the script does not count it.
        assert_eq!(link.send(Time(0), Bytes(1250), 'd'), Err(Refused('d')));
        assert_eq!(link.arrive(Time(1_000_000)), (Err(Lost('a')), Some(Time(2_000_000))));
        assert_eq!(link.arrive(Time(2_000_000)), (Ok('b'), Some(Time(3_000_000))));
        assert_eq!(link.arrive(Time(3_000_000)), (Err(Lost('c')), None));
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut link = Link::new(MBPS_10, Span::ZERO, Some(1));
        assert!(link.send(Time(0), Bytes(1250), 'a').is_ok());
        assert!(link.send(Time(0), Bytes(1250), 'b').is_ok());
        assert_eq!(link.send(Time(0), Bytes(1250), 'c'), Err(Refused('c')));
        assert_eq!(link.waiting(Time(0)), 1);
        assert!(link.send(Time(1_000_000), Bytes(1250), 'd').is_ok());
    }

    proptest! {
        /// No packet overtakes, none arrives before its own serialisation, no queue exceeds its limit.
        #[test]
        fn fifo_and_bounded(gaps in prop::collection::vec((0u64..2_000_000, 1u64..1500), 1..200), limit in 1usize..10) {
            let mut link = Link::new(MBPS_10, Span::from_micros(10), Some(limit));
            let (mut now, mut next) = (Time(0), None);
            let mut sent = 0;
            let mut arrived = Vec::new();
            for (gap, size) in gaps {
                now += Span(gap);
                while let Some(at) = next.filter(|at| *at <= now) {
                    let (tag, following) = link.arrive(at);
                    arrived.push((at, tag.unwrap()));
                    next = following;
                }
                if let Ok(first) = link.send(now, Bytes(size), sent) {
                    next = next.or(first);
                    sent += 1;
                }
                prop_assert!(link.waiting(now) <= limit);
            }
            while let Some(at) = next {
                let (tag, following) = link.arrive(at);
                arrived.push((at, tag.unwrap()));
                next = following;
            }
            prop_assert!(arrived.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 + 1 == pair[1].1));
            prop_assert_eq!(arrived.len(), sent);
        }
    }
}

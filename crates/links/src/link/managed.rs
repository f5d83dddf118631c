//! One direction of a link with a queue discipline.

use super::{Figures, Link};
use crate::aqm::{Backlog, Cause, QueueDisc, QueueEvents, Waiting};
use airwnd_kernel::Key;
use airwnd_units::{Bytes, Time};

/// A queue discipline followed by a [`Link`] that takes a packet from it whenever it is free.
///
/// A discipline may drop waiting packets at any time, so the times of a packet are not known before it leaves the
/// queue. Each departure therefore needs an event, in addition to those of the link's arrivals. The owner schedules the
/// events in [`Due`]; an event made obsolete by an arrival has no effect. An interface may take packets from the
/// discipline ahead of their transmission into a ring, where the discipline cannot drop them.
///
/// With drop-tail and without a ring, all packets have the times of a link that computes them at entry.
pub struct Managed {
    queue: Box<dyn QueueDisc>,
    /// Holds the counters of both.
    link: Link<Key>,
    /// Capacity of the ring in packets.
    ring: usize,
    /// Time since which packets wait, and time of the next departure from the queue; `None`: the queue is empty.
    next: Option<(Time, Time)>,
    /// Time at which the interface would have taken the next packet, after it emptied the queue.
    idle: Option<Time>,
}

/// Events to schedule for a managed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Time at which the next packet leaves the queue: [`Managed::depart`].
    pub departure: Option<Time>,
    /// Time at which the head of the link arrives at its end: [`Link::arrive`].
    pub arrival: Option<Time>,
}

/// Counts drops and marks of the queue, and forwards them.
struct Counted<'a> {
    now: Time,
    figures: &'a mut Figures,
    events: &'a mut dyn QueueEvents,
}

impl QueueEvents for Counted<'_> {
    fn dropped(&mut self, packet: Waiting, cause: Cause) {
        match cause {
            Cause::Full => self.figures.refused += 1,
            Cause::Early => self.figures.early += 1,
        }
        self.figures.add_wait(packet.size, self.now.since(packet.arrived));
        self.events.dropped(packet, cause);
    }
    fn marked(&mut self, packet: Key) {
        self.figures.marked += 1;
        self.events.marked(packet);
    }
}

/// Returns the earlier of two times. Only an impaired link has both: a packet there supersedes the event of another.
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

impl Managed {
    /// Creates an idle link, without a separate queue limit, behind an empty queue discipline and a ring of `ring`
    /// packets.
    pub fn new(link: Link<Key>, queue: Box<dyn QueueDisc>, ring: usize) -> Managed {
        Managed { queue, link, ring, next: None, idle: None }
    }

    /// Enqueues an arriving packet; its size is without framing.
    pub fn send(&mut self, now: Time, packet: Waiting, events: &mut dyn QueueEvents) -> Due {
        // Departures at this instant precede the arrival.
        let mut due = self.depart(now, events);
        let packet = Waiting { size: packet.size + self.link.framing(), ..packet };
        let counted = &mut Counted { now, figures: self.link.figures_mut(), events };
        // Some disciplines react to a dequeue from the empty queue; it is delivered with the next arrival.
        if let Some(at) = self.idle.take_if(|at| *at <= now) {
            let packet = self.queue.dequeue(at, counted);
            debug_assert!(packet.is_none(), "no packet arrived since the queue was emptied");
        }
        self.queue.enqueue(now, packet, Bytes::ZERO, counted);
        if self.next.is_none() && self.queue.backlog().packets > 0 {
            self.idle = None;
            self.next = Some((now, self.pulls(now)));
            let arrival = earlier(due.arrival, self.depart(now, events).arrival);
            due = Due { departure: self.departure(), arrival };
        }
        // The maximum of the queue occurs after an arrival, without packets that leave at once.
        let Backlog { bytes, packets } = self.backlog(now);
        self.link.figures_mut().note_queue(packets, bytes);
        due
    }

    /// Removes the packets that are due by now from the queue.
    pub fn depart(&mut self, now: Time, events: &mut dyn QueueEvents) -> Due {
        let mut due = Due::default();
        while let Some((since, _)) = self.next.filter(|(_, at)| *at <= now) {
            let counted = &mut Counted { now, figures: self.link.figures_mut(), events };
            if let Some(packet) = self.queue.dequeue(now, counted) {
                let (begins, arrival) = self.link.carry(since, packet.size, packet.packet);
                self.link.figures_mut().add_wait(packet.size, begins.since(packet.arrived));
                due.arrival = earlier(due.arrival, arrival);
            }
            if self.queue.backlog().packets > 0 {
                self.next = Some((since, self.pulls(since)));
            } else {
                (self.next, self.idle) = (None, Some(self.pulls(since)));
            }
            due.departure = self.departure();
        }
        due
    }

    /// Returns when the interface takes the next of the packets that have waited since `since`.
    fn pulls(&self, since: Time) -> Time {
        match self.ring {
            0 => self.link.begins(since),
            ring => self.link.has_fewer_from(ring).map_or(since, |at| at.max(since)),
        }
    }

    fn departure(&self) -> Option<Time> {
        self.next.map(|(_, at)| at)
    }

    /// Returns the backlog, with framing and without the packet in transmission.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let Backlog { bytes, packets } = self.queue.backlog();
        Backlog { bytes: bytes + self.link.waiting_bytes(now), packets: packets + self.link.waiting(now) }
    }

    /// Returns the link behind the queue.
    pub fn link(&self) -> &Link<Key> {
        &self.link
    }

    /// Returns the link mutably, for arrivals.
    pub fn link_mut(&mut self) -> &mut Link<Key> {
        &mut self.link
    }

    /// Returns the number of packets inside: waiting, in transmission or in flight.
    pub fn inside(&self) -> usize {
        self.queue.inside().count() + self.link.inside().count()
    }

    /// Returns the counters until now.
    pub fn figures(&self, now: Time) -> Figures {
        let mut figures = self.link.figures(now);
        for packet in self.queue.inside() {
            figures.add_wait(packet.size, now.since(packet.arrived));
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::tests::{Seen, ctx, packet};
    use crate::aqm::{Fifo, Spec, drop_tail};
    use crate::link::wire::Wire;
    use crate::link::{Queue, Server, trace};
    use airwnd_kernel::Direction;
    use airwnd_units::{BitRate, Span};
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    /// Arrivals with their times, the maximum backlog, and the integrals of waiting packets and bytes.
    #[derive(Debug, Default, PartialEq)]
    struct Outcome {
        arrived: Vec<(Time, u32)>,
        dropped: Vec<u32>,
        max: (u64, Bytes),
        waited: (u128, u128),
    }

    const DELAY: Span = Span::from_micros(300);

    fn wire() -> Server {
        Server::Wire(Wire::new(BitRate(10_000_000), Bytes(2)))
    }

    fn recording(text: &str, format: trace::Format) -> Server {
        let mut down = trace::Recording::named("x");
        down.read_text(text, format).unwrap();
        let (up, rate_up, start, digest) = (None, None, Span::ZERO, None);
        let (opportunity, framing) = (Bytes(1500), Bytes::ZERO);
        trace::Params { down, up, rate_up, format, opportunity, framing, start, digest }
            .server(Direction::Down, Time::ZERO)
    }

    /// Limit of a drop-tail queue, and arriving packets: gaps in microseconds, sizes.
    type Case = (u64, Vec<(u64, u64)>);

    fn plain(server: Server, (limit, packets): &Case) -> Outcome {
        let queue = Queue { packets: Some(*limit), ..Queue::default() };
        let mut link = Link::new(server, DELAY, queue);
        let (mut outcome, mut now, mut next) = (Outcome::default(), Time::ZERO, None);
        for (number, (gap, size)) in (0..).zip(packets) {
            now += Span::from_micros(*gap);
            while let Some(at) = next.filter(|at| *at <= now) {
                let (key, following) = link.arrive(at);
                outcome.arrived.push((at, key.unwrap()));
                next = following;
            }
            match link.send(now, Bytes(*size), number) {
                Ok(sent) => next = next.or(sent.event),
                Err(_) => outcome.dropped.push(number),
            }
        }
        while let Some(at) = next {
            let (key, following) = link.arrive(at);
            outcome.arrived.push((at, key.unwrap()));
            next = following;
        }
        let figures = link.figures(Time::NEVER);
        Outcome {
            max: (figures.max_packets, figures.max_bytes),
            waited: (figures.packet_nanos, figures.byte_nanos),
            ..outcome
        }
    }

    fn managed(server: Server, (limit, packets): &Case, ring: usize) -> Outcome {
        let link = Link::new(server, DELAY, Queue::default());
        let params = drop_tail::Params { buffer: Bytes(1 << 30), packets: Some(*limit) };
        let mut link = Managed::new(link, Spec::DropTail(params).build(&ctx()), ring);
        let (mut outcome, mut now) = (Outcome::default(), Time::ZERO);
        let (mut arrival, mut departure): (Option<Time>, Option<Time>) = (None, None);
        let mut seen = Seen::default();
        let mut upcoming = (0..).zip(packets).peekable();
        loop {
            let next_packet = upcoming.peek().map(|(_, (gap, _))| now + Span::from_micros(*gap));
            let Some(at) = [next_packet, arrival, departure].into_iter().flatten().min() else { break };
            let mut due = Due::default();
            // An arrival is processed before a departure at the same instant and must not overtake it.
            if next_packet == Some(at) {
                let (number, (_, size)) = upcoming.next().unwrap();
                now = at;
                due = link.send(at, packet(number, *size, at), &mut seen);
            } else if departure == Some(at) {
                departure = None;
                due = link.depart(at, &mut seen);
            } else {
                let (key, following) = link.link_mut().arrive(at);
                outcome.arrived.push((at, key.unwrap().0));
                arrival = following;
            }
            departure = due.departure.or(departure);
            arrival = arrival.or(due.arrival);
        }
        let figures = link.figures(Time::NEVER);
        assert_eq!((link.inside(), figures.packets as usize), (0, outcome.arrived.len()));
        Outcome {
            dropped: seen.dropped.into_iter().map(|(key, _)| key).collect(),
            max: (figures.max_packets, figures.max_bytes),
            waited: (figures.packet_nanos, figures.byte_nanos),
            ..outcome
        }
    }

    proptest! {
        /// Packets that leave the queue by events have the same times as those computed at entry.
        #[test]
        fn drop_tail_by_events_equals_drop_tail_at_entry(
            limit in 1u64..10,
            // Whole half milliseconds, so that packets often arrive at the instant of an opportunity.
            packets in prop::collection::vec((0u64..4, 1u64..4000), 1..120),
            opportunities in prop::collection::vec(0u32..40, 1..60),
            rates in prop::collection::vec(0u32..30, 1..40),
        ) {
            let packets: Vec<_> = packets.into_iter().map(|(gap, size)| (500 * gap, size)).collect();
            let case = (limit, packets);
            prop_assert_eq!(plain(wire(), &case), managed(wire(), &case, 0));
            let mut times = opportunities;
            times.sort_unstable();
            times.push(41);
            let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
            let recorded = || recording(&text, trace::Format::Mahimahi);
            prop_assert_eq!(plain(recorded(), &case), managed(recorded(), &case, 0));
            let text: String = (1..).zip(&rates).map(|(at, rate)| format!("{} {rate}\n", at as f64 / 100.0)).collect();
            let recorded = || recording(&format!("{text}1 5\n"), trace::Format::Rate);
            prop_assert_eq!(plain(recorded(), &case), managed(recorded(), &case, 0));
        }

        /// A ring behind drop-tail has the effect of a larger queue limit.
        #[test]
        fn a_ring_extends_the_queue_without_delay(
            (limit, ring) in (1u64..6, 1usize..4),
            packets in prop::collection::vec((0u64..2000, 1u64..4000), 1..120),
        ) {
            let roomier = (limit + ring as u64, packets.clone());
            prop_assert_eq!(plain(wire(), &roomier), managed(wire(), &(limit, packets), ring));
        }
    }

    /// Records dequeue calls on an empty queue.
    struct Probe {
        queue: Fifo,
        found_empty: Arc<Mutex<Vec<Time>>>,
    }

    impl QueueDisc for Probe {
        fn enqueue(&mut self, _: Time, packet: Waiting, _: Bytes, _: &mut dyn QueueEvents) {
            self.queue.push(packet);
        }
        fn dequeue(&mut self, now: Time, _: &mut dyn QueueEvents) -> Option<Waiting> {
            let packet = self.queue.pop();
            if packet.is_none() {
                self.found_empty.lock().unwrap().push(now);
            }
            packet
        }
        fn backlog(&self) -> Backlog {
            self.queue.backlog()
        }
        fn oldest(&self) -> Option<Time> {
            self.queue.oldest()
        }
        fn inside(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
            Box::new(self.queue.iter())
        }
    }

    /// Two packets of 1 ms, one during the transmission of the second, one after an idle time.
    #[test]
    fn a_discipline_is_dequeued_once_when_found_empty() {
        let found_empty = Arc::new(Mutex::new(Vec::new()));
        let probe = Probe { queue: Fifo::default(), found_empty: found_empty.clone() };
        let mut link = Managed::new(Link::new(wire(), DELAY, Queue::default()), Box::new(probe), 0);
        let mut seen = Seen::default();
        let at = |us: u64| Time::ZERO + Span::from_micros(us);
        link.send(at(0), packet(0, 1248, at(0)), &mut seen);
        link.send(at(0), packet(1, 1248, at(0)), &mut seen);
        link.depart(at(1000), &mut seen);
        link.send(at(1500), packet(2, 1248, at(1500)), &mut seen);
        link.depart(at(2000), &mut seen);
        assert!(found_empty.lock().unwrap().is_empty());
        link.send(at(9000), packet(3, 1248, at(9000)), &mut seen);
        assert_eq!(*found_empty.lock().unwrap(), [at(3000)]);
    }
}

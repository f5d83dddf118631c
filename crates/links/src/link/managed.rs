//! One direction of a link whose queue a discipline manages.

use super::{Figures, Link};
use crate::aqm::{Backlog, Cause, QueueDisc, QueueEvents, Waiting};
use airwnd_kernel::Key;
use airwnd_units::{Bytes, Time};

/// A queue discipline, and behind it a [`Link`] that takes a packet from it whenever it is free.
///
/// A discipline may drop at any time what waits, so no packet's times are known before it leaves the queue: each
/// departure needs an event, besides those of the link's arrivals. The owner schedules what [`Due`] says; an event that
/// an arrival has overtaken says nothing. An interface may take packets from the discipline ahead of their transmission,
/// into a ring where they wait beyond its reach.
///
/// Behind drop-tail, and without a ring, all packets have the times of a link that computes them at entry.
pub struct Managed {
    queue: Box<dyn QueueDisc>,
    /// It counts for both.
    link: Link<Key>,
    /// Packets that the ring holds.
    ring: usize,
    /// Since when something waits, and when the next packet leaves the queue; none: nothing waits.
    next: Option<(Time, Time)>,
    /// When the interface would have taken the next packet from the queue that it has emptied.
    idle: Option<Time>,
}

/// The events that a managed link asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The next packet leaves the queue: [`Managed::depart`].
    pub departure: Option<Time>,
    /// The head of the link arrives at its end: [`Link::arrive`].
    pub arrival: Option<Time>,
}

/// Counts what the queue tells, and hands it on.
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

impl Managed {
    /// An idle link, whose own queue has no limit, behind an empty queue and a ring of so many packets.
    pub fn new(link: Link<Key>, queue: Box<dyn QueueDisc>, ring: usize) -> Managed {
        Managed { queue, link, ring, next: None, idle: None }
    }

    /// A packet arrives, its size without framing.
    pub fn send(&mut self, now: Time, packet: Waiting, events: &mut dyn QueueEvents) -> Due {
        // What leaves the queue at this very instant leaves before it.
        let mut due = self.depart(now, events);
        let packet = Waiting { size: packet.size + self.link.framing(), ..packet };
        let counted = &mut Counted { now, figures: self.link.figures_mut(), events };
        // Disciplines learn from being found empty; that it happened is told when it matters next.
        if let Some(at) = self.idle.take_if(|at| *at <= now) {
            let packet = self.queue.dequeue(at, counted);
            debug_assert!(packet.is_none(), "nothing came since it was emptied");
        }
        self.queue.enqueue(now, packet, Bytes::ZERO, counted);
        if self.next.is_none() && self.queue.backlog().packets > 0 {
            self.idle = None;
            self.next = Some((now, self.pulls(now)));
            let arrival = self.depart(now, events).arrival.or(due.arrival);
            due = Due { departure: self.departure(), arrival };
        }
        // The queue is at its longest behind an arrival, without what has left it at once.
        let Backlog { bytes, packets } = self.backlog(now);
        self.link.figures_mut().note_queue(packets, bytes);
        due
    }

    /// Packets leave the queue that are due by now.
    pub fn depart(&mut self, now: Time, events: &mut dyn QueueEvents) -> Due {
        let mut due = Due::default();
        while let Some((since, _)) = self.next.filter(|(_, at)| *at <= now) {
            let counted = &mut Counted { now, figures: self.link.figures_mut(), events };
            if let Some(packet) = self.queue.dequeue(now, counted) {
                let (begins, arrival) = self.link.carry(since, packet.size, packet.packet);
                self.link.figures_mut().add_wait(packet.size, begins.since(packet.arrived));
                due.arrival = due.arrival.or(arrival);
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

    /// When the interface takes the next packet of those that wait since then.
    fn pulls(&self, since: Time) -> Time {
        match self.ring {
            0 => self.link.begins(since),
            ring => self.link.has_fewer_from(ring).map_or(since, |at| at.max(since)),
        }
    }

    fn departure(&self) -> Option<Time> {
        self.next.map(|(_, at)| at)
    }

    /// What waits, with framing and without the packet in transmission.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let Backlog { bytes, packets } = self.queue.backlog();
        Backlog { bytes: bytes + self.link.waiting_bytes(now), packets: packets + self.link.waiting(now) }
    }

    /// The link behind the queue.
    pub fn link(&self) -> &Link<Key> {
        &self.link
    }

    /// As [`Managed::link`], to take what arrives.
    pub fn link_mut(&mut self) -> &mut Link<Key> {
        &mut self.link
    }

    /// How many packets are inside: waiting, in transmission or on its way.
    pub fn inside(&self) -> usize {
        self.queue.inside().count() + self.link.inside().count()
    }

    /// What it did until now.
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

    /// Arrivals with their instants, the most that ever waited, and the sums of waiting times.
    #[derive(Debug, Default, PartialEq)]
    struct Story {
        arrived: Vec<(Time, u32)>,
        dropped: Vec<u32>,
        most: (u64, Bytes),
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
        trace::Params { down, up, rate_up, format, start, digest }.server(Direction::Down, Time::ZERO)
    }

    /// The limit of a drop-tail queue, and the packets that come: gaps in microseconds, sizes.
    type Case = (u64, Vec<(u64, u64)>);

    fn plain(server: Server, (limit, packets): &Case) -> Story {
        let queue = Queue { packets: Some(*limit), ..Queue::default() };
        let mut link = Link::new(server, DELAY, queue);
        let (mut story, mut now, mut next) = (Story::default(), Time::ZERO, None);
        for (number, (gap, size)) in (0..).zip(packets) {
            now += Span::from_micros(*gap);
            while let Some(at) = next.filter(|at| *at <= now) {
                let (key, following) = link.arrive(at);
                story.arrived.push((at, key.unwrap()));
                next = following;
            }
            match link.send(now, Bytes(*size), number) {
                Ok(sent) => next = next.or(sent.event),
                Err(_) => story.dropped.push(number),
            }
        }
        while let Some(at) = next {
            let (key, following) = link.arrive(at);
            story.arrived.push((at, key.unwrap()));
            next = following;
        }
        let figures = link.figures(Time::NEVER);
        Story {
            most: (figures.most_packets, figures.most_bytes),
            waited: (figures.packet_nanos, figures.byte_nanos),
            ..story
        }
    }

    fn managed(server: Server, (limit, packets): &Case, ring: usize) -> Story {
        let link = Link::new(server, DELAY, Queue::default());
        let params = drop_tail::Params { buffer: Bytes(1 << 30), packets: Some(*limit) };
        let mut link = Managed::new(link, Spec::DropTail(params).build(&ctx()), ring);
        let (mut story, mut now) = (Story::default(), Time::ZERO);
        let (mut arrival, mut departure): (Option<Time>, Option<Time>) = (None, None);
        let mut seen = Seen::default();
        let mut coming = (0..).zip(packets).peekable();
        loop {
            let comes = coming.peek().map(|(_, (gap, _))| now + Span::from_micros(*gap));
            let Some(at) = [comes, arrival, departure].into_iter().flatten().min() else { break };
            let mut due = Due::default();
            // The arrival comes before the departure of the same instant: it must not jump the queue.
            if comes == Some(at) {
                let (number, (_, size)) = coming.next().unwrap();
                now = at;
                due = link.send(at, packet(number, *size, at), &mut seen);
            } else if departure == Some(at) {
                departure = None;
                due = link.depart(at, &mut seen);
            } else {
                let (key, following) = link.link_mut().arrive(at);
                story.arrived.push((at, key.unwrap().0));
                arrival = following;
            }
            departure = due.departure.or(departure);
            arrival = arrival.or(due.arrival);
        }
        let figures = link.figures(Time::NEVER);
        assert_eq!((link.inside(), figures.packets as usize), (0, story.arrived.len()));
        Story {
            dropped: seen.dropped.into_iter().map(|(key, _)| key).collect(),
            most: (figures.most_packets, figures.most_bytes),
            waited: (figures.packet_nanos, figures.byte_nanos),
            ..story
        }
    }

    proptest! {
        /// Packets that leave the queue one by one have the times of those that are computed when they come.
        #[test]
        fn drop_tail_is_as_without_events(
            limit in 1u64..10,
            // Whole half milliseconds, so that packets often come at the instant of an opportunity.
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

        /// A ring behind drop-tail is as much more room.
        #[test]
        fn a_ring_delays_nothing(
            (limit, ring) in (1u64..6, 1usize..4),
            packets in prop::collection::vec((0u64..2000, 1u64..4000), 1..120),
        ) {
            let roomier = (limit + ring as u64, packets.clone());
            prop_assert_eq!(plain(wire(), &roomier), managed(wire(), &(limit, packets), ring));
        }
    }

    /// Notes when it is asked for a packet and has none.
    struct Spy {
        queue: Fifo,
        found_empty: Arc<Mutex<Vec<Time>>>,
    }

    impl QueueDisc for Spy {
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

    /// Two packets of 1 ms, one while the second is sent, one after an idle time.
    #[test]
    fn a_discipline_learns_that_it_was_found_empty() {
        let found_empty = Arc::new(Mutex::new(Vec::new()));
        let spy = Spy { queue: Fifo::default(), found_empty: found_empty.clone() };
        let mut link = Managed::new(Link::new(wire(), DELAY, Queue::default()), Box::new(spy), 0);
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

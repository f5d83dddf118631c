//! One direction of a link whose queue a discipline manages.

use super::{Figures, Link};
use crate::Key;
use crate::aqm::{Backlog, Cause, Fate, QueueDisc, Waiting};
use airwnd_units::{Bytes, Time};

/// A queue discipline, and behind it a [`Link`] that takes a packet from it whenever it is free.
///
/// A discipline may drop at any time what waits, so no packet's times are known before it leaves the queue: each
/// departure needs an event, besides those of the link's arrivals. The owner schedules what [`Due`] says; an event that
/// an arrival has overtaken says nothing.
///
/// Behind drop-tail all packets have the times of a link that computes them at entry.
pub struct Managed {
    queue: Box<dyn QueueDisc>,
    link: Link<Key>,
    /// Since when something waits, and when the next packet leaves the queue; none: nothing waits.
    next: Option<(Time, Time)>,
    figures: Figures,
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
    fate: &'a mut dyn Fate,
}

impl Fate for Counted<'_> {
    fn dropped(&mut self, packet: Waiting, cause: Cause) {
        match cause {
            Cause::Full => self.figures.refused += 1,
            Cause::Early => self.figures.early += 1,
        }
        self.figures.add_wait(packet.size, self.now.since(packet.arrived));
        self.fate.dropped(packet, cause);
    }
    fn marked(&mut self, packet: Key) {
        self.figures.marked += 1;
        self.fate.marked(packet);
    }
}

impl Managed {
    /// An idle link, whose own queue has no limit, behind an empty queue.
    pub fn new(link: Link<Key>, queue: Box<dyn QueueDisc>) -> Managed {
        Managed { queue, link, next: None, figures: Figures::default() }
    }

    /// A packet arrives, its size without framing.
    pub fn send(&mut self, now: Time, packet: Waiting, fate: &mut dyn Fate) -> Due {
        // What leaves the queue at this very instant leaves before it.
        let mut due = self.depart(now, fate);
        let packet = Waiting { size: packet.size + self.link.framing(), ..packet };
        let counted = &mut Counted { now, figures: &mut self.figures, fate };
        self.queue.enqueue(now, packet, Bytes::ZERO, counted);
        if self.next.is_none() && self.backlog().packets > 0 {
            self.next = Some((now, self.link.begins(now)));
            let arrival = self.depart(now, fate).arrival.or(due.arrival);
            due = Due { departure: self.departure(), arrival };
        }
        // The queue is at its longest behind an arrival, without what has left it at once.
        let Backlog { bytes, packets } = self.backlog();
        self.figures.note_queue(packets, bytes);
        due
    }

    /// Packets leave the queue that are due by now.
    pub fn depart(&mut self, now: Time, fate: &mut dyn Fate) -> Due {
        let mut due = Due::default();
        while let Some((since, _)) = self.next.filter(|(_, at)| *at <= now) {
            let counted = &mut Counted { now, figures: &mut self.figures, fate };
            if let Some(packet) = self.queue.dequeue(now, counted) {
                self.figures.add_wait(packet.size, now.since(packet.arrived));
                let (_, arrival) = self.link.carry(since, packet.size, packet.packet);
                due.arrival = due.arrival.or(arrival);
            }
            self.next = (self.backlog().packets > 0).then(|| (since, self.link.begins(since)));
            due.departure = self.departure();
        }
        due
    }

    fn departure(&self) -> Option<Time> {
        self.next.map(|(_, at)| at)
    }

    /// What waits, with framing and without the packet in transmission.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The link behind the queue.
    pub fn link(&self) -> &Link<Key> {
        &self.link
    }

    /// As [`Managed::link`], to take what arrives.
    pub fn link_mut(&mut self) -> &mut Link<Key> {
        &mut self.link
    }

    /// How many packets are inside: waiting, in transmission or under way.
    pub fn inside(&self) -> usize {
        self.queue.inside().count() + self.link.inside().count()
    }

    /// What it did until now.
    pub fn figures(&self, now: Time) -> Figures {
        let Figures { packets, bytes, lost, .. } = self.link.figures(now);
        let mut figures = Figures { packets, bytes, lost, ..self.figures };
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
    use crate::aqm::{Spec, drop_tail};
    use crate::link::wire::Wire;
    use crate::link::{Queue, Server, Way, trace};
    use airwnd_units::{BitRate, Span};
    use proptest::prelude::*;

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
        trace::Params { down, up, rate_up, format, start, digest }.server(Way::Down, Time::ZERO)
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

    fn managed(server: Server, (limit, packets): &Case) -> Story {
        let link = Link::new(server, DELAY, Queue::default());
        let params = drop_tail::Params { buffer: Bytes(1 << 30), packets: Some(*limit) };
        let mut link = Managed::new(link, Spec::DropTail(params).build(&ctx()));
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
            prop_assert_eq!(plain(wire(), &case), managed(wire(), &case));
            let mut times = opportunities;
            times.sort_unstable();
            times.push(41);
            let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
            let recorded = || recording(&text, trace::Format::Mahimahi);
            prop_assert_eq!(plain(recorded(), &case), managed(recorded(), &case));
            let text: String = (1..).zip(&rates).map(|(at, rate)| format!("{} {rate}\n", at as f64 / 100.0)).collect();
            let recorded = || recording(&format!("{text}1 5\n"), trace::Format::Rate);
            prop_assert_eq!(plain(recorded(), &case), managed(recorded(), &case));
        }
    }
}

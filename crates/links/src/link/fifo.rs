//! One direction of a link.

use super::{Figures, Server, Service as _};
use crate::loss::{Loss, Passing};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// A FIFO queue, a [`Service`](super::Service), then a constant delay.
///
/// Since all of it is FIFO, a packet's times are known when it enters; only the head needs an event. The owner
/// schedules one when [`Link::send`] says so, and again while [`Link::arrive`] names a next time. A lost packet
/// takes its time on the link like any other, and is given up at the end.
pub struct Link<T> {
    server: Server,
    framing: Bytes,
    delay: Span,
    queue: Queue,
    loss: Option<Box<dyn Loss>>,
    in_flight: VecDeque<Passage<T>>,
    /// How many of `in_flight` have left the queue, as of the last look.
    begun: usize,
    /// The sizes of the others.
    waiting_bytes: Bytes,
    /// When the last packet has gone.
    free_at: Time,
    /// How many packets have entered.
    entered: u64,
    /// The bytes of those that have arrived or were lost.
    sent_bytes: Bytes,
    figures: Figures,
}

/// What may wait, and from where on packets are marked instead of waiting unnoticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Packets that may wait besides the one in transmission; none: no limit.
    pub packets: Option<u64>,
    /// Bytes that may wait besides the packet in transmission; none: no limit.
    pub bytes: Option<Bytes>,
    /// A packet that finds more packets waiting is to be marked.
    pub mark_above: Option<u64>,
    /// A packet that will wait longer is to be marked.
    pub mark_above_delay: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Passage<T> {
    begins: Time,
    arrives: Time,
    size: Bytes,
    lost: bool,
    item: T,
}

/// What became of a packet that the link took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Asks for an event when this packet, now the head, arrives; none: one is pending for an earlier packet.
    pub event: Option<Time>,
    /// The packet is to be marked if it can be.
    pub mark: bool,
}

/// The link's queue is full: the packet is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<T>(pub T);

/// The packet did not survive the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<T>(pub T);

impl Queue {
    /// Whether one more packet of this size may wait besides these.
    pub(super) fn has_room(&self, waiting: u64, waiting_bytes: Bytes, size: Bytes) -> bool {
        self.packets.is_none_or(|limit| waiting < limit)
            && self.bytes.is_none_or(|limit| waiting_bytes + size <= limit)
    }

    /// Whether a packet that finds so many waiting is to be marked.
    pub(super) fn marks(&self, waiting: u64) -> bool {
        self.mark_above.is_some_and(|limit| waiting > limit)
    }
}

impl<T> Link<T> {
    /// An idle link.
    pub fn new(server: Server, delay: Span, queue: Queue) -> Self {
        Link {
            framing: server.framing(),
            server,
            delay,
            queue,
            loss: None,
            in_flight: VecDeque::with_capacity(64),
            begun: 0,
            waiting_bytes: Bytes::ZERO,
            free_at: Time::ZERO,
            entered: 0,
            sent_bytes: Bytes::ZERO,
            figures: Figures::default(),
        }
    }

    /// The link with this rule of which packets it loses.
    pub fn losing(self, loss: Box<dyn Loss>) -> Self {
        Link { loss: Some(loss), ..self }
    }

    /// Sends a packet of `size`.
    ///
    /// # Errors
    /// The packet, if its queue is full. A link that is idle takes any packet.
    pub fn send(&mut self, now: Time, size: Bytes, item: T) -> Result<Sent, Refused<T>> {
        let size = size + self.framing;
        let waiting = self.waiting(now);
        let busy = now < self.free_at;
        if busy && !self.queue.has_room(waiting, self.waiting_bytes, size) {
            self.figures.refused += 1;
            return Err(Refused(item));
        }
        let (begins, event) = self.carry(now, size, item);
        let wait = begins - now;
        let mark = self.queue.marks(waiting) || self.queue.mark_above_delay.is_some_and(|limit| wait > limit);
        if wait > Span::ZERO {
            self.figures.add_wait(size, wait);
            self.figures.note_queue(waiting + 1, self.waiting_bytes);
        }
        Ok(Sent { event, mark })
    }

    /// Serves a packet of `size`, with framing, that came at `came`: when it leaves the queue, and when it arrives if
    /// it is the head.
    #[inline]
    pub(super) fn carry(&mut self, came: Time, size: Bytes, item: T) -> (Time, Option<Time>) {
        let served = self.server.serve(came, size);
        self.free_at = served.ends;
        let arrives = served.ends + self.delay;
        let packet = Passing { number: self.entered, size, at: arrives };
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(packet));
        self.entered += 1;
        self.waiting_bytes += size;
        self.in_flight.push_back(Passage { begins: served.begins, arrives, size, lost, item });
        (served.begins, (self.in_flight.len() == 1).then_some(arrives))
    }

    /// When a packet would leave the queue that came now.
    pub(super) fn begins(&self, now: Time) -> Time {
        self.server.begins(now)
    }

    /// From when on fewer packets than this wait; none: they do already.
    pub(super) fn has_fewer_from(&self, packets: usize) -> Option<Time> {
        self.in_flight
            .len()
            .checked_sub(packets)
            .and_then(|behind| self.in_flight.get(behind))
            .map(|one| one.begins)
    }

    /// What it adds to each packet.
    pub fn framing(&self) -> Bytes {
        self.framing
    }

    /// What it has counted, for what stands before it.
    pub(super) fn figures_mut(&mut self) -> &mut Figures {
        &mut self.figures
    }

    /// A packet that was to be marked could be.
    pub fn count_mark(&mut self) {
        self.figures.marked += 1;
    }

    /// The packet that arrives now or turns out to be lost, and when the next one does.
    pub fn arrive(&mut self, now: Time) -> (Result<T, Lost<T>>, Option<Time>) {
        let head = self.in_flight.pop_front().expect("an arrival is scheduled for a packet");
        debug_assert_eq!(head.arrives, now, "a packet arrives when it was said to");
        match self.begun.checked_sub(1) {
            Some(begun) => self.begun = begun,
            // It has left the queue since the last look.
            None => self.waiting_bytes -= head.size,
        }
        self.sent_bytes += head.size;
        let arrived = if head.lost {
            self.figures.lost += 1;
            Err(Lost(head.item))
        } else {
            self.figures.packets += 1;
            self.figures.bytes += head.size;
            Ok(head.item)
        };
        (arrived, self.in_flight.front().map(|next| next.arrives))
    }

    /// How many packets wait, without the one in transmission.
    pub fn waiting(&mut self, now: Time) -> u64 {
        while let Some(packet) = self.in_flight.get(self.begun).filter(|packet| packet.begins <= now) {
            self.waiting_bytes -= packet.size;
            self.begun += 1;
        }
        (self.in_flight.len() - self.begun) as u64
    }

    /// How many bytes wait, without the packet in transmission.
    pub fn waiting_bytes(&mut self, now: Time) -> Bytes {
        self.waiting(now);
        self.waiting_bytes
    }

    /// The packets inside: waiting, in transmission or under way.
    pub fn inside(&self) -> impl Iterator<Item = &T> {
        self.in_flight.iter().map(|packet| &packet.item)
    }

    /// What it did until now.
    pub fn figures(&self, now: Time) -> Figures {
        let mut figures = self.figures;
        for packet in &self.in_flight {
            let unwaited = u128::from(packet.begins.since(now).0);
            figures.packet_nanos -= unwaited;
            figures.byte_nanos -= u128::from(packet.size.0) * unwaited;
        }
        figures
    }

    /// Bytes that have left the queue's end for the way until now.
    pub fn sent_bytes(&self, now: Time) -> Bytes {
        let gone = self.in_flight.iter().take_while(|packet| packet.arrives <= now + self.delay);
        gone.fold(self.sent_bytes, |sum, packet| sum + packet.size)
    }

    /// Its rate, if it is constant and there is one.
    pub fn rate(&self) -> Option<BitRate> {
        self.server.rate()
    }

    /// From its queue's end to its other end.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// The rate at which it can send between two instants; none: no limit.
    pub fn rate_between(&self, from: Time, to: Time) -> Option<BitRate> {
        self.rate().or_else(|| self.capacity(from, to).map(|bytes| BitRate::of(bytes, to.since(from))))
    }

    /// How long a packet takes that comes at an instant and finds nobody here.
    pub fn crossing(&self, from: Time, size: Bytes) -> Span {
        self.server.alone(from, size + self.framing) + self.delay
    }

    /// How much it could send between two instants; none: no limit.
    pub fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        self.server.capacity(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::wire::Wire;
    use crate::loss::{self, scripted};
    use airwnd_kernel::Stream;
    use proptest::prelude::*;

    /// A wire of 10 Mbit/s without framing.
    fn wire<T>(delay: Span, queue: Queue) -> Link<T> {
        Link::new(Server::Wire(Wire::new(BitRate(10_000_000), Bytes::ZERO)), delay, queue)
    }

    /// At most so many packets wait.
    fn at_most(packets: u64) -> Queue {
        Queue { packets: Some(packets), ..Queue::default() }
    }

    fn head(at: u64) -> Result<Sent, Refused<char>> {
        Ok(Sent { event: Some(Time(at)), mark: false })
    }

    const BEHIND: Result<Sent, Refused<char>> = Ok(Sent { event: None, mark: false });

    #[test]
    fn arrival_is_serialisation_plus_delay() {
        // 1250 B at 10 Mbit/s: 1 ms each, then 25 ms of delay
        let mut link = wire(Span::from_millis(25), Queue::default());
        assert_eq!(link.send(Time(0), Bytes(1250), 'a'), head(26_000_000));
        assert_eq!(link.send(Time(0), Bytes(1250), 'b'), BEHIND);
        assert_eq!(link.arrive(Time(26_000_000)), (Ok('a'), Some(Time(27_000_000))));
        assert_eq!(link.arrive(Time(27_000_000)), (Ok('b'), None));
    }

    /// What is lost holds up the packets behind it, and arrives when it would have.
    #[test]
    fn a_lost_packet_occupies_the_link() {
        let script = scripted::Params { packets: vec![0, 2], instants: Vec::new() };
        let loss = loss::Spec::Scripted(script).build(Stream::new(1, "test"), Time::ZERO);
        let mut link = wire(Span::ZERO, at_most(2)).losing(loss);
        assert_eq!(link.send(Time(0), Bytes(1250), 'a'), head(1_000_000));
        assert_eq!(link.send(Time(0), Bytes(1250), 'b'), BEHIND);
        assert_eq!(link.send(Time(0), Bytes(1250), 'c'), BEHIND);
        // The queue refuses a packet: the script does not count it.
        assert_eq!(link.send(Time(0), Bytes(1250), 'd'), Err(Refused('d')));
        assert_eq!(link.arrive(Time(1_000_000)), (Err(Lost('a')), Some(Time(2_000_000))));
        assert_eq!(link.arrive(Time(2_000_000)), (Ok('b'), Some(Time(3_000_000))));
        assert_eq!(link.arrive(Time(3_000_000)), (Err(Lost('c')), None));
        let figures = link.figures(Time(3_000_000));
        assert_eq!((figures.packets, figures.lost, figures.refused), (1, 2, 1));
        assert_eq!((figures.bytes, link.sent_bytes(Time(3_000_000))), (Bytes(1250), Bytes(3750)));
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut link = wire(Span::ZERO, at_most(1));
        assert!(link.send(Time(0), Bytes(1250), 'a').is_ok());
        assert!(link.send(Time(0), Bytes(1250), 'b').is_ok());
        assert_eq!(link.send(Time(0), Bytes(1250), 'c'), Err(Refused('c')));
        assert_eq!(link.waiting(Time(0)), 1);
        assert!(link.send(Time(1_000_000), Bytes(1250), 'd').is_ok());
    }

    #[test]
    fn a_queue_may_be_full_of_bytes() {
        let mut link =
            wire(Span::ZERO, Queue { packets: Some(3), bytes: Some(Bytes(1000)), ..Queue::default() });
        // An idle wire takes what its queue would not.
        assert!(link.send(Time(0), Bytes(1250), 'a').is_ok());
        assert_eq!(link.send(Time(0), Bytes(1001), 'b'), Err(Refused('b')));
        assert!(link.send(Time(0), Bytes(600), 'c').is_ok());
        assert_eq!(link.send(Time(0), Bytes(401), 'd'), Err(Refused('d')));
        assert!(link.send(Time(0), Bytes(400), 'e').is_ok());
        assert_eq!(link.waiting_bytes(Time(0)), Bytes(1000));
        assert_eq!(link.waiting_bytes(Time(1_000_000)), Bytes(400));
    }

    /// Three packets of 1 ms: one waits for 1 ms, one for 2 ms.
    #[test]
    fn what_waits_is_summed_over_time() {
        let mut link = wire(Span::ZERO, Queue::default());
        for name in ['a', 'b', 'c'] {
            link.send(Time(0), Bytes(1250), name).unwrap();
        }
        let sums =
            |link: &Link<char>, at| (link.figures(Time(at)).packet_nanos, link.figures(Time(at)).byte_nanos);
        assert_eq!(sums(&link, 0), (0, 0));
        assert_eq!(sums(&link, 500_000), (2 * 500_000, 2500 * 500_000));
        assert_eq!(sums(&link, 2_000_000), (3_000_000, 3_000_000 * 1250));
        assert_eq!((link.figures(Time(0)).most_packets, link.figures(Time(0)).most_bytes), (2, Bytes(2500)));
    }

    #[test]
    fn a_mark_is_asked_for_above_the_step() {
        let marks = |queue: Queue| -> Vec<bool> {
            let mut link = wire(Span::ZERO, queue);
            (0..4).map(|name| link.send(Time(0), Bytes(1250), name).unwrap().mark).collect()
        };
        // Found waiting: 0, 0, 1, 2.
        let above = Queue { mark_above: Some(1), ..Queue::default() };
        assert_eq!(marks(above), [false, false, false, true]);
        // Will wait: 0, 1, 2, 3 ms.
        let later = Queue { mark_above_delay: Some(Span::from_millis(1)), ..Queue::default() };
        assert_eq!(marks(later), [false, false, true, true]);
    }

    proptest! {
        /// No packet overtakes, none arrives before its own serialisation, no queue exceeds its limit.
        #[test]
        fn fifo_and_bounded(gaps in prop::collection::vec((0u64..2_000_000, 1u64..1500), 1..200), limit in 1u64..10) {
            let mut link = wire(Span::from_micros(10), at_most(limit));
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
                    next = next.or(first.event);
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
            prop_assert_eq!(link.figures(Time::NEVER).packets as usize, sent);
        }
    }
}

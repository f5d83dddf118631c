//! One direction of a link.

use super::bucket::{Bucket, Police};
use super::impairments::{Arrived, Impairments, Travellers, Way};
use super::{Figures, Server, Service as _};
use crate::loss::{Loss, Passing};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::collections::VecDeque;

/// A FIFO queue, a [`Service`](super::Service), then a delay.
///
/// All parts are FIFO, so the times of a packet are known when it enters, and only the head needs an event. The owner
/// schedules one when [`Link::send`] returns it, and again while [`Link::arrive`] returns a next time. A lost packet
/// occupies the link like any other and is discarded at the end.
///
/// On an impaired link packets may overtake: its events are those of [`Link::surface`], and a packet that will be the
/// first to arrive needs another event.
pub struct Link<T> {
    server: Server,
    framing: Bytes,
    delay: Span,
    /// Later delays with the times from which they apply, in chronological order.
    reroutes: Vec<(Time, Span)>,
    queue: Queue,
    loss: Option<Box<dyn Loss>>,
    gate: Option<Box<Gate>>,
    impaired: Option<Box<Impaired<T>>>,
    /// Packets in flight. On an impaired link it only counts what waits and what is sent, and forgets a packet when it
    /// would have arrived without impairments.
    in_flight: VecDeque<Passage<T>>,
    /// Number of packets in `in_flight` that had left the queue at the last check.
    begun: usize,
    /// Total size of the others.
    waiting_bytes: Bytes,
    /// End of the last transmission.
    free_at: Time,
    /// Number of packets that have entered.
    entered: u64,
    /// Bytes of packets that have arrived or were lost.
    sent_bytes: Bytes,
    figures: Figures,
}

/// Admission to the queue.
#[derive(Default)]
struct Gate {
    /// A policer.
    police: Option<Bucket>,
    /// Size above which no packet passes the shaper.
    largest: Option<Bytes>,
}

/// Impairments, and the packets that pass them.
struct Impaired<T> {
    impairments: Impairments,
    travellers: Travellers<T>,
}

/// A packet at the end of an impaired link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaced<T> {
    /// The packet, unless it was lost.
    pub packet: Result<T, Lost<T>>,
    /// Time of the event to schedule.
    pub event: Option<Time>,
    /// Arrival of its copy, which the owner makes and passes to [`Link::follow`]; `None`: it has no copy.
    pub copy: Option<Time>,
}

/// Limits of the queue, and thresholds of marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Maximum number of waiting packets, without the one in transmission; `None`: no limit.
    pub packets: Option<u64>,
    /// Maximum number of waiting bytes, without the packet in transmission; `None`: no limit.
    pub bytes: Option<Bytes>,
    /// Number of waiting packets above which an arriving packet is to be marked.
    pub mark_above: Option<u64>,
    /// Waiting time above which a packet is to be marked.
    pub mark_above_delay: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Passage<T> {
    begins: Time,
    ends: Time,
    arrives: Time,
    size: Bytes,
    lost: bool,
    item: T,
}

/// Result of a packet accepted by the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time of the event to schedule, the arrival of this packet as the new head; `None`: an event for an earlier
    /// packet is pending.
    pub event: Option<Time>,
    /// Whether the packet is to be marked if it is ECN-capable.
    pub mark: bool,
}

/// The link's queue is full; the packet is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<T>(pub T);

/// The packet was lost on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<T>(pub T);

impl Queue {
    /// Returns whether a packet of this size may wait in addition to these.
    pub(super) fn has_room(&self, waiting: u64, waiting_bytes: Bytes, size: Bytes) -> bool {
        self.packets.is_none_or(|limit| waiting < limit)
            && self.bytes.is_none_or(|limit| waiting_bytes + size <= limit)
    }

    /// Returns whether a packet that finds `waiting` packets is to be marked.
    pub(super) fn marks(&self, waiting: u64) -> bool {
        self.mark_above.is_some_and(|limit| waiting > limit)
    }
}

impl<T: Copy> Link<T> {
    /// Creates an idle link.
    pub fn new(server: Server, delay: Span, queue: Queue) -> Self {
        Link {
            framing: server.framing(),
            server,
            delay,
            reroutes: Vec::new(),
            queue,
            loss: None,
            gate: None,
            impaired: None,
            in_flight: VecDeque::with_capacity(64),
            begun: 0,
            waiting_bytes: Bytes::ZERO,
            free_at: Time::ZERO,
            entered: 0,
            sent_bytes: Bytes::ZERO,
            figures: Figures::default(),
        }
    }

    /// Sets later delays, with the times from which they apply to transmissions that end, in chronological order.
    pub fn rerouting(self, reroutes: Vec<(Time, Span)>) -> Self {
        Link { reroutes, ..self }
    }

    /// Sets the loss model of the link.
    pub fn losing(self, loss: Box<dyn Loss>) -> Self {
        Link { loss: Some(loss), ..self }
    }

    /// Sets the impairments of the link.
    pub fn impaired(self, impairments: Impairments) -> Self {
        Link { impaired: Some(Box::new(Impaired { impairments, travellers: Travellers::new() })), ..self }
    }

    /// Sets a policer in front of the queue.
    pub fn policed(self, police: &Police) -> Self {
        self.gated(|gate| gate.police = Some(Bucket::new(police.rate, police.burst)))
    }

    /// Sets the size, with framing, above which packets are dropped before the queue.
    pub fn passing_at_most(self, largest: Bytes) -> Self {
        self.gated(|gate| gate.largest = Some(largest))
    }

    fn gated(mut self, set: impl FnOnce(&mut Gate)) -> Self {
        set(self.gate.get_or_insert_default());
        self
    }

    /// Returns whether a packet of `size` may enter the queue: whether it conforms to the policer, and does not exceed
    /// the burst of the shaper. Takes its tokens. Call it before the packet is sent.
    #[inline]
    pub fn admits(&mut self, now: Time, size: Bytes) -> bool {
        self.gate.is_none() || self.conforms(now, size + self.framing)
    }

    #[cold]
    fn conforms(&mut self, now: Time, size: Bytes) -> bool {
        let gate = self.gate.as_mut().expect("only a gate refuses packets");
        let conforms = gate.largest.is_none_or(|largest| size <= largest)
            && gate.police.as_mut().is_none_or(|bucket| bucket.take(now, size));
        self.figures.policed += u64::from(!conforms);
        conforms
    }

    /// Sends a packet of `size`.
    ///
    /// # Errors
    /// Returns the packet if its queue is full. An idle link accepts any packet.
    pub fn send(&mut self, now: Time, size: Bytes, item: T) -> Result<Sent, Refused<T>> {
        let size = size + self.framing;
        // Before an idle link nothing waits.
        let is_busy = now < self.free_at;
        let waiting = if is_busy { self.waiting(now) } else { 0 };
        if is_busy && !self.queue.has_room(waiting, self.waiting_bytes, size) {
            self.figures.refused += 1;
            return Err(Refused(item));
        }
        let (begins, event) = self.carry(now, size, item);
        let wait = begins - now;
        let mark = self.queue.marks(waiting) || self.queue.mark_above_delay.is_some_and(|limit| wait > limit);
        if wait > Span::ZERO {
            self.figures.add_wait(size, wait);
            // This one waits in addition to those counted.
            let waiting = if is_busy { waiting + 1 } else { self.waiting(now) };
            self.figures.note_queue(waiting, self.waiting_bytes);
        }
        Ok(Sent { event, mark })
    }

    /// Serves a packet of `size`, with framing, that arrived at `since`. Returns when it leaves the queue, and when
    /// it arrives if it is the head.
    #[inline]
    pub(super) fn carry(&mut self, since: Time, size: Bytes, item: T) -> (Time, Option<Time>) {
        let served = self.server.serve(since, size);
        self.free_at = served.ends;
        let arrives = match self.reroutes.is_empty() {
            true => served.ends + self.delay,
            false => self.rerouted(served.ends),
        };
        let number = self.entered;
        let lost = self.loss.as_mut().is_some_and(|loss| loss.loses(Passing { number, size, at: arrives }));
        self.entered += 1;
        self.waiting_bytes += size;
        self.in_flight.push_back(Passage {
            begins: served.begins,
            ends: served.ends,
            arrives,
            size,
            lost,
            item,
        });
        if self.impaired.is_some() {
            return (served.begins, self.travel(since, number));
        }
        (served.begins, (self.in_flight.len() == 1).then_some(arrives))
    }

    /// Sends the last packet over the impairments. Returns the time of the event to schedule, if there is one.
    #[cold]
    fn travel(&mut self, now: Time, number: u64) -> Option<Time> {
        let Passage { ends, arrives, size, lost, item, .. } =
            *self.in_flight.back().expect("a packet entered");
        self.forget_arrived(now);
        let Impaired { impairments, travellers } = &mut **self.impaired.as_mut().expect("it is impaired");
        let way = impairments.way(number, ends, arrives, lost);
        travellers.enter(way, size, lost, item)
    }

    /// Removes the packets from `in_flight` that would have arrived by now without impairments.
    fn forget_arrived(&mut self, now: Time) {
        while let Some(size) =
            self.in_flight.front().filter(|packet| packet.arrives <= now).map(|one| one.size)
        {
            self.in_flight.pop_front();
            self.count_sent(size);
        }
    }

    /// Counts a packet that was removed from the front of `in_flight`.
    #[inline(always)]
    fn count_sent(&mut self, size: Bytes) {
        match self.begun.checked_sub(1) {
            Some(begun) => self.begun = begun,
            // It has left the queue since the last check.
            None => self.waiting_bytes -= size,
        }
        self.sent_bytes += size;
    }

    /// Counts a packet that leaves the link.
    #[inline(always)]
    fn discharge(&mut self, size: Bytes, lost: bool, item: T) -> Result<T, Lost<T>> {
        if lost {
            self.figures.lost += 1;
            Err(Lost(item))
        } else {
            self.figures.packets += 1;
            self.figures.bytes += size;
            Ok(item)
        }
    }

    /// Returns the arrival time of a packet whose transmission ends at `at`, on a link whose route changes.
    #[cold]
    fn rerouted(&self, at: Time) -> Time {
        //= exception reroute-keeps-the-order
        let earlier = self.in_flight.back().map_or(Time::ZERO, |packet| packet.arrives);
        (at + self.delay(at)).max(earlier)
    }

    /// Sets the rate, `None`: no limit. Returns whether the service takes one: only [`Server::paced`] does.
    pub fn set_rate(&mut self, rate: Option<BitRate>) -> bool {
        self.server.set_rate(rate)
    }

    /// Returns when a packet that arrives now would leave the queue.
    pub(super) fn begins(&self, now: Time) -> Time {
        self.server.begins(now)
    }

    /// Returns the time from which fewer packets than this wait; `None`: fewer wait already.
    pub(super) fn has_fewer_from(&self, packets: usize) -> Option<Time> {
        self.in_flight
            .len()
            .checked_sub(packets)
            .and_then(|behind| self.in_flight.get(behind))
            .map(|one| one.begins)
    }

    /// Returns the framing of each packet.
    pub fn framing(&self) -> Bytes {
        self.framing
    }

    /// Returns the counters, for the queue in front of the link.
    pub(super) fn figures_mut(&mut self) -> &mut Figures {
        &mut self.figures
    }

    /// Counts a packet that was marked.
    pub fn count_mark(&mut self) {
        self.figures.marked += 1;
    }

    /// Returns the packet that arrives now, or is lost now, and the arrival time of the next packet.
    pub fn arrive(&mut self, now: Time) -> (Result<T, Lost<T>>, Option<Time>) {
        let head = self.in_flight.pop_front().expect("an arrival is scheduled for a packet");
        debug_assert_eq!(head.arrives, now, "a packet arrives at its scheduled time");
        self.count_sent(head.size);
        let arrived = self.discharge(head.size, head.lost, head.item);
        (arrived, self.in_flight.front().map(|next| next.arrives))
    }

    /// Returns whether the link is impaired: its events are those of [`Link::surface`].
    #[inline]
    pub fn is_impaired(&self) -> bool {
        self.impaired.is_some()
    }

    /// Returns the packet that arrives or is lost now at the end of an impaired link; `None`: the event was superseded.
    pub fn surface(&mut self, now: Time) -> Option<Surfaced<T>> {
        self.forget_arrived(now);
        let travellers = &mut self.impaired.as_mut().expect("it is impaired").travellers;
        let Arrived { item, size, lost, copy, event } = travellers.leave(now)?;
        Some(Surfaced { packet: self.discharge(size, lost, item), event, copy })
    }

    /// Adds the copy of a packet of `size` that arrives at `arrives` to an impaired link. Returns the time of the event
    /// to schedule, if there is one.
    pub fn follow(&mut self, arrives: Time, size: Bytes, copy: T) -> Option<Time> {
        self.figures.copies += 1;
        let travellers = &mut self.impaired.as_mut().expect("it is impaired").travellers;
        travellers.enter(Way { arrives, copy: None }, size + self.framing, false, copy)
    }

    /// Returns the packet that arrives after the next one, which its owner may have to fetch into a cache.
    pub fn second(&self) -> Option<&T> {
        self.in_flight.get(1).map(|packet| &packet.item)
    }

    /// Returns the number of waiting packets, without the one in transmission.
    pub fn waiting(&mut self, now: Time) -> u64 {
        while let Some(packet) = self.in_flight.get(self.begun).filter(|packet| packet.begins <= now) {
            self.waiting_bytes -= packet.size;
            self.begun += 1;
        }
        (self.in_flight.len() - self.begun) as u64
    }

    /// Returns the number of waiting bytes, without the packet in transmission.
    pub fn waiting_bytes(&mut self, now: Time) -> Bytes {
        self.waiting(now);
        self.waiting_bytes
    }

    /// Returns the packets inside: waiting, in transmission or in flight.
    pub fn inside(&self) -> impl Iterator<Item = &T> {
        let of_impaired = self.impaired.iter().flat_map(|impaired| impaired.travellers.iter());
        let plain = self.in_flight.iter().filter(|_| self.impaired.is_none());
        plain.map(|packet| &packet.item).chain(of_impaired)
    }

    /// Returns the counters until now.
    pub fn figures(&self, now: Time) -> Figures {
        let mut figures = self.figures;
        for packet in &self.in_flight {
            let unwaited = u128::from(packet.begins.since(now).0);
            figures.packet_nanos -= unwaited;
            figures.byte_nanos -= u128::from(packet.size.0) * unwaited;
        }
        figures
    }

    /// Returns the bytes whose transmission has ended by now.
    pub fn sent_bytes(&self, now: Time) -> Bytes {
        let gone = self.in_flight.iter().take_while(|packet| packet.ends <= now);
        gone.fold(self.sent_bytes, |sum, packet| sum + packet.size)
    }

    /// Returns the rate; `None`: the rate varies or is not limited.
    pub fn rate(&self) -> Option<BitRate> {
        self.server.rate()
    }

    /// Returns the propagation delay of a packet whose transmission ends at `at`.
    pub fn delay(&self, at: Time) -> Span {
        let latest = self.reroutes.iter().rev().find(|(from, _)| *from <= at);
        latest.map_or(self.delay, |(_, delay)| *delay)
    }

    /// Returns the mean rate at which it can send between two instants; `None`: no limit.
    pub fn rate_between(&self, from: Time, to: Time) -> Option<BitRate> {
        self.rate().or_else(|| self.capacity(from, to).map(|bytes| BitRate::of(bytes, to.since(from))))
    }

    /// Returns the time that the transmission of a packet takes from an instant on, over an idle link.
    pub fn transmission(&self, from: Time, size: Bytes) -> Span {
        self.server.alone(from, size + self.framing)
    }

    /// Returns the time that a packet takes from an instant on, over an idle link.
    pub fn crossing(&self, from: Time, size: Bytes) -> Span {
        let transmission = self.transmission(from, size);
        transmission + self.delay(from + transmission)
    }

    /// Returns the capacity between two instants; `None`: no limit.
    pub fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        self.server.capacity(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::wire::Wire;
    use crate::link::{Distribution, Duplicate, Jitter};
    use crate::loss::{self, scripted};
    use airwnd_kernel::Stream;
    use proptest::prelude::*;

    /// A wire of 10 Mbit/s without framing.
    fn wire<T: Copy>(delay: Span, queue: Queue) -> Link<T> {
        Link::new(Server::Wire(Wire::new(BitRate(10_000_000), Bytes::ZERO)), delay, queue)
    }

    /// A queue of at most `packets` packets.
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

    /// Serialisation of 1 ms each; the delay is 25 ms, from 2 ms on 100 ms, and from 10 ms on 50 ms.
    #[test]
    fn a_packet_has_the_delay_of_the_route_at_the_end_of_its_transmission() {
        let ms = |at: u64| Time(at * 1_000_000);
        let mut link = wire(Span::from_millis(25), Queue::default())
            .rerouting(vec![(ms(2), Span::from_millis(100)), (ms(10), Span::from_millis(50))]);
        let crossings = [0, 1, 9].map(|from| link.crossing(ms(from), Bytes(1250)).as_millis());
        assert_eq!(crossings, [26.0, 101.0, 51.0]);
        for (at, name) in [(0, 'a'), (1, 'b'), (10, 'c')] {
            link.send(ms(at), Bytes(1250), name).unwrap();
        }
        assert_eq!(link.arrive(ms(26)), (Ok('a'), Some(ms(102))));
        // The transmission of two packets has ended at 2 ms, that of the third at 11 ms.
        assert_eq!([ms(2), ms(11)].map(|now| link.sent_bytes(now).0), [2500, 3750]);
        // 61 ms by its own route.
        assert_eq!(link.arrive(ms(102)), (Ok('b'), Some(ms(102))));
        assert_eq!(link.arrive(ms(102)), (Ok('c'), None));
    }

    /// A lost packet delays the packets behind it, and its loss occurs at its arrival time.
    #[test]
    fn a_lost_packet_occupies_the_link() {
        let script = scripted::Params { packets: vec![0, 2], instants: Vec::new() };
        let loss = loss::Spec::Scripted(script).build(Stream::new(1, "test"), Time::ZERO);
        let mut link = wire(Span::ZERO, at_most(2)).losing(loss);
        assert_eq!(link.send(Time(0), Bytes(1250), 'a'), head(1_000_000));
        assert_eq!(link.send(Time(0), Bytes(1250), 'b'), BEHIND);
        assert_eq!(link.send(Time(0), Bytes(1250), 'c'), BEHIND);
        // The full queue drops a packet: the script does not count it.
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
    fn a_queue_may_be_limited_in_bytes() {
        let mut link =
            wire(Span::ZERO, Queue { packets: Some(3), bytes: Some(Bytes(1000)), ..Queue::default() });
        // An idle wire accepts a packet larger than its queue.
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
    fn waiting_packets_are_integrated_over_time() {
        let mut link = wire(Span::ZERO, Queue::default());
        for name in ['a', 'b', 'c'] {
            link.send(Time(0), Bytes(1250), name).unwrap();
        }
        let sums =
            |link: &Link<char>, at| (link.figures(Time(at)).packet_nanos, link.figures(Time(at)).byte_nanos);
        assert_eq!(sums(&link, 0), (0, 0));
        assert_eq!(sums(&link, 500_000), (2 * 500_000, 2500 * 500_000));
        assert_eq!(sums(&link, 2_000_000), (3_000_000, 3_000_000 * 1250));
        assert_eq!((link.figures(Time(0)).max_packets, link.figures(Time(0)).max_bytes), (2, Bytes(2500)));
    }

    #[test]
    fn packets_above_the_threshold_are_to_be_marked() {
        let marks = |queue: Queue| -> Vec<bool> {
            let mut link = wire(Span::ZERO, queue);
            (0..4).map(|name| link.send(Time(0), Bytes(1250), name).unwrap().mark).collect()
        };
        // Packets found waiting: 0, 0, 1, 2.
        let above = Queue { mark_above: Some(1), ..Queue::default() };
        assert_eq!(marks(above), [false, false, false, true]);
        // Waiting times: 0, 1, 2, 3 ms.
        let later = Queue { mark_above_delay: Some(Span::from_millis(1)), ..Queue::default() };
        assert_eq!(marks(later), [false, false, true, true]);
    }

    proptest! {
        /// Packets stay in order, no packet arrives before the end of its serialisation, and no queue exceeds its
        /// limit.
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

    /// Sends packets with these gaps in microseconds and sizes, and passes each event to the link. Returns the arrivals
    /// with the numbers of the packets, those of copies above 1000, and the link.
    fn crossed(
        mut link: Link<u64>,
        packets: &[(u64, u64)],
        each: &mut dyn FnMut(&mut Link<u64>, Time),
    ) -> (Vec<(Time, u64)>, Link<u64>) {
        let mut events = std::collections::BTreeSet::new();
        let mut arrived = Vec::new();
        let mut sends = packets.iter().scan(Time::ZERO, |now, (gap, size)| {
            *now += Span::from_micros(*gap);
            Some((*now, Bytes(*size)))
        });
        let mut next = sends.next();
        let mut number = 0;
        while let Some(now) = next.map(|(at, _)| at).into_iter().chain(events.first().copied()).min() {
            if events.first() == Some(&now) {
                events.pop_first();
                if link.is_impaired() {
                    while let Some(surfaced) = link.surface(now) {
                        let tag = surfaced.packet.unwrap();
                        arrived.push((now, tag));
                        events.extend(surfaced.event);
                        if let Some(at) = surfaced.copy {
                            events.extend(link.follow(at, Bytes(0), 1000 + tag));
                        }
                    }
                } else {
                    let (tag, event) = link.arrive(now);
                    arrived.push((now, tag.unwrap()));
                    events.extend(event);
                }
            } else if let Some((_, size)) = next {
                if let Ok(sent) = link.send(now, size, number) {
                    events.extend(sent.event);
                }
                number += 1;
                next = sends.next();
            }
            each(&mut link, now);
        }
        (arrived, link)
    }

    fn jittered(link: Link<u64>, time: Span, duplicate: f64) -> Link<u64> {
        let distribution = Distribution::Uniform;
        let jitter = Jitter { time, distribution, correlation: 0.0, in_order: false };
        let duplicate = Duplicate { probability: duplicate, correlation: 0.0 };
        let stream = Stream::new(1, "test");
        link.impaired(Impairments::new(Some(&jitter), None, Some(&duplicate), stream).unwrap())
    }

    #[test]
    fn packets_overtake_and_arrive_twice() {
        let far = || wire(Span::from_millis(20), Queue::default());
        let packets = [(0, 1250); 200];
        let (arrived, link) = crossed(jittered(far(), Span::from_millis(10), 0.5), &packets, &mut |_, _| {});
        let copies = arrived.iter().filter(|(_, number)| *number >= 1000).count();
        assert!((70..130).contains(&copies), "{copies}");
        assert_eq!(arrived.len(), 200 + copies);
        let figures = link.figures(Time::NEVER);
        assert_eq!((figures.packets, figures.copies), ((200 + copies) as u64, copies as u64));
        assert!(
            arrived.is_sorted_by_key(|(at, _)| *at)
                && !arrived.is_sorted_by_key(|(_, number)| *number % 1000)
        );
        // 1 ms of serialisation each, then 10 to 30 ms.
        let delay = |(at, number): &(Time, u64)| at.0 / 1000 - 1000 * (number % 1000 + 1);
        assert!(arrived.iter().map(delay).all(|late| (10_000..=30_000).contains(&late)));
        assert_eq!(link.inside().count(), 0);
    }

    proptest! {
        /// Impairments act behind the transmission: queue, marks and transmission are those of the same link without
        /// them, at any time.
        #[test]
        fn impairments_do_not_change_the_queue(
            packets in prop::collection::vec((0u64..3000, 40u64..1500), 1..100),
            limit in 1u64..20,
            jitter in 0u64..50,
        ) {
            let link = || wire(Span::from_millis(20), at_most(limit));
            let seen = |link| {
                // State after all events of a time, whose order differs between the links.
                let mut seen = std::collections::BTreeMap::new();
                let mut sends = Time::ZERO;
                let times: Vec<Time> =
                    packets.iter().map(|(gap, _)| { sends += Span::from_micros(*gap); sends }).collect();
                let (arrived, link) = crossed(link, &packets, &mut |link: &mut Link<u64>, now| {
                    if times.contains(&now) {
                        seen.insert(now, (link.waiting(now), link.waiting_bytes(now), link.sent_bytes(now)));
                    }
                });
                let mut numbers: Vec<u64> = arrived.iter().map(|(_, number)| *number).collect();
                numbers.sort_unstable();
                let figures = link.figures(Time::NEVER);
                (numbers, seen, figures, link.sent_bytes(Time::NEVER))
            };
            prop_assert_eq!(seen(link()), seen(jittered(link(), Span::from_millis(jitter), 0.0)));
        }
    }

    /// 8 Mbit/s are 1 byte per microsecond; framing counts.
    #[test]
    fn a_policer_drops_before_the_queue() {
        let police = Police { rate: BitRate(8_000_000), burst: Bytes(2004) };
        let server = || Server::Wire(Wire::new(BitRate(10_000_000), Bytes(2)));
        let mut link: Link<char> = Link::new(server(), Span::ZERO, Queue::default()).policed(&police);
        let at = |us| Time::ZERO + Span::from_micros(us);
        let admitted = [0, 0, 0, 1001, 1002].map(|us| link.admits(at(us), Bytes(1000)));
        assert_eq!(admitted, [true, true, false, false, true]);
        assert_eq!((link.figures(at(1002)).policed, link.waiting(at(1002))), (2, 0));
        let mut shaped: Link<char> =
            Link::new(server(), Span::ZERO, Queue::default()).passing_at_most(Bytes(1500));
        assert_eq!([1498, 1499].map(|size| shaped.admits(at(0), Bytes(size))), [true, false]);
    }
}

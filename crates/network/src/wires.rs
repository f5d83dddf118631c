//! Links and media: enqueues packets, schedules events, and returns packets that arrive.

use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::ledger::Cause;
use crate::packet::InFlight;
use crate::topology::{Duplex, LinkId, MediumId, OneWay, SharedMedium};
use airwnd_kernel::{Direction, EventQueue, Key, Slab};
use airwnd_links::link::wifi::Passed;
use airwnd_links::link::{Due, Lost, Refused, Surfaced};
use airwnd_units::{Bytes, Time};

type Queue = EventQueue<NetworkEvent>;

/// All links and media of a network.
pub(crate) struct Wires {
    pub links: Vec<Duplex>,
    pub media: Vec<SharedMedium>,
}

impl Wires {
    /// Enqueues a packet before a link; its policer or a full queue drops it.
    #[inline(always)]
    pub fn send<C>(
        &mut self,
        now: Time,
        (link, direction): (LinkId, Direction),
        key: Key,
        in_flight: &InFlight<C>,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        let size = in_flight.packet.size;
        match self.links[link.0 as usize].one_way_mut(direction) {
            OneWay::Plain(plain) => {
                if !plain.admits(now, size) {
                    return effects.drops.push((key, Cause::LinkPoliced));
                }
                match plain.send(now, size, key) {
                    Ok(sent) => {
                        //= RFC 3168 §5
                        if sent.mark && in_flight.packet.ecn.is_capable() {
                            plain.count_mark();
                            effects.marks.push(key);
                        }
                        if let Some(at) = sent.event {
                            queue.schedule(at, NetworkEvent::Arrival(link, direction));
                        }
                    }
                    Err(Refused(key)) => effects.drops.push((key, Cause::LinkQueue)),
                }
            }
            OneWay::Managed(managed) => {
                if !managed.link_mut().admits(now, size) {
                    return effects.drops.push((key, Cause::LinkPoliced));
                }
                let due = managed.send(now, in_flight.waiting(now, key), effects);
                schedule(queue, link, direction, due);
            }
        }
    }

    /// Moves the next packet from the queue onto the link.
    pub fn depart(
        &mut self,
        now: Time,
        link: LinkId,
        direction: Direction,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        let OneWay::Managed(managed) = self.links[link.0 as usize].one_way_mut(direction) else {
            unreachable!("only managed links schedule departures")
        };
        let due = managed.depart(now, effects);
        schedule(queue, link, direction, due);
    }

    /// Returns the first packet in flight on a link, which arrives now, or the packet that the link has lost; `None`: the
    /// link is impaired, and [`Wires::surface`] returns the packet.
    pub fn arrive<C>(
        &mut self,
        now: Time,
        link: LinkId,
        direction: Direction,
        queue: &mut Queue,
        packets: &Slab<InFlight<C>>,
    ) -> Option<Result<Key, Lost<Key>>> {
        let one_way = self.links[link.0 as usize].one_way_mut(direction).link_mut();
        if one_way.is_impaired() {
            return None;
        }
        let (head, next) = one_way.arrive(now);
        if let Some(at) = next {
            queue.schedule(at, NetworkEvent::Arrival(link, direction));
            if let Some(second) = one_way.second() {
                packets.prefetch(*second);
            }
        }
        Some(head)
    }

    /// Returns the packet that arrives or is lost now at the end of an impaired link; `None`: the event was superseded.
    pub fn surface(
        &mut self,
        now: Time,
        link: LinkId,
        direction: Direction,
        queue: &mut Queue,
    ) -> Option<Surfaced<Key>> {
        let surfaced = self.links[link.0 as usize].one_way_mut(direction).link_mut().surface(now)?;
        if let Some(at) = surfaced.event {
            queue.schedule(at, NetworkEvent::Arrival(link, direction));
        }
        Some(surfaced)
    }

    /// Adds the copy of a packet to an impaired link.
    pub fn follow(
        &mut self,
        arrives: Time,
        (link, direction): (LinkId, Direction),
        size: Bytes,
        copy: Key,
        queue: &mut Queue,
    ) {
        let one_way = self.links[link.0 as usize].one_way_mut(direction).link_mut();
        if let Some(at) = one_way.follow(arrives, size, copy) {
            queue.schedule(at, NetworkEvent::Arrival(link, direction));
        }
    }

    /// Enqueues a packet at a station or at the access point; a full queue drops it.
    pub fn send_over_medium<C>(
        &mut self,
        now: Time,
        (medium, station, direction): (MediumId, u32, Direction),
        key: Key,
        InFlight { packet, .. }: &InFlight<C>,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        let shared = &mut self.media[medium.0 as usize].medium;
        match shared.send(now, station, direction, packet.size, key) {
            Ok(mark) => {
                if mark && packet.ecn.is_capable() {
                    shared.count_mark(direction);
                    effects.marks.push(key);
                }
                self.watch_medium(medium, queue);
            }
            Err(Refused(key)) => effects.drops.push((key, Cause::LinkQueue)),
        }
    }

    /// Begins or ends a transmission on a medium; appends the packets that leave it to `passed`. Returns false for a
    /// superseded event, which has no effect.
    pub fn advance_medium(&mut self, now: Time, medium: MediumId, passed: &mut Vec<Passed<Key>>) -> bool {
        let shared = &mut self.media[medium.0 as usize];
        if shared.due != Some(now) {
            return false;
        }
        shared.due = None;
        shared.medium.advance(now, passed);
        true
    }

    /// Schedules the next event of a medium if it is due before the scheduled one.
    pub fn watch_medium(&mut self, medium: MediumId, queue: &mut Queue) {
        let shared = &mut self.media[medium.0 as usize];
        let next = shared.medium.next_event();
        if let Some(at) = next.filter(|at| shared.due.is_none_or(|due| *at < due)) {
            shared.due = Some(at);
            queue.schedule(at, NetworkEvent::Medium(medium));
        }
    }

    /// Returns the number of packets inside.
    pub fn inside(&self) -> usize {
        let links: usize = self.links.iter().map(|link| link.down.inside() + link.up.inside()).sum();
        links + self.media.iter().map(|shared| shared.medium.inside().count()).sum::<usize>()
    }
}

fn schedule(queue: &mut Queue, link: LinkId, direction: Direction, due: Due) {
    if let Some(at) = due.departure {
        queue.schedule(at, NetworkEvent::Departure(link, direction));
    }
    if let Some(at) = due.arrival {
        queue.schedule(at, NetworkEvent::Arrival(link, direction));
    }
}

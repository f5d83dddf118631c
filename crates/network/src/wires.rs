//! Links and media at work: packets go in, events are scheduled, packets come out.

use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::ledger::Cause;
use crate::topology::{Duplex, LinkId, MediumId, OneWay, SharedMedium};
use airwnd_kernel::{Direction, EventQueue, Key};
use airwnd_links::aqm::Waiting;
use airwnd_links::link::wifi::Passed;
use airwnd_links::link::{Due, Lost, Refused};
use airwnd_units::Time;

type Queue = EventQueue<NetworkEvent>;

/// All links and media of a network.
pub(crate) struct Wires {
    pub links: Vec<Duplex>,
    pub media: Vec<SharedMedium>,
}

impl Wires {
    /// A packet enters the queue before a link; a full queue refuses it.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        (link, direction): (LinkId, Direction),
        packet: Waiting,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        match self.links[link.0 as usize].one_way_mut(direction) {
            OneWay::Plain(plain) => match plain.send(now, packet.size, packet.packet) {
                Ok(sent) => {
                    //= RFC 3168 §5
                    if sent.mark && packet.ecn.is_capable() {
                        plain.count_mark();
                        effects.marks.push(packet.packet);
                    }
                    if let Some(at) = sent.event {
                        queue.schedule(at, NetworkEvent::Arrival(link, direction));
                    }
                }
                Err(Refused(key)) => effects.drops.push((key, Cause::LinkQueue)),
            },
            OneWay::Managed(managed) => {
                let due = managed.send(now, packet, effects);
                schedule(queue, link, direction, due);
            }
        }
    }

    /// The next packet leaves the queue before a link.
    pub fn depart(
        &mut self,
        now: Time,
        link: LinkId,
        direction: Direction,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        let OneWay::Managed(managed) = self.links[link.0 as usize].one_way_mut(direction) else {
            unreachable!("only managed links ask for departures")
        };
        let due = managed.depart(now, effects);
        schedule(queue, link, direction, due);
    }

    /// The first packet in flight on a link arrives, unless the link has lost it.
    pub fn arrive(
        &mut self,
        now: Time,
        link: LinkId,
        direction: Direction,
        queue: &mut Queue,
    ) -> Result<Key, Lost<Key>> {
        let (head, next) = self.links[link.0 as usize].one_way_mut(direction).link_mut().arrive(now);
        if let Some(at) = next {
            queue.schedule(at, NetworkEvent::Arrival(link, direction));
        }
        head
    }

    /// A packet enters the queue of a station, or of the access point; a full queue refuses it.
    pub fn send_over_medium(
        &mut self,
        now: Time,
        (medium, station, direction): (MediumId, u32, Direction),
        packet: Waiting,
        queue: &mut Queue,
        effects: &mut Effects,
    ) {
        let shared = &mut self.media[medium.0 as usize].medium;
        match shared.send(now, station, direction, packet.size, packet.packet) {
            Ok(mark) => {
                if mark && packet.ecn.is_capable() {
                    shared.count_mark(direction);
                    effects.marks.push(packet.packet);
                }
                self.watch_medium(medium, queue);
            }
            Err(Refused(key)) => effects.drops.push((key, Cause::LinkQueue)),
        }
    }

    /// A transmission begins or ends on a medium; `passed` takes what leaves it. Returns false for an event that an
    /// earlier one has overtaken: nothing happens.
    pub fn advance_medium(&mut self, now: Time, medium: MediumId, passed: &mut Vec<Passed<Key>>) -> bool {
        let shared = &mut self.media[medium.0 as usize];
        if shared.due != Some(now) {
            return false;
        }
        shared.due = None;
        shared.medium.advance(now, passed);
        true
    }

    /// Schedules the next event of a medium, if it is due before the one that is scheduled.
    pub fn watch_medium(&mut self, medium: MediumId, queue: &mut Queue) {
        let shared = &mut self.media[medium.0 as usize];
        let next = shared.medium.next_event();
        if let Some(at) = next.filter(|at| shared.due.is_none_or(|due| *at < due)) {
            shared.due = Some(at);
            queue.schedule(at, NetworkEvent::Medium(medium));
        }
    }

    /// Number of packets inside.
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

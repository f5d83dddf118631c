//! What the owner of a network may ask it.

use crate::ledger::{Count, Ledger};
use crate::legs::Legs;
use crate::network::Network;
use crate::packet::InFlight;
use crate::topology::{Duplex, Hop, LinkId, SharedMedium};
use airwnd_cell::Ran;
use airwnd_kernel::Direction;
use airwnd_links::aqm::Backlog;
use airwnd_units::{Bytes, Time};

impl<C, O> Network<C, O> {
    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.routes.devices()
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.queue.scheduled() - self.queue.len() as u64
    }

    /// All links, in the order of the topology.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Duplex)> {
        (0..).map(LinkId).zip(&self.wires.links)
    }

    /// Number of packets inside.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// What a packet inside takes of the memory, in bytes.
    pub fn packet_bytes(&self) -> usize {
        InFlight::<C>::BYTES
    }

    /// The link with the most packets inside, one way, and their number.
    pub fn fullest_link(&self) -> Option<(LinkId, Direction, usize)> {
        let ways = self.links().flat_map(|(id, link)| {
            Direction::BOTH.map(|direction| (id, direction, link.one_way(direction).inside()))
        });
        ways.max_by_key(|(_, _, packets)| *packets)
    }

    /// A link.
    pub fn link(&self, link: LinkId) -> &Duplex {
        &self.wires.links[link.0 as usize]
    }

    /// Whether a link leads from a cell to other cells: it has one direction only.
    pub fn is_x2(&self, link: LinkId) -> bool {
        self.air.as_ref().is_some_and(|air| air.is_x2(link))
    }

    /// All shared media, in the order of the topology.
    pub fn media(&self) -> &[SharedMedium] {
        &self.wires.media
    }

    /// The cells and UEs; `None`: there are none.
    pub fn ran(&self) -> Option<&Ran> {
        self.air.as_ref().map(|air| &*air.ran)
    }

    /// The cells and UEs, to ask what is computed on demand.
    pub fn ran_mut(&mut self) -> Option<&mut Ran> {
        self.air.as_mut().map(|air| &mut *air.ran)
    }

    /// The instant of the event at hand, or of the last one.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The links on a device's route, in the order in which packets pass them.
    pub fn links_of(
        &self,
        device: u32,
        direction: Direction,
    ) -> impl DoubleEndedIterator<Item = LinkId> + '_ {
        self.routes.hops(device, direction).iter().filter_map(move |hop| match hop {
            Hop::Link(link) => Some(*link),
            Hop::S1u => {
                let air = self.air.as_ref().expect("S1-U leads to cells");
                Some(air.s1u(air.legs[device as usize].cell))
            }
            Hop::Medium { .. } | Hop::Air | Hop::End => None,
        })
    }

    /// What waits before the links and media on a device's downlink route, without S1-U and the air.
    pub fn waiting_for(&mut self, now: Time, device: u32) -> Backlog {
        let mut sum = Backlog { bytes: Bytes::ZERO, packets: 0 };
        for hop in self.routes.hops(device, Direction::Down) {
            let waiting = match *hop {
                Hop::Link(link) => self.wires.links[link.0 as usize].down.backlog(now),
                Hop::Medium { medium, station } => {
                    let medium = &self.wires.media[medium.0 as usize].medium;
                    Backlog {
                        bytes: medium.waiting_bytes(station, Direction::Down),
                        packets: medium.waiting(station, Direction::Down),
                    }
                }
                Hop::S1u | Hop::Air | Hop::End => continue,
            };
            sum.bytes += waiting.bytes;
            sum.packets += waiting.packets;
        }
        sum
    }

    /// The books, balanced: every packet offered was delivered, was dropped, or is in exactly one place inside.
    ///
    /// # Panics
    /// If they do not balance.
    pub fn books(&self) -> (Ledger, Count) {
        let mut inside = Count::default();
        self.packets.iter().for_each(|in_flight| inside.add(in_flight.packet.size));
        assert!(self.delivered.is_none(), "the owner has taken what was delivered");
        self.ledger.assert_balanced(inside);
        let in_cells = self
            .air
            .as_ref()
            .map_or(0, |air| air.ran.inside().count() + air.legs.iter().map(Legs::held).sum::<usize>());
        let held = (self.wires.inside() + in_cells) as u64;
        assert_eq!(held, inside.packets, "every packet inside is in one place");
        (self.ledger, inside)
    }
}

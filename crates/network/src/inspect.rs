//! Queries of a network's state by its owner.

use crate::bearers::Bearers;
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
    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.routes.devices()
    }

    /// Returns the number of events handled so far.
    pub fn handled(&self) -> u64 {
        self.queue.scheduled() - self.queue.len() as u64
    }

    /// Iterates over all links in topology order.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Duplex)> {
        (0..).map(LinkId).zip(&self.wires.links)
    }

    /// Returns the number of packets in the network.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Returns the memory per packet in the network, in bytes.
    pub fn packet_bytes(&self) -> usize {
        InFlight::<C>::BYTES
    }

    /// Returns the link and direction with the most packets, and their number.
    pub fn fullest_link(&self) -> Option<(LinkId, Direction, usize)> {
        let ways = self.links().flat_map(|(id, link)| {
            Direction::BOTH.map(|direction| (id, direction, link.one_way(direction).inside()))
        });
        ways.max_by_key(|(_, _, packets)| *packets)
    }

    /// Returns a link.
    pub fn link(&self, link: LinkId) -> &Duplex {
        &self.wires.links[link.0 as usize]
    }

    /// Returns true for an X2 link, which has one direction only.
    pub fn is_x2(&self, link: LinkId) -> bool {
        self.air.as_ref().is_some_and(|air| air.is_x2(link))
    }

    /// Returns all shared media in topology order.
    pub fn media(&self) -> &[SharedMedium] {
        &self.wires.media
    }

    /// Returns the cells and UEs; `None`: the network has no cells.
    pub fn ran(&self) -> Option<&Ran> {
        self.air.as_ref().map(|air| &*air.ran)
    }

    /// Returns the cells and UEs mutably, for values computed on demand.
    pub fn ran_mut(&mut self) -> Option<&mut Ran> {
        self.air.as_mut().map(|air| &mut *air.ran)
    }

    /// Returns the counts of the bearers' packets; `None`: the network has no cells.
    pub fn bearers(&self) -> Option<&Bearers> {
        self.air.as_ref().map(|air| &air.bearers)
    }

    /// Returns the time of the current event, or of the last one.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer mutably.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Iterates over the links on a device's route, in the order in which packets traverse them.
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

    /// Returns the backlog of the links and media on a device's downlink route, without S1-U and the air.
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

    /// Returns the packet accounting and the packets still inside, after checking conservation: every packet offered
    /// was delivered, was dropped, or is in exactly one place inside.
    ///
    /// # Panics
    /// If conservation is violated.
    pub fn balance(&self) -> (Ledger, Count) {
        let mut inside = Count::default();
        self.packets.iter().for_each(|in_flight| inside.add(in_flight.packet.size));
        assert!(self.delivered.is_none(), "the owner has taken the delivered packet");
        self.ledger.assert_balanced(inside);
        let in_cells = self.air.as_ref().map_or(0, |air| {
            let held: usize = air.legs.iter().map(Legs::held).sum();
            air.ran.inside().count() + air.undecoded() + held
        });
        let held = (self.wires.inside() + in_cells) as u64;
        assert_eq!(held, inside.packets, "every packet inside is in one place");
        (self.ledger, inside)
    }
}

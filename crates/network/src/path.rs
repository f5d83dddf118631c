//! The path of a packet, down to a UE and back up.
//!
//! A route is a list of hops, and [`take_hop`](Network::take_hop) takes one after the other: server link, access links
//! or a Wi-Fi channel, S1-U, the bearer's queue at the eNB and the air, a link of the device itself (its shaper); uplink
//! the same hops in reverse, with the bearer's queue at the UE. Links are in `wires.rs`, TTIs in the crate
//! `airwnd-cell`, and the dispatch of events in `network.rs`.

use crate::ledger::Cause;
use crate::network::Network;
use crate::node::Node;
use crate::observer::{Crossing, Observer, Stage};
use crate::packet::{InFlight, Outcome, Packet};
use crate::topology::{Hop, LinkId, MediumId, Topology};
use airwnd_cell::UeId;
use airwnd_cell::handover::Forwarding;
use airwnd_kernel::{Direction, Key};
use airwnd_links::link::wifi::{Exit, Passed};
use airwnd_links::link::{Lost, Surfaced};
use airwnd_units::Time;

impl<C: Copy, O: Observer<C>> Network<C, O> {
    #[inline(always)]
    pub(crate) fn take_hop(&mut self, now: Time, key: Key, hop: Hop, device: u32, direction: Direction) {
        match hop {
            Hop::Link(link) => self.onto_link(now, key, link, direction),
            Hop::Medium { medium, station } => self.onto_medium(now, key, medium, station, direction),
            Hop::S1u => self.onto_s1u(now, key, device, direction),
            Hop::Air if direction == Direction::Down => self.at_cell(now, key),
            Hop::Air => self.enter_bearer(now, key),
            Hop::End => self.deliver(now, key),
        }
    }

    /// Passes a packet to the next hop of its route.
    #[inline]
    pub(crate) fn forward(&mut self, now: Time, key: Key) {
        let InFlight { packet, next_hop, .. } = self.packets.get_mut(key);
        let (index, device, direction) = (*next_hop, packet.device, packet.direction);
        *next_hop += 1;
        self.take_hop(now, key, self.routes.hop(index), device, direction);
    }

    /// Enqueues a packet before a link.
    #[inline]
    pub(crate) fn onto_link(&mut self, now: Time, key: Key, link: LinkId, direction: Direction) {
        if self.observer.is_watching() {
            self.report_arrival(now, key, link, direction);
        }
        let packet = self.packets.get(key);
        self.wires.send(now, (link, direction), key, packet, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// Reports a packet that reaches the queue before a link to the observer.
    #[cold]
    fn report_arrival(&mut self, now: Time, key: Key, link: LinkId, direction: Direction) {
        let packet = &self.packets.get(key).packet;
        if link == Topology::SERVER_LINK && direction == Direction::Up {
            self.observer.on_crossing(now, Node::Gateway, Crossing::Out, packet);
        }
        self.observer.on_link(now, link, Stage::Arrival, packet);
    }

    /// Moves the next packet from a queue discipline onto its link.
    pub(crate) fn depart(&mut self, now: Time, link: LinkId, direction: Direction) {
        self.wires.depart(now, link, direction, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// Forwards a packet that reaches the far end of a link, unless the link has lost it.
    pub(crate) fn arrive(&mut self, now: Time, link: LinkId, direction: Direction) {
        let arrived = self.wires.arrive(now, link, direction, &mut self.queue, &self.packets);
        let Some(arrived) = arrived else { return self.surface(now, link, direction) };
        if self.observer.is_watching() {
            self.report_departure(now, arrived, link, direction);
        }
        match arrived {
            Ok(key) if self.air.as_ref().is_some_and(|air| air.is_x2(link)) => self.at_cell(now, key),
            Ok(key) => self.forward(now, key),
            Err(Lost(key)) => self.drop(now, key, Cause::LinkError),
        }
    }

    /// Forwards a packet that reaches the far end of an impaired link, unless the link has lost it, and adds its copy to
    /// the link.
    #[cold]
    fn surface(&mut self, now: Time, link: LinkId, direction: Direction) {
        let surfaced = self.wires.surface(now, link, direction, &mut self.queue);
        let Some(Surfaced { packet: arrived, copy, .. }) = surfaced else { return };
        if self.observer.is_watching() {
            self.report_departure(now, arrived, link, direction);
        }
        match (arrived, copy) {
            (Ok(key), None) => self.forward(now, key),
            (Ok(key), Some(at)) => {
                let InFlight { packet, next_hop, leg } = *self.packets.get(key);
                let copy = self.insert(InFlight { packet, next_hop, leg });
                self.ledger.copied.add(packet.size);
                self.wires.follow(at, (link, direction), packet.size, copy, &mut self.queue);
                self.outcomes.push_back(Outcome::Copied(packet));
                // The owner knows of the copy before the packet has an outcome.
                self.forward_after_outcomes(key);
            }
            (Err(Lost(key)), _) => self.drop(now, key, Cause::LinkError),
        }
    }

    /// Reports a packet that reaches the far end of a link, or that the link has lost, to the observer.
    #[cold]
    fn report_departure(
        &mut self,
        now: Time,
        arrived: Result<Key, Lost<Key>>,
        link: LinkId,
        direction: Direction,
    ) {
        let (Ok(key) | Err(Lost(key))) = arrived;
        let packet = &self.packets.get(key).packet;
        self.observer.on_link(now, link, Stage::Departure, packet);
        if arrived.is_ok() && link == Topology::SERVER_LINK && direction == Direction::Down {
            self.observer.on_crossing(now, Node::Gateway, Crossing::In, packet);
        }
    }

    /// Enqueues a packet at a station or at the access point.
    fn onto_medium(&mut self, now: Time, key: Key, medium: MediumId, station: u32, direction: Direction) {
        let (sender, packet) = ((medium, station, direction), self.packets.get(key));
        self.wires.send_over_medium(now, sender, key, packet, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// Forwards or drops a packet that leaves a medium.
    pub(crate) fn off_medium(&mut self, now: Time, packet: Passed<Key>) {
        match packet.exit {
            Exit::Arrived => self.forward(now, packet.item),
            Exit::Lost => self.drop(now, packet.item, Cause::LinkError),
            Exit::GivenUp => self.drop(now, packet.item, Cause::RetryLimit),
        }
    }

    /// Enqueues a packet on the S1-U link: downlink, of the cell to which the gateway sends; uplink, of the serving
    /// cell.
    fn onto_s1u(&mut self, now: Time, key: Key, device: u32, direction: Direction) {
        let air = self.air.as_mut().expect("S1-U leads to cells");
        let cell = match direction {
            Direction::Down if air.may_hand_over() => {
                self.packets.get_mut(key).leg.insert(air.legs[device as usize].depart()).cell()
            }
            Direction::Down => air.legs[device as usize].cell,
            Direction::Up => air.serving_cell(device),
        };
        let link = air.s1u(cell);
        self.onto_link(now, key, link, direction);
    }

    /// Handles a downlink packet that has reached a cell: it enters the bearer if the UE is there, and follows the UE
    /// otherwise.
    //= TS 36.300 §10.1.2.3
    fn at_cell(&mut self, now: Time, key: Key) {
        let InFlight { packet, leg, .. } = self.packets.get(key);
        let (device, Some(leg)) = (packet.device, *leg) else { return self.enter_bearer(now, key) };
        let air = self.air.as_mut().expect("a cell");
        let serving = air.serving_cell(device);
        let legs = &mut air.legs[device as usize];
        if leg.cell() != serving {
            match air.forwarding {
                Forwarding::Nothing => self.drop(now, key, Cause::Handover),
                Forwarding::Waiting | Forwarding::Arriving => {
                    self.packets.get_mut(key).leg = Some(leg.to(serving));
                    let x2 = air.x2(leg.cell());
                    self.onto_link(now, key, x2, Direction::Down);
                }
            }
        } else if legs.settle_in_order(leg) {
            let has_held = legs.held() > 0;
            self.enter_bearer(now, key);
            if has_held {
                self.release_held(now, device);
            }
        } else {
            legs.hold(leg, key);
        }
    }

    /// Forwards held packets that are no longer early.
    fn release_held(&mut self, now: Time, device: u32) {
        while let Some(key) = self.cells().legs[device as usize].release() {
            self.at_cell(now, key);
        }
    }

    /// Enqueues a packet in its bearer, at the eNB or at the UE. TTIs take it from there.
    fn enter_bearer(&mut self, now: Time, key: Key) {
        let in_flight = self.packets.get(key);
        let Packet { device, direction, bearer, .. } = in_flight.packet;
        let waiting = in_flight.waiting(now, key);
        let air = self.air.as_mut().expect("bearers are over the air");
        if direction == Direction::Down && self.observer.is_watching() {
            let node = Node::Enb(air.serving_cell(device));
            self.observer.on_crossing(now, node, Crossing::In, &in_flight.packet);
        }
        air.ran.send(UeId(device), bearer, direction, waiting);
        self.collect(now);
    }

    /// Forwards a packet that has crossed the air.
    pub(crate) fn off_air(&mut self, now: Time, direction: Direction, key: Key) {
        let air = self.air.as_mut().expect("the packet crossed the air");
        air.bearers.cross(&self.packets.get(key).packet);
        match direction {
            Direction::Down if !self.routes.go_on_behind_the_air => self.deliver(now, key),
            Direction::Down => self.forward(now, key),
            Direction::Up => {
                if self.observer.is_watching() {
                    let packet = &self.packets.get(key).packet;
                    let air = self.air.as_ref().expect("the packet crossed the air");
                    let node = Node::Enb(air.serving_cell(packet.device));
                    self.observer.on_crossing(now, node, Crossing::Out, packet);
                }
                self.forward(now, key);
            }
        }
    }

    /// Delivers a packet to its destination.
    fn deliver(&mut self, now: Time, key: Key) {
        let packet = &self.packets.get(key).packet;
        if self.observer.is_watching() {
            self.observer.on_crossing(now, packet.destination(), Crossing::In, packet);
        }
        self.ledger.delivered.add(packet.size);
        debug_assert!(self.delivered.is_none(), "a step of an event delivers at most one packet");
        self.delivered = Some(key);
    }

    /// Reports a dropped packet to the observer.
    #[cold]
    fn report_drop(&mut self, now: Time, packet: &Packet<C>, next_hop: u32, cause: Cause) {
        if let (Cause::LinkQueue | Cause::LinkEarly | Cause::LinkPoliced, Hop::Link(link)) =
            (cause, self.routes.hop(next_hop - 1))
        {
            self.observer.on_link(now, link, Stage::Drop, packet);
        }
        self.observer.on_drop(now, packet);
    }

    pub(crate) fn drop(&mut self, now: Time, key: Key, cause: Cause) {
        let InFlight { packet, leg, next_hop } = self.packets.remove(key);
        if self.observer.is_watching() {
            self.report_drop(now, &packet, next_hop, cause);
        }
        if let Some(leg) = leg {
            self.cells().legs[packet.device as usize].settle(leg);
            self.release_held(now, packet.device);
        }
        if let Some(air) = &mut self.air {
            air.bearers.drop(&packet, cause);
        }
        self.ledger.drop(cause, packet.size);
        self.outcomes.push_back(Outcome::Dropped(packet, cause));
    }
}

//! The way of a packet, down and back up.
//!
//! [`Network::send`] puts a packet onto its route, a list of hops; each hop is a queue, and an event when the packet
//! leaves it. Downlink: server link, access links or a Wi-Fi channel, S1-U, the bearer's queue at the base station, the
//! air, the UE. Uplink: the bearer's queue at the UE, the air, and the same links back. Read on in this order; what a
//! link does is in `wires.rs`, what a TTI does in the crate `airwnd-cell`.

use crate::air::Air;
use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::ledger::{Cause, Count, Ledger};
use crate::legs::Legs;
use crate::observer::{Crossing, Node, Observer};
use crate::packet::{InFlight, Outcome, Packet};
use crate::topology::{Duplex, Hop, LinkId, MediumId, Routes, SharedMedium, Topology};
use crate::wires::Wires;
use airwnd_cell::handover::Forwarding;
use airwnd_cell::{Forward, Notice, Ran, UeId};
use airwnd_kernel::{Direction, EventQueue, Key, Slab};
use airwnd_links::aqm::Backlog;
use airwnd_links::link::Lost;
use airwnd_links::link::wifi::{Exit, Passed};
use airwnd_units::{Bytes, Time};
use std::collections::VecDeque;

/// Links, media, routes and cells with the packets inside them.
///
/// It has no clock: the owner calls [`send`](Network::send) at any time, [`next_event`](Network::next_event) says when
/// something happens next, and [`advance`](Network::advance) lets it happen. Time never runs back. An event with several
/// outcomes (a TTI delivers many packets) pauses at each, so that what the owner sends in answer takes part in the rest of it.
pub struct Network<C, O = ()> {
    queue: EventQueue<NetworkEvent>,
    packets: Slab<InFlight<C>>,
    wires: Wires,
    routes: Routes,
    /// `None`: routes end behind the links.
    air: Option<Air>,
    ledger: Ledger,
    observer: O,
    now: Time,
    /// The rest of the event at hand.
    unfinished: Unfinished,
    outcomes: VecDeque<Outcome<C>>,
    // Kept for their capacity.
    effects: Effects,
    passed: Vec<Passed<Key>>,
}

/// What remains to be done of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    Nothing,
    /// Packets of `passed` from this index on have left the medium and go on.
    Medium(MediumId, usize),
    /// Arrivals from this index on have crossed the downlink and go on; then the TTI transmits.
    Tti(usize),
    /// Arrivals from this index on have crossed the uplink and go on.
    UplinkEnd(usize),
}

impl<C, O: Observer<C>> Network<C, O> {
    /// An empty network.
    pub fn new(topology: Topology, observer: O) -> Network<C, O> {
        let devices = topology.routes.devices();
        let legs = topology.legs();
        let Topology { links, media, routes, access } = topology;
        let mut network = Network {
            queue: EventQueue::with_capacity(4 * devices + 64),
            packets: Slab::with_capacity(128 * devices),
            wires: Wires { links, media },
            routes,
            air: access.map(|access| Air::new(access, legs)),
            ledger: Ledger::default(),
            observer,
            now: Time::ZERO,
            unfinished: Unfinished::Nothing,
            outcomes: VecDeque::with_capacity(64),
            effects: Effects { marks: Vec::with_capacity(256), drops: Vec::with_capacity(256) },
            passed: Vec::with_capacity(16),
        };
        if let Some(air) = &network.air {
            air.watch_mobility(&mut network.queue);
        }
        network
    }

    // In: the owner's side.

    /// A packet enters at the end that its direction comes from. [`poll`](Network::poll) has what queues dropped for it.
    pub fn send(&mut self, now: Time, packet: Packet<C>) {
        debug_assert!(now >= self.now, "time runs forward");
        self.now = now;
        self.ledger.offered.add(packet.size);
        self.observer.on_crossing(now, source(&packet), Crossing::Out, &packet);
        let first = self.routes.first(packet.device, packet.direction);
        let (device, direction) = (packet.device, packet.direction);
        let key = self.packets.insert(InFlight { packet, next_hop: first + 1, leg: None });
        self.take_hop(now, key, self.routes.hop(first), device, direction);
    }

    /// When the next event is due; `None`: nothing happens unless a packet is sent.
    pub fn next_event(&self) -> Option<Time> {
        if self.unfinished == Unfinished::Nothing { self.queue.next() } else { Some(self.now) }
    }

    /// Lets events happen up to an instant, until there is an outcome; `None`: all that was due has happened. The event
    /// at hand is finished first.
    pub fn advance(&mut self, to: Time) -> Option<(Time, Outcome<C>)> {
        loop {
            if let Some(outcome) = self.finish() {
                return Some((self.now, outcome));
            }
            let (now, event) = self.queue.pop_until(to)?;
            self.now = now;
            match event {
                NetworkEvent::Departure(link, direction) => self.depart(now, link, direction),
                NetworkEvent::Arrival(link, direction) => self.arrive(now, link, direction),
                NetworkEvent::Medium(medium) => {
                    if self.wires.advance_medium(now, medium, &mut self.passed) {
                        self.unfinished = Unfinished::Medium(medium, 0);
                    }
                }
                NetworkEvent::Tti => {
                    self.cells().receive(now);
                    self.unfinished = Unfinished::Tti(0);
                }
                NetworkEvent::UplinkEnd => {
                    self.cells().receive_uplink(now);
                    self.unfinished = Unfinished::UplinkEnd(0);
                }
                NetworkEvent::Mobility => self.move_ues(now),
            }
        }
    }

    /// The next outcome of the event at hand; `None`: it is finished. Begins no other event.
    #[inline]
    pub fn finish(&mut self) -> Option<Outcome<C>> {
        loop {
            if let Some(outcome) = self.outcomes.pop_front() {
                return Some(outcome);
            }
            if self.unfinished == Unfinished::Nothing {
                return None;
            }
            self.resume();
        }
    }

    /// The next outcome that is known already, without letting time pass.
    pub fn poll(&mut self) -> Option<Outcome<C>> {
        self.outcomes.pop_front()
    }

    // Down: links, gateway, cell, bearer, air. Up: bearer, air, links.

    #[inline]
    fn take_hop(&mut self, now: Time, key: Key, hop: Hop, device: u32, direction: Direction) {
        match hop {
            Hop::Link(link) => self.onto_link(now, key, link, direction),
            Hop::Medium { medium, station } => self.onto_medium(now, key, medium, station, direction),
            Hop::S1u => self.onto_s1u(now, key, device, direction),
            Hop::Air if direction == Direction::Down => self.at_cell(now, key),
            Hop::Air => self.enter_bearer(now, key),
            Hop::End => self.deliver(now, key),
        }
    }

    /// A packet takes the next hop of its route.
    fn forward(&mut self, now: Time, key: Key) {
        let InFlight { packet, next_hop, .. } = self.packets.get_mut(key);
        let (index, device, direction) = (*next_hop, packet.device, packet.direction);
        *next_hop += 1;
        self.take_hop(now, key, self.routes.hop(index), device, direction);
    }

    /// A packet enters the queue before a link.
    #[inline]
    fn onto_link(&mut self, now: Time, key: Key, link: LinkId, direction: Direction) {
        let packet = self.packets.get(key);
        if link == Topology::SERVER_LINK && direction == Direction::Up {
            self.observer.on_crossing(now, Node::Gateway, Crossing::Out, &packet.packet);
        }
        let waiting = packet.waiting(now, key);
        self.wires.send(now, (link, direction), waiting, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// The next packet leaves a discipline's queue and goes onto the link.
    fn depart(&mut self, now: Time, link: LinkId, direction: Direction) {
        self.wires.depart(now, link, direction, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// A packet reaches the far end of a link and goes on, unless the link has lost it.
    fn arrive(&mut self, now: Time, link: LinkId, direction: Direction) {
        match self.wires.arrive(now, link, direction, &mut self.queue) {
            Ok(key) => {
                if link == Topology::SERVER_LINK && direction == Direction::Down {
                    self.observer.on_crossing(
                        now,
                        Node::Gateway,
                        Crossing::In,
                        &self.packets.get(key).packet,
                    );
                }
                match self.air.as_ref().is_some_and(|air| air.is_x2(link)) {
                    true => self.at_cell(now, key),
                    false => self.forward(now, key),
                }
            }
            Err(Lost(key)) => self.drop(now, key, Cause::LinkError),
        }
    }

    /// A packet enters the queue of a station, or of the access point.
    fn onto_medium(&mut self, now: Time, key: Key, medium: MediumId, station: u32, direction: Direction) {
        let waiting = self.packets.get(key).waiting(now, key);
        let sender = (medium, station, direction);
        self.wires.send_over_medium(now, sender, waiting, &mut self.queue, &mut self.effects);
        self.apply_effects(now);
    }

    /// A packet leaves a medium.
    fn off_medium(&mut self, now: Time, packet: Passed<Key>) {
        match packet.exit {
            Exit::Arrived => self.forward(now, packet.item),
            Exit::Lost => self.drop(now, packet.item, Cause::LinkError),
            Exit::GivenUp => self.drop(now, packet.item, Cause::RetryLimit),
        }
    }

    /// A packet goes onto the S1-U link of the cell that the gateway sends to, or of the cell that received it.
    fn onto_s1u(&mut self, now: Time, key: Key, device: u32, direction: Direction) {
        let air = self.air.as_mut().expect("S1-U leads to cells");
        let cell = match direction {
            Direction::Down if air.may_hand_over() => {
                self.packets.get_mut(key).leg.insert(air.legs[device as usize].depart()).cell
            }
            Direction::Down => air.legs[device as usize].cell,
            Direction::Up => air.serving_cell(device),
        };
        let link = air.s1u(cell);
        self.onto_link(now, key, link, direction);
    }

    /// A downlink packet has reached a cell: it enters the bearer if the UE is there, and follows the UE otherwise.
    //= TS 36.300 §10.1.2.3
    fn at_cell(&mut self, now: Time, key: Key) {
        let InFlight { packet, leg, .. } = self.packets.get(key);
        let (device, Some(leg)) = (packet.device, *leg) else { return self.enter_bearer(now, key) };
        let air = self.air.as_mut().expect("a cell");
        let serving = air.serving_cell(device);
        let legs = &mut air.legs[device as usize];
        if leg.cell != serving {
            match air.forwarding {
                Forwarding::Nothing => self.drop(now, key, Cause::Handover),
                Forwarding::Waiting | Forwarding::Arriving => {
                    self.packets.get_mut(key).leg = Some(leg.to(serving));
                    let x2 = air.x2(leg.cell);
                    self.onto_link(now, key, x2, Direction::Down);
                }
            }
        } else if legs.is_early(leg) {
            legs.hold(leg, key);
        } else {
            legs.settle(leg);
            self.enter_bearer(now, key);
            self.release_held(now, device);
        }
    }

    /// Packets that have waited in a cell for earlier ones go on.
    fn release_held(&mut self, now: Time, device: u32) {
        while let Some(key) = self.cells().legs[device as usize].release() {
            self.at_cell(now, key);
        }
    }

    /// A packet enters its bearer's queue: at the base station or at the UE. From there the TTIs take it.
    fn enter_bearer(&mut self, now: Time, key: Key) {
        let in_flight = self.packets.get(key);
        let (device, direction) = (in_flight.packet.device, in_flight.packet.direction);
        let waiting = in_flight.waiting(now, key);
        let air = self.air.as_mut().expect("bearers are over the air");
        if direction == Direction::Down {
            let node = Node::BaseStation(air.serving_cell(device));
            self.observer.on_crossing(now, node, Crossing::In, &in_flight.packet);
        }
        air.ran.send(UeId(device), direction, waiting);
        self.collect(now);
    }

    /// A packet has crossed the air.
    fn off_air(&mut self, now: Time, direction: Direction, key: Key) {
        match direction {
            Direction::Down => self.deliver(now, key),
            Direction::Up => {
                let packet = &self.packets.get(key).packet;
                let air = self.air.as_ref().expect("it crossed the air");
                let node = Node::BaseStation(air.serving_cell(packet.device));
                self.observer.on_crossing(now, node, Crossing::Out, packet);
                self.forward(now, key);
            }
        }
    }

    // Out.

    /// A packet reaches the end that it was sent to.
    fn deliver(&mut self, now: Time, key: Key) {
        let InFlight { packet, .. } = self.packets.remove(key);
        self.observer.on_crossing(now, destination(&packet), Crossing::In, &packet);
        self.ledger.delivered.add(packet.size);
        self.outcomes.push_back(Outcome::Delivered(packet));
    }

    fn drop(&mut self, now: Time, key: Key, cause: Cause) {
        let InFlight { packet, leg, .. } = self.packets.remove(key);
        if let Some(leg) = leg {
            self.cells().legs[packet.device as usize].settle(leg);
            self.release_held(now, packet.device);
        }
        self.ledger.drop(cause, packet.size);
        self.outcomes.push_back(Outcome::Dropped(packet, cause));
    }

    // The rest of an event, and what it did besides passing packets on.

    /// Takes the next step of the event at hand.
    fn resume(&mut self) {
        let now = self.now;
        match self.unfinished {
            Unfinished::Nothing => {}
            Unfinished::Medium(medium, index) => match self.passed.get(index).copied() {
                Some(packet) => {
                    self.unfinished = Unfinished::Medium(medium, index + 1);
                    self.off_medium(now, packet);
                }
                None => {
                    self.unfinished = Unfinished::Nothing;
                    self.passed.clear();
                    self.wires.watch_medium(medium, &mut self.queue);
                }
            },
            Unfinished::Tti(index) => match self.cells().arrivals.get(index).copied() {
                Some(arrival) => {
                    self.unfinished = Unfinished::Tti(index + 1);
                    self.off_air(now, arrival.direction, arrival.packet);
                }
                None => {
                    self.unfinished = Unfinished::Nothing;
                    let air = self.air.as_mut().expect("a TTI of cells");
                    air.transmit(&mut self.queue);
                    self.collect(now);
                }
            },
            Unfinished::UplinkEnd(index) => match self.cells().arrivals.get(index).copied() {
                Some(arrival) => {
                    self.unfinished = Unfinished::UplinkEnd(index + 1);
                    self.off_air(now, arrival.direction, arrival.packet);
                }
                None => {
                    self.unfinished = Unfinished::Nothing;
                    self.collect(now);
                }
            },
        }
    }

    /// UEs have moved: packets follow those that have changed cells.
    fn move_ues(&mut self, now: Time) {
        self.cells().move_ues(now);
        self.collect(now);
        let mut forwards = std::mem::take(&mut self.cells().forwards);
        for Forward { ue, from, packet } in forwards.drain(..) {
            let air = self.air.as_mut().expect("UEs of cells");
            let leg = self.packets.get(packet).leg.expect("it has come from the gateway");
            let serving = air.serving_cell(ue.0);
            self.packets.get_mut(packet).leg = Some(air.legs[ue.0 as usize].depart_again(leg, serving));
            let x2 = air.x2(from.0);
            self.onto_link(now, packet, x2, Direction::Down);
        }
        let air = self.air.as_mut().expect("UEs of cells");
        air.forwards = forwards;
        for notice in air.notices.drain(..) {
            if let Notice::PathSwitch(ue, cell) = notice {
                air.legs[ue.0 as usize].cell = cell.0;
            }
            self.outcomes.push_back(Outcome::Mobility(notice));
        }
        air.watch_mobility(&mut self.queue);
        air.wake(now, &mut self.queue);
    }

    /// Applies what the cells have marked and dropped, and schedules their next TTI.
    fn collect(&mut self, now: Time) {
        let air = self.air.as_mut().expect("cells");
        air.collect(&mut self.effects);
        self.apply_effects(now);
        self.air.as_mut().expect("cells").wake(now, &mut self.queue);
    }

    /// Applies marks and drops of the last operation.
    #[inline]
    fn apply_effects(&mut self, now: Time) {
        if self.effects.marks.is_empty() && self.effects.drops.is_empty() {
            return;
        }
        for key in self.effects.marks.drain(..) {
            //= RFC 3168 §5
            let packet = &mut self.packets.get_mut(key).packet;
            if packet.ecn.is_capable() {
                packet.ecn = airwnd_kernel::Codepoint::Ce;
            }
        }
        let mut drops = std::mem::take(&mut self.effects.drops);
        for (key, cause) in drops.drain(..) {
            self.drop(now, key, cause);
        }
        // A drop can release packets into full queues, whose drops have been applied by now.
        debug_assert!(self.effects.drops.is_empty());
        self.effects.drops = drops;
    }

    fn cells(&mut self) -> &mut Air {
        self.air.as_mut().expect("only cells have TTIs, legs and mobility")
    }
}

/// Questions of the owner.
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

/// The node that a packet is sent by.
fn source<C>(packet: &Packet<C>) -> Node {
    match packet.direction {
        Direction::Down => Node::Server,
        Direction::Up => Node::Terminal(packet.device),
    }
}

/// The node that a packet is sent to.
fn destination<C>(packet: &Packet<C>) -> Node {
    match packet.direction {
        Direction::Down => Node::Terminal(packet.device),
        Direction::Up => Node::Server,
    }
}

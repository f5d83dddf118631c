//! The network's state, and its step interface.
//!
//! `path.rs` follows a packet through it, hop by hop.

use crate::air::Air;
use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::ledger::Ledger;
use crate::observer::{Crossing, Observer};
use crate::packet::{InFlight, Outcome, Packet};
use crate::topology::{LinkId, MediumId, Routes, Topology};
use crate::wires::Wires;
use airwnd_cell::trace::RadioEvent;
use airwnd_cell::{Forward, Notice, UeId};
use airwnd_kernel::{Codepoint, Direction, EventQueue, Key, Slab};
use airwnd_links::link::wifi::Passed;
use airwnd_rlc::trace::PduContent;
use airwnd_units::{BitRate, Time};
use std::collections::VecDeque;

/// Links, media, routes and cells with the packets inside them.
///
/// The network has no clock of its own. The owner calls [`send`](Network::send) at any time;
/// [`next_event`](Network::next_event) returns the time of the next event, [`advance`](Network::advance) executes
/// events, and [`next_outcome`](Network::next_outcome) returns their outcomes. Time never runs backwards. An event with
/// several outcomes (a TTI delivers many packets) pauses at each one, so that the owner's response takes part in the
/// rest of the event.
pub struct Network<C, O = ()> {
    pub(crate) queue: EventQueue<NetworkEvent>,
    pub(crate) packets: Slab<InFlight<C>>,
    /// First key above the packet limit.
    max_packets: u32,
    pub(crate) wires: Wires,
    pub(crate) routes: Routes,
    /// `None`: routes end behind the links.
    pub(crate) air: Option<Air>,
    pub(crate) ledger: Ledger,
    pub(crate) observer: O,
    pub(crate) now: Time,
    /// Remaining steps of the current event.
    unfinished: Unfinished,
    /// A delivered packet until the owner takes it; a step of an event delivers at most one.
    pub(crate) delivered: Option<Key>,
    /// All other outcomes not yet taken by the owner.
    pub(crate) outcomes: VecDeque<Outcome<C>>,
    // Buffers kept for their capacity.
    pub(crate) effects: Effects,
    passed: Vec<Passed<Key>>,
}

/// Remaining steps of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    Nothing,
    /// Forward the packet, of which a copy was made.
    Copied(Key),
    /// Forward the packets of `passed` from this index on, which have left the medium.
    Medium(MediumId, usize),
    /// Forward the arrivals from this index on, which have crossed the downlink; then transmit the TTI.
    Tti(usize),
    /// Forward the arrivals from this index on, which have crossed the uplink, or which have been decoded.
    Received(usize),
}

impl<C: Copy, O: Observer<C>> Network<C, O> {
    /// Creates an empty network.
    pub fn new(topology: Topology, observer: O) -> Network<C, O> {
        let devices = topology.routes.devices();
        let legs = topology.legs();
        let Topology { links, media, routes, access } = topology;
        let mut network = Network {
            queue: EventQueue::with_capacity(4 * devices + 64),
            packets: Slab::with_capacity(128 * devices),
            max_packets: u32::MAX,
            wires: Wires { links, media },
            routes,
            air: access.map(|access| Air::new(access, legs)),
            ledger: Ledger::default(),
            observer,
            now: Time::ZERO,
            unfinished: Unfinished::Nothing,
            delivered: None,
            outcomes: VecDeque::with_capacity(64),
            effects: Effects { marks: Vec::with_capacity(256), drops: Vec::with_capacity(256) },
            passed: Vec::with_capacity(16),
        };
        if let Some(air) = &network.air {
            air.watch_mobility(&mut network.queue);
        }
        network
    }

    /// Sends a packet into the network, at the end from which its direction starts. [`poll`](Network::poll) returns the
    /// drops that it causes.
    pub fn send(&mut self, now: Time, packet: Packet<C>) {
        debug_assert!(now >= self.now, "time never runs backwards");
        self.now = now;
        self.ledger.offered.add(packet.size);
        if self.observer.is_watching() {
            self.observer.on_crossing(now, packet.source(), Crossing::Out, &packet);
        }
        let (device, direction) = (packet.device, packet.direction);
        let first = self.routes.first(device, direction);
        let key = self.insert(InFlight { packet, next_hop: first + 1, leg: None });
        self.take_hop(now, key, self.routes.hop(first), device, direction);
    }

    /// Adds a packet to those inside.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: InFlight<C>) -> Key {
        let key = self.packets.insert(packet);
        if key.0 >= self.max_packets {
            self.outcomes.push_back(Outcome::Crowded);
        }
        key
    }

    /// Forwards a packet as the next step of the current event, after its outcomes so far.
    pub(crate) fn forward_after_outcomes(&mut self, key: Key) {
        debug_assert_eq!(self.unfinished, Unfinished::Nothing, "a link's event has one step");
        self.unfinished = Unfinished::Copied(key);
    }

    /// Sets the rate of a direction of a [paced](airwnd_links::link::Server::paced) link; `None`: no limit.
    ///
    /// # Panics
    /// If the link is another one.
    pub fn set_rate(&mut self, link: LinkId, direction: Direction, rate: Option<BitRate>) {
        let is_paced = self.wires.links[link.0 as usize].one_way_mut(direction).link_mut().set_rate(rate);
        assert!(is_paced, "only a paced link has a rate to set");
    }

    /// Limits the number of packets inside; each packet above the limit causes an [`Outcome::Crowded`].
    pub fn limit_packets(&mut self, max: u32) {
        self.max_packets = max;
    }

    /// Returns the time of the next event; `None`: nothing happens unless a packet is sent.
    pub fn next_event(&self) -> Option<Time> {
        self.queue.next()
    }

    /// Executes events up to `to`, until one has outcomes, and returns its time. `None`: all events due have finished.
    /// [`next_outcome`](Network::next_outcome) returns the outcomes and finishes the event; call it until it returns
    /// `None` before the next event begins.
    pub fn advance(&mut self, to: Time) -> Option<Time> {
        debug_assert!(!self.has_outcomes(), "the current event must finish first");
        while let Some((now, event)) = self.queue.pop_until(to) {
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
                    let air = self.air.as_mut().expect("a TTI of cells");
                    air.receive(now, &mut self.queue);
                    // They have waited long, and are in no cache.
                    air.arrivals.iter().for_each(|arrival| self.packets.prefetch(arrival.packet));
                    self.unfinished = Unfinished::Tti(0);
                }
                NetworkEvent::UplinkEnd => {
                    self.air.as_mut().expect("a TTI of cells").receive_uplink(now, &mut self.queue);
                    self.unfinished = Unfinished::Received(0);
                }
                NetworkEvent::Decoded => {
                    self.cells().decode(now);
                    self.unfinished = Unfinished::Received(0);
                }
                NetworkEvent::Mobility => self.move_ues(now),
            }
            if self.has_outcomes() {
                return Some(now);
            }
        }
        None
    }

    /// Returns the next outcome of the current event, which continues until it has one; `None`: the event is finished.
    #[inline]
    pub fn next_outcome(&mut self) -> Option<Outcome<C>> {
        loop {
            if let Some(outcome) = self.poll() {
                return Some(outcome);
            }
            if self.unfinished == Unfinished::Nothing {
                return None;
            }
            self.resume();
        }
    }

    /// Returns the next packet that the current event delivers, if its next outcome is one; the event continues until it
    /// has an outcome. `None`: [`next_outcome`](Network::next_outcome) returns the outcome, if there is one.
    // Most outcomes are deliveries: a packet that is part of no enum is copied once.
    #[inline]
    pub fn next_delivered(&mut self) -> Option<Packet<C>> {
        loop {
            if let Some(key) = self.delivered.take() {
                return Some(self.packets.remove(key).packet);
            }
            if !self.outcomes.is_empty() || self.unfinished == Unfinished::Nothing {
                return None;
            }
            self.resume();
        }
    }

    /// Returns the next pending outcome, without continuing the event.
    #[inline]
    pub fn poll(&mut self) -> Option<Outcome<C>> {
        match self.delivered.take() {
            Some(key) => Some(Outcome::Delivered(self.packets.remove(key).packet)),
            None => self.outcomes.pop_front(),
        }
    }

    /// Returns true if the current event has outcomes or may have more.
    #[inline]
    fn has_outcomes(&self) -> bool {
        self.delivered.is_some() || !self.outcomes.is_empty() || self.unfinished != Unfinished::Nothing
    }

    /// Executes the next step of the current event.
    fn resume(&mut self) {
        let now = self.now;
        match self.unfinished {
            Unfinished::Nothing => {}
            Unfinished::Copied(key) => {
                self.unfinished = Unfinished::Nothing;
                self.forward(now, key);
            }
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
                    if air.is_observed {
                        self.pass_records();
                    }
                    self.collect(now);
                }
            },
            Unfinished::Received(index) => match self.cells().arrivals.get(index).copied() {
                Some(arrival) => {
                    self.unfinished = Unfinished::Received(index + 1);
                    self.off_air(now, arrival.direction, arrival.packet);
                }
                None => {
                    self.unfinished = Unfinished::Nothing;
                    self.collect(now);
                }
            },
        }
    }

    /// Passes the records of the radio interface to the observer that it has not seen.
    #[cold]
    #[inline(never)]
    pub fn pass_records(&mut self) {
        let Some(air) = &mut self.air else { return };
        air.ran.take_records(self.now, &mut air.records);
        for record in &air.records {
            self.observer.on_record(record);
            let RadioEvent::Pdu(pdu) = &record.event else { continue };
            let PduContent::Data(data) = &pdu.pdu.content else { continue };
            for key in &data.packets {
                self.observer.on_part(record.at, &self.packets.get(*key).packet, pdu);
            }
        }
        air.records.clear();
    }

    /// Moves the UEs and forwards packets to those that have changed cells.
    fn move_ues(&mut self, now: Time) {
        self.cells().move_ues(now);
        self.collect(now);
        let mut forwards = std::mem::take(&mut self.cells().forwards);
        for Forward { ue, from, packet } in forwards.drain(..) {
            let air = self.air.as_mut().expect("UEs of cells");
            let leg = self.packets.get(packet).leg.expect("the packet came from the gateway");
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

    /// Applies the cells' marks and drops, and schedules their next TTI.
    pub(crate) fn collect(&mut self, now: Time) {
        let air = self.air.as_mut().expect("cells");
        air.collect(&mut self.effects);
        for key in &self.effects.marks {
            let packet = &self.packets.get(*key).packet;
            if packet.ecn.is_capable() {
                air.bearers.mark(packet, air.ran.cell_of(UeId(packet.device)));
            }
        }
        self.apply_effects(now);
        self.air.as_mut().expect("cells").wake(now, &mut self.queue);
    }

    /// Applies the marks and drops of the last operation.
    #[inline]
    pub(crate) fn apply_effects(&mut self, now: Time) {
        if !(self.effects.marks.is_empty() && self.effects.drops.is_empty()) {
            self.mark_and_drop(now);
        }
    }

    fn mark_and_drop(&mut self, now: Time) {
        for key in self.effects.marks.drain(..) {
            //= RFC 3168 §5
            let packet = &mut self.packets.get_mut(key).packet;
            if packet.ecn.is_capable() {
                packet.ecn = Codepoint::Ce;
                self.observer.on_mark(now, packet);
            }
        }
        let mut drops = std::mem::take(&mut self.effects.drops);
        for (key, cause) in drops.drain(..) {
            self.drop(now, key, cause);
        }
        // A drop can release held packets into full queues; those drops have been applied by now.
        debug_assert!(self.effects.drops.is_empty());
        self.effects.drops = drops;
    }

    pub(crate) fn cells(&mut self) -> &mut Air {
        self.air.as_mut().expect("only cells have TTIs, legs and mobility")
    }
}

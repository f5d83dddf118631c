//! The radio access network, advanced one TTI at a time.
//!
//! In a TTI [`Region`]s work in parallel; what crosses their borders, and what happens between TTIs, is processed here
//! in a fixed order.

mod build;
mod figures;

pub use build::Unbuildable;
pub use figures::{CellFigures, UeFigures};

use crate::agenda::{Agenda, Notice, Task};
use crate::crew::Crew;
use crate::handover::Forwarding;
use crate::identity::{BearerId, CellId, UeId, UeSlot};
use crate::mac::uplink_adaptation::Schemes;
use crate::radio::Radio;
use crate::region::{Region, Rules};
use crate::trace::{RadioEvent, RadioRecord, RrcCause, RrcEvent, RrcRecord};
use crate::ue::{Arrival, Dropped, EventLog, LegId, SduTracer, Ue, UeTable, Waiting};
use airwnd_kernel::{Direction, Key};
use airwnd_phy::Position;
use airwnd_phy::access::Access;
use airwnd_rlc::{DropCause, Returned, Sdu};
use airwnd_units::{SlotClock, Time, Tti};
use std::collections::VecDeque;
use std::sync::Arc;

/// Minimum number of blocks whose reassembly is distributed over threads.
// A choice: half a microsecond each, against the microseconds that the distribution takes.
const WORTH_THREADS: usize = 20;

/// A packet forwarded to the new cell of its UE.
#[derive(Clone, Copy, Debug)]
pub struct Forward {
    /// UE of the packet.
    pub ue: UeId,
    /// Cell that holds the packet.
    pub from: CellId,
    /// The packet.
    pub packet: Key,
}

/// The radio access network: cells and UEs, driven by TTIs, which are slots in NR.
///
/// The caller passes packets in with [`send`](Ran::send). At the start of each TTI it calls [`receive`](Ran::receive),
/// processes the packets that have arrived, and calls [`transmit`](Ran::transmit). TTIs may be skipped while
/// [`is_idle`](Ran::is_idle).
pub struct Ran {
    access: Arc<Access>,
    radio: Radio,
    regions: Vec<Region>,
    /// Region of each cell.
    region_of: Vec<u16>,
    /// Region of each UE: that of its cell.
    home: Vec<u16>,
    crew: Crew,
    agenda: Agenda,
    forwarding: Forwarding,
    /// Whether packets that wait survive a radio link failure.
    failure_keeps: bool,
    /// Whether UEs without data are released.
    releases: bool,
    rules: Rules,
    schemes: Schemes,
    next: Tti,
    events: EventLog,
    arrivals: Vec<Arrival>,
    forwards: Vec<Forward>,
    /// Packets returned by RLC at re-establishment; otherwise empty.
    returned: VecDeque<Returned>,
    /// UEs whose neighbours have been selected anew; otherwise empty.
    reselected: Vec<UeId>,
    /// Skipped TTIs with the last sounding signals before the current one; otherwise empty.
    missed: Vec<Tti>,
}

impl Ran {
    /// The region of a UE.
    fn region(&mut self, number: UeId) -> &mut Region {
        &mut self.regions[usize::from(self.home[number.index()])]
    }

    /// A UE.
    fn ue(&self, number: UeId) -> &Ue {
        &self.regions[usize::from(self.home[number.index()])].table.ues[number]
    }

    /// Enqueues a packet, with its size including the IP header, in a bearer of a UE: at the eNB or at the UE.
    pub fn send(&mut self, ue: UeId, bearer: BearerId, direction: Direction, packet: Sdu) {
        let region = &mut self.regions[usize::from(self.home[ue.index()])];
        if self.releases {
            region.on_packet(packet.arrived, ue, direction);
        }
        region.send(packet, LegId { ue, bearer: bearer.0, direction }, &mut self.events);
    }

    /// Moves a UE.
    pub fn place(&mut self, now: Time, ue: UeId, position: Position) {
        self.radio.place(now, ue, position);
    }

    /// Sets the weight of a UE, a positive number, by which its metric in the downlink scheduler is multiplied, in any
    /// cell that serves it. Returns whether the scheduler has weights.
    pub fn set_weight(&mut self, ue: UeId, weight: f64) -> bool {
        self.regions[usize::from(self.home[ue.index()])].set_weight(ue, weight)
    }

    /// Whether no TTI is needed until a packet is sent.
    pub fn is_idle(&self) -> bool {
        self.regions.iter().all(Region::is_idle)
    }

    /// The clock of its TTIs.
    pub fn clock(&self) -> SlotClock {
        self.access.clock
    }

    /// Time at which the uplink blocks of a transmitted TTI reach RLC, if any was decoded.
    pub fn uplink_ends(&self, tti: Tti) -> Option<Time> {
        let decoded = self.regions.iter().any(|region| !region.decoded_up.is_empty());
        decoded.then(|| self.access.clock.start(tti) + self.access.timing.uplink_duration)
    }

    /// Delivers decoded uplink blocks to RLC at their end.
    pub fn receive_uplink(&mut self, now: Time) {
        self.reassemble(|region| region.reassemble(now, Direction::Up));
        self.merge(now);
    }

    /// Delivers decoded downlink blocks to RLC at the end of the TTI before `tti`.
    pub fn receive(&mut self, tti: Tti) {
        let now = self.access.clock.start(tti);
        self.reassemble(|region| {
            region.reassemble(now, Direction::Down);
            region.expire(now);
        });
        self.merge(now);
    }

    /// Lets RLC receive in all regions: on several threads if that is worth while.
    fn reassemble(&mut self, receive: impl Fn(&mut Region) + Send + Sync) {
        let decoded: usize = self.regions.iter().map(Region::decoded_blocks).sum();
        if decoded < WORTH_THREADS {
            self.regions.iter_mut().for_each(receive);
        } else {
            self.crew.each(&mut self.regions, |_, region| receive(region));
        }
    }

    /// Collects, in the order of the regions, the SDUs that RLC has delivered, and handles failures of links.
    fn merge(&mut self, now: Time) {
        for region in &mut self.regions {
            if self.releases {
                region.table.note_arrivals(now);
            }
            self.arrivals.append(&mut region.table.arrivals);
            self.events.append(&mut region.table.events);
        }
        for index in 0..self.regions.len() {
            if self.regions[index].table.failed.is_empty() {
                continue;
            }
            let mut failed = std::mem::take(&mut self.regions[index].table.failed);
            for number in failed.drain(..) {
                if !self.fail_link(now, number, RrcCause::MaxRetransmissions) {
                    let (event, cause) = (RrcEvent::LinkFailure, RrcCause::MaxRetransmissions);
                    self.note(now, number, event, cause, None);
                    self.region(number).table.get(number).failures += 1;
                    self.re_establish_rlc(now, number);
                }
            }
            self.regions[index].table.failed = failed;
        }
    }

    /// Re-establishes RLC of a UE whose link has failed, without losing packets.
    //= TS 36.322 §5.2.1
    //= exception failure-begins-anew
    fn re_establish_rlc(&mut self, now: Time, number: UeId) {
        let Ran { regions, home, events, returned, .. } = self;
        let region = &mut regions[usize::from(home[number.index()])];
        let UeTable { ues, trace, .. } = &mut region.table;
        let ue = &mut ues[number];
        for (bearer, radio_bearer) in (0..).zip(ue.bearers.iter_mut()) {
            for direction in Direction::BOTH {
                let rlc = &mut radio_bearer.leg_mut(direction).rlc;
                rlc.release(now, DropCause::LinkFailure, returned, events);
                rlc.resume(returned.drain(..));
                let leg = LegId { ue: number, bearer, direction };
                SduTracer { tracer: trace, now, cell: ue.cell, leg }.note_drops(events);
            }
        }
        // PDUs of unacknowledged bearers on air belong to the RLC entities before.
        ue.clear_parts();
        region.report_all(now, number);
    }

    /// Starts a TTI: buffer reports, scheduling decisions and transmissions.
    pub fn transmit(&mut self, tti: Tti) {
        let skipped = tti.0.saturating_sub(self.next.0);
        if skipped > 0 {
            self.wake(tti, skipped);
        }
        self.next = tti + 1;
        self.radio.begin(tti);
        let Ran { radio, regions, crew, access, .. } = self;
        crew.each(regions, |_, region| region.decide(radio, tti));
        let cells = regions.iter().flat_map(|region| &region.cells);
        let sends = access.timing.slot(tti).sends;
        radio.transmit(sends, cells.clone().map(|cell| cell.downlinks[0].on_air(tti)));
        radio.transmit_secondary(sends, |index| {
            cells.clone().map(move |cell| cell.downlinks[index + 1].on_air(tti))
        });
        radio.begin_uplink();
        regions.iter().for_each(|region| region.put_on_air(radio, tti));
        crew.each(regions, |_, region| region.receive(radio, tti));
        regions.iter_mut().for_each(|region| self.events.append(&mut region.table.events));
    }

    /// Accounts for skipped TTIs: averages decay, nothing was on air.
    fn wake(&mut self, tti: Tti, skipped: u64) {
        let Ran { radio, regions, missed, .. } = self;
        let has_drx = regions[0].table.has_drx;
        radio.skip(tti, skipped);
        regions.iter_mut().for_each(|region| region.on_idle(Tti(tti.0 - skipped)..tti));
        missed.clear();
        if has_drx {
            regions.iter().for_each(|region| region.last_soundings(tti, skipped, missed));
            missed.sort_unstable();
            missed.dedup();
        } else {
            missed.extend((tti.0 - skipped.min(self.rules.srs_period)..tti.0).map(Tti));
        }
        for missed in missed.drain(..) {
            radio.begin(missed);
            radio.begin_uplink();
            for region in regions.iter_mut() {
                region.sound(radio, missed);
                region.put_on_air(radio, missed);
            }
            regions.iter_mut().for_each(|region| region.receive_soundings(radio, missed));
        }
        if has_drx {
            regions.iter_mut().for_each(|region| region.hold_skipped(radio, tti, skipped));
        }
    }

    /// The cell that holds a UE's bearer: downlink packets go there.
    pub fn cell_of(&self, ue: UeId) -> CellId {
        self.radio.serving(ue)
    }

    // Between TTIs.

    /// Whether a UE moves.
    pub fn moves(&self, ue: UeId) -> bool {
        self.agenda.moves(ue)
    }

    /// Time of the next event between TTIs.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.next()
    }

    /// Processes motion, measurements and handovers up to `now`. The caller then takes notices, forwarded packets and
    /// drops.
    pub fn advance(&mut self, now: Time) {
        while let Some((now, task)) = self.agenda.next_task(now, &mut self.radio, &self.crew) {
            match task {
                Task::GiveUp(ue) => {
                    if !self.is_released(now, ue) {
                        self.fail_link(now, ue, RrcCause::OutOfSync);
                    }
                }
                Task::Prepare { ue, target } => {
                    let slot = self.reserve(ue, target);
                    if slot.is_none() {
                        self.note(now, ue, RrcEvent::HandoverFailure, RrcCause::NoSlot, Some(target));
                    }
                    self.agenda.prepared(now, ue, target, slot);
                }
                Task::Command { ue, target, slot } => {
                    let cause = RrcCause::MeasurementReport;
                    self.note(now, ue, RrcEvent::HandoverStart, cause, Some(target));
                    self.leave(now, ue);
                    self.move_bearers(now, ue, target, slot);
                }
                Task::Join(ue) => {
                    let is_handover = !self.is_released(now, ue);
                    self.region(ue).table.get(ue).handovers += u64::from(is_handover);
                    self.activate(now, ue);
                    self.note(now, ue, RrcEvent::HandoverEnd, RrcCause::MeasurementReport, None);
                }
                Task::Withdraw(ue) => {
                    self.note(now, ue, RrcEvent::HandoverFailure, RrcCause::LowSinr, None);
                    let Ue { cell, slot, .. } = *self.ue(ue);
                    self.vacate(cell, slot);
                }
                Task::Reestablish { ue, cell } => {
                    let slot = self.reserve(ue, cell);
                    if let Some(slot) = slot {
                        let event = RrcEvent::Reestablishment;
                        self.note(now, ue, event, RrcCause::CellSearch, Some(cell));
                        if !self.failure_keeps {
                            self.release_failed(now, ue);
                        }
                        self.move_bearers(now, ue, cell, slot);
                        self.activate(now, ue);
                    }
                    self.agenda.reestablished(now, ue, cell, slot.is_some());
                }
            }
        }
        let Ran { radio, regions, reselected, .. } = self;
        radio.take_reselected(reselected);
        for ue in reselected.drain(..) {
            regions.iter_mut().for_each(|region| region.keep(radio, ue));
        }
    }

    /// Notes an event of RRC for an observer.
    fn note(&mut self, at: Time, number: UeId, event: RrcEvent, cause: RrcCause, to: Option<CellId>) {
        let Ran { regions, home, radio, .. } = self;
        let trace = &mut regions[usize::from(home[number.index()])].table.trace;
        if !trace.is_on() {
            return;
        }
        let cell = radio.serving(number);
        let rsrp = radio.rsrp(number, cell);
        let to_rsrp = to.map(|to| radio.rsrp(number, to));
        let event = RadioEvent::Rrc(RrcRecord { event, cause, to, rsrp: Some(rsrp), to_rsrp });
        trace.note(RadioRecord { at, ue: number, cell, event });
    }

    /// Drains pending mobility events.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        self.agenda.take_notices(into);
    }

    /// Drains the packets forwarded to other cells, in order.
    pub fn take_forwards(&mut self, into: &mut Vec<Forward>) {
        into.clear();
        std::mem::swap(&mut self.forwards, into);
    }

    /// Declares a radio link failure and starts the search for another cell; returns false if re-establishment is
    /// disabled.
    fn fail_link(&mut self, now: Time, number: UeId, cause: RrcCause) -> bool {
        let Some(kept) = self.agenda.give_up(now, number) else { return false };
        self.note(now, number, RrcEvent::LinkFailure, cause, None);
        if let Some((cell, slot)) = kept {
            self.vacate(cell, slot);
        }
        self.region(number).table.get(number).failures += 1;
        self.leave(now, number);
        self.release_failed(now, number);
        true
    }

    /// Releases the transmissions of a UE whose link has failed, and the packets that wait unless they survive.
    fn release_failed(&mut self, now: Time, number: UeId) {
        let rest = if self.failure_keeps { Waiting::Stays } else { Waiting::IsDropped };
        for direction in Direction::BOTH {
            self.re_establish(now, number, direction, DropCause::LinkFailure, rest);
        }
    }

    /// Moves both directions of a UE's bearers to another cell, or re-establishes them in the same one. Waiting downlink
    /// packets are forwarded or dropped, uplink packets stay or are dropped.
    fn move_bearers(&mut self, now: Time, number: UeId, cell: CellId, slot: UeSlot) {
        let (down, up) = match self.forwarding {
            _ if cell == self.radio.serving(number) => (Waiting::Stays, Waiting::Stays),
            Forwarding::Waiting => (Waiting::Follows, Waiting::Stays),
            Forwarding::Arriving | Forwarding::Nothing => (Waiting::IsDropped, Waiting::IsDropped),
        };
        self.re_establish(now, number, Direction::Down, DropCause::Handover, down);
        self.re_establish(now, number, Direction::Up, DropCause::Handover, up);
        self.tune(number, cell, slot);
    }

    fn re_establish(
        &mut self,
        now: Time,
        number: UeId,
        direction: Direction,
        cause: DropCause,
        rest: Waiting,
    ) {
        let Ran { regions, home, events, forwards, returned, radio, .. } = self;
        let (ue, from) = (number, radio.serving(number));
        let UeTable { ues, trace, .. } = &mut regions[usize::from(home[number.index()])].table;
        for (bearer, radio_bearer) in (0..).zip(ues[ue].bearers.iter_mut()) {
            let leg = radio_bearer.leg_mut(direction);
            leg.re_establish(now, cause, rest, returned, events, |packet| {
                forwards.push(Forward { ue, from, packet });
            });
            let leg = LegId { ue, bearer, direction };
            SduTracer { tracer: trace, now, cell: from, leg }.note_drops(events);
        }
    }

    /// Whether a UE is released to RRC idle or inactive.
    fn is_released(&self, now: Time, number: UeId) -> bool {
        self.ue(number).connection.as_ref().is_some_and(|connection| connection.released(now).is_some())
    }

    /// Reserves a slot of a cell for a UE, if a slot and a sounding resource are free.
    fn reserve(&mut self, number: UeId, cell: CellId) -> Option<UeSlot> {
        let bearer = self.ue(number).qos();
        self.regions[usize::from(self.region_of[cell.index()])].reserve(number, bearer, cell)
    }

    /// Frees a slot.
    fn vacate(&mut self, cell: CellId, slot: UeSlot) {
        self.regions[usize::from(self.region_of[cell.index()])].vacate(cell, slot);
    }

    /// Detaches a UE from its cell; transmissions on air are lost.
    fn leave(&mut self, now: Time, number: UeId) {
        self.region(number).detach(now, number);
    }

    /// Switches a UE, which has left its cell, to one that has reserved a slot for it.
    fn tune(&mut self, number: UeId, cell: CellId, slot: UeSlot) {
        let (from, to) = (self.home[number.index()], self.region_of[cell.index()]);
        if from != to {
            let ue = self.regions[usize::from(from)].release(number);
            self.regions[usize::from(to)].admit(number, ue);
            self.home[number.index()] = to;
        }
        let ue = self.region(number).table.get(number);
        (ue.cell, ue.slot) = (cell, slot);
        self.radio.serve(number, cell);
    }

    /// Starts service of a UE by the cell it has switched to.
    fn activate(&mut self, now: Time, number: UeId) {
        let region = self.region(number);
        region.attach(now, number);
        region.report_all(now, number);
    }

    /// Drains the packets that have crossed the radio link.
    pub fn take_arrivals(&mut self, into: &mut Vec<Arrival>) {
        into.clear();
        std::mem::swap(&mut self.arrivals, into);
    }

    /// Whether packets were dropped or marked since the last look.
    pub fn has_events(&self) -> bool {
        !(self.events.drops.is_empty() && self.events.marks.is_empty())
    }

    /// Drains the packets that were dropped.
    pub fn take_drops(&mut self, into: &mut Vec<Dropped>) {
        into.clear();
        std::mem::swap(&mut self.events.drops, into);
    }

    /// Drains the packets whose ECN field was set by queues.
    pub fn take_marks(&mut self, into: &mut Vec<Key>) {
        into.clear();
        std::mem::swap(&mut self.events.marks, into);
    }
}

//! The radio access network, advanced one TTI at a time.
//!
//! In a TTI [`Region`]s work in parallel; what crosses their borders, and what happens between TTIs, is processed here
//! in a fixed order.

use crate::agenda::{Agenda, Notice, Task};
use crate::crew::{Crew, partition};
use crate::enb::{Allocation, Cell, CellPlan, Downlink, FREE_SLOT, ReportTiming};
use crate::handover::Forwarding;
use crate::identity::{BearerId, CellId, UeId, UeSlot};
use crate::mac::BlockFigures;
use crate::mac::uplink_adaptation::{Density, Schemes};
use crate::radio::Radio;
use crate::reach::{LinkBudget, Reach, UplinkBudget};
use crate::region::{Region, Rules};
use crate::settings::RanSetup;
use crate::trace::{RadioEvent, RadioFilter, RadioRecord, RrcCause, RrcEvent, RrcRecord};
use crate::ue::{Arrival, Dropped, EventLog, LegId, Ue, Waiting};
use airwnd_kernel::{Direction, Key};
use airwnd_links::aqm::Backlog;
use airwnd_phy::access::Access;
use airwnd_phy::{Cqi, Mcs, Position, Prbs};
use airwnd_rlc::{DropCause, Returned, Sdu};
use airwnd_units::{Db, Dbm, SlotClock, Span, Time, Tti};
use std::collections::VecDeque;
use std::ops::Range;
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

/// A UE's figures so far.
#[derive(Clone, Copy, Debug)]
pub struct UeFigures {
    /// Position.
    pub position: Position,
    /// Serving cell.
    pub cell: CellId,
    /// Newest sample of the reported SINR.
    pub sinr: Option<Db>,
    /// Mean over time of the reported SINR, in dB.
    pub mean_sinr: Option<Db>,
    /// RSRP: power of one reference-signal resource element.
    pub rsrp: Dbm,
    /// Downlink blocks.
    pub downlink: BlockFigures,
    /// Uplink blocks.
    pub uplink: BlockFigures,
    /// SINR of the last sounding signal, which covers the carrier.
    pub sounding_sinr: Option<Db>,
    /// Whether data can be transmitted in the downlink.
    pub downlink_reach: Reach,
    /// Whether data can be transmitted in the uplink.
    pub uplink_reach: Reach,
    /// Radio link failures, including RLC maximum retransmissions (maxRetxThreshold).
    pub failures: u64,
    /// Number of handovers.
    pub handovers: u64,
}

impl UeFigures {
    /// Transport blocks of one direction.
    pub fn blocks(&self, direction: Direction) -> BlockFigures {
        match direction {
            Direction::Down => self.downlink,
            Direction::Up => self.uplink,
        }
    }
}

/// A cell's figures at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct CellFigures {
    /// Number of UEs served.
    pub users: usize,
    /// PRBs in one TTI of the downlink, with secondary carriers, and of the uplink.
    pub prbs: [Prbs; 2],
    /// Parts of the TTIs with downlink data and with uplink data: less than one in TDD.
    pub shares: [f64; 2],
    /// PRBs used for downlink data, retransmissions included.
    pub downlink_prbs: u64,
    /// Bytes of decoded downlink blocks.
    pub downlink_bytes: u64,
    /// PRBs used for uplink data.
    pub uplink_prbs: u64,
    /// Bytes of decoded uplink blocks.
    pub uplink_bytes: u64,
}

/// Reason why a setup cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbuildable(pub String);

impl Ran {
    /// Builds cells and UEs and attaches each UE to its cell. Results do not depend on the crew, whose threads build and
    /// advance the network.
    //= exception no-attach
    pub fn new(setup: &RanSetup, crew: Crew) -> Result<Ran, Unbuildable> {
        let reports = ReportTiming::of(&setup.radio);
        let unbuildable = |(key, why)| Unbuildable(format!("carrier.{key}: {why}"));
        let carriers = setup.carriers().map_err(unbuildable)?;
        let access = carriers[0].access.clone();
        // With DRX the report before the newest one is held.
        let held = if setup.mac.drx.is_some() { reports.period } else { 0 };
        let remembered = reports.remembered() + held + access.timing.max_unmeasured();
        let mut radio = Radio::new(setup, &carriers, remembered, &crew);
        let mut agenda = Agenda::new(setup);
        let starts: Vec<(UeId, Position)> = agenda
            .start_positions()
            .map(|(ue, [x, y])| (ue, Position { x, y, ..setup.ues[ue.index()].position }))
            .collect();
        radio.place_all(Time::ZERO, &starts, &crew);
        let users = serve(setup, &mut radio);
        let schemes = setup.uplink_schemes(&access);
        let rules = Rules {
            power_control: setup.power_control(&access),
            soundings_apart: schemes.fits_widths(),
            reports,
            remembered,
            srs_period: srs_period(setup, users.iter().map(Vec::len).max().unwrap_or(0))?.into(),
        };
        let outer_loops: Vec<_> = carriers.iter().map(|carrier| setup.outer_loop(&carrier.access)).collect();
        let plan = CellPlan {
            setup,
            carriers: &carriers,
            schemes: &schemes,
            outer_loops: &outer_loops,
            reports,
            srs_period: rules.srs_period,
        };
        let mut parts: Vec<_> = partition(setup.cells.len()).map(|range| (range, None)).collect();
        crew.each(&mut parts, |_, (range, region)| {
            *region = Some(region_of_cells(&plan, &radio, &rules, range.clone(), &users));
        });
        let (mut regions, mut region_of) = (Vec::new(), Vec::with_capacity(setup.cells.len()));
        let mut home = vec![0; setup.ues.len()];
        for (index, (range, region)) in (0..).zip(parts) {
            regions.push(region.expect("it has been built")?);
            region_of.resize(range.end, index);
            users[range].iter().flatten().for_each(|ue| home[ue.index()] = index);
        }
        Ok(Ran {
            regions,
            region_of,
            home,
            crew,
            agenda,
            forwarding: setup.handover.forwarding,
            failure_keeps: setup.handover.link_failure.as_ref().is_none_or(|failure| failure.keeps_packets),
            releases: setup.rrc.is_some(),
            next: Tti(0),
            events: EventLog::new(),
            arrivals: Vec::with_capacity(256),
            returned: VecDeque::new(),
            forwards: Vec::with_capacity(64),
            reselected: Vec::new(),
            missed: Vec::new(),
            schemes,
            rules,
            radio,
            access,
        })
    }

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

    /// Time from the delivery of a packet by RLC until it leaves the receiver.
    pub fn decoding(&self) -> Span {
        self.access.timing.decoding
    }

    /// Time from the TTI at whose start a packet waits at an idle UE to its arrival at the eNB, averaged over the
    /// phases of scheduling requests.
    pub fn uplink_crossing(&self) -> Span {
        let timing = &self.access.timing;
        let table = &self.regions[0].table;
        let requested = table.request_grants();
        let until_request = if requested { table.request_period() / 2 } else { 0 };
        let slots = until_request + timing.uplink_wait(requested);
        Span(slots * self.access.clock.slot().0) + timing.uplink_duration + timing.decoding
    }

    /// Time from the TTI at whose start a packet waits at the eNB to its arrival at the UE, if one block carries it.
    pub fn downlink_crossing(&self) -> Span {
        let timing = &self.access.timing;
        Span((timing.downlink_wait() + 1) * self.access.clock.slot().0) + timing.decoding
    }

    /// The MCS of blocks to a UE that reports this CQI, without outer-loop link adaptation.
    pub fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.access.mcs_of(cqi)
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
        let ue = region.table.get(number);
        for leg in ue.bearers.legs_mut() {
            leg.rlc.release(now, DropCause::LinkFailure, returned, events);
            leg.rlc.resume(returned.drain(..));
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

    /// Keeps the records that pass a filter until the owner takes them.
    pub fn observe(&mut self, filter: &RadioFilter) {
        for region in &mut self.regions {
            region.table.trace.observe(filter.clone());
            for cell in &mut region.cells {
                cell.downlinks.iter_mut().for_each(Downlink::observe);
                cell.uplink.observe();
            }
        }
    }

    /// Whether there is an observer.
    pub fn is_observed(&self) -> bool {
        self.regions.iter().any(|region| region.table.trace.is_on())
    }

    /// Moves the records so far to the end of a list, in the order of their times, those of one time in the order of the
    /// regions.
    pub fn take_records(&mut self, into: &mut Vec<RadioRecord>) {
        let first = into.len();
        self.regions.iter_mut().for_each(|region| region.table.trace.take(into));
        into[first..].sort_by_key(|record| record.at);
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
        let bearers = &mut regions[usize::from(home[number.index()])].table.get(ue).bearers;
        for leg in bearers.iter_mut().map(|bearer| bearer.leg_mut(direction)) {
            leg.re_establish(now, cause, rest, returned, events, |packet| {
                forwards.push(Forward { ue, from, packet });
            });
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

    /// The packets inside: queued, on air, or waiting for reassembly.
    pub fn inside(&self) -> impl Iterator<Item = Key> + '_ {
        UeId::all(self.ues())
            .map(|number| self.ue(number))
            .flat_map(|ue| ue.bearers.iter().flat_map(|bearer| [&bearer.downlink, &bearer.uplink]))
            .flat_map(|leg| leg.rlc.inside().map(|sdu| sdu.packet))
    }

    /// Downlink backlog of a UE's bearers at the eNB.
    pub fn backlog(&self, ue: UeId) -> Backlog {
        let mut sum = Backlog::default();
        for bearer in 0..self.ue(ue).bearers.count() {
            let backlog = self.backlog_of(ue, BearerId(bearer));
            sum = Backlog { bytes: sum.bytes + backlog.bytes, packets: sum.packets + backlog.packets };
        }
        sum
    }

    /// Downlink backlog of a bearer at the eNB.
    pub fn backlog_of(&self, ue: UeId, bearer: BearerId) -> Backlog {
        self.ue(ue).bearers[bearer.0].downlink.rlc.backlog()
    }

    /// Logs the downlink transmissions on air in these TTIs.
    pub fn log_allocations(&mut self, ttis: Range<Tti>) {
        let cells = self.regions.iter_mut().flat_map(|region| &mut region.cells);
        for downlink in cells.flat_map(|cell| &mut cell.downlinks) {
            downlink.keep_log(ttis.clone());
        }
    }

    /// Memory for the logged downlink transmissions, in bytes.
    pub fn allocations_bytes(&self) -> usize {
        let logs = self.cells().flat_map(|cell| &cell.downlinks).filter_map(Downlink::log);
        // They are copied and converted to a table.
        logs.map(|log| 3 * log.rows.len() * size_of::<Allocation>()).sum()
    }

    /// The logged downlink transmissions, by TTI, cell and carrier; `None` if logging is disabled.
    pub fn allocations(&self) -> Option<Vec<Allocation>> {
        let downlinks = self.cells().flat_map(|cell| &cell.downlinks);
        let logs = downlinks.map(|downlink| downlink.log().map(|log| &log.rows));
        let mut all: Vec<Allocation> =
            logs.collect::<Option<Vec<_>>>()?.into_iter().flatten().copied().collect();
        all.sort_by_key(|allocation| (allocation.tti, allocation.cell, allocation.carrier));
        Some(all)
    }

    /// As [`Ran::allocations`], but clears the log.
    pub fn take_allocations(&mut self) -> Option<Vec<Allocation>> {
        let all = self.allocations();
        let cells = self.regions.iter_mut().flat_map(|region| &mut region.cells);
        cells.flat_map(|cell| &mut cell.downlinks).for_each(Downlink::clear_log);
        all
    }

    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.home.len()
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.regions.iter().flat_map(|region| &region.cells)
    }

    /// A UE's figures so far.
    pub fn ue_figures(&self, ue: UeId) -> UeFigures {
        let region = &self.regions[usize::from(self.home[ue.index()])];
        let (number, ue) = (ue, &region.table.ues[ue]);
        let uplink = &region.cell(ue.cell).uplink;
        UeFigures {
            position: self.radio.position(number),
            cell: ue.cell,
            sinr: ue.sinr,
            mean_sinr: (ue.sinr_samples > 0).then(|| Db(ue.sinr_sum / ue.sinr_samples as f64)),
            rsrp: self.radio.rsrp(number, ue.cell),
            downlink: ue.downlink.blocks,
            uplink: ue.uplink.blocks,
            sounding_sinr: uplink.sounding_sinr(ue.slot),
            downlink_reach: Reach::of(&ue.downlink.blocks, self.radio.reaches(number)),
            uplink_reach: Reach::of(&ue.uplink.blocks, uplink.reaches(ue.slot)),
            failures: ue.failures,
            handovers: ue.handovers,
        }
    }

    /// Fraction of the time until now in which a UE has monitored the PDCCH.
    pub fn awake(&self, ue: UeId, now: Time) -> f64 {
        self.ue(ue).awake(self.access.clock, now)
    }

    /// The best case of link adaptation for a UE's link at its current position.
    pub fn link_budget(&self, ue: UeId) -> LinkBudget {
        let number = ue;
        let snr = |prbs| self.radio.uplink_snr(number, prbs, &self.rules.power_control, Db(0.0));
        let carrier = snr(self.radio.prbs());
        let headroom = self.rules.power_control.headroom(Prbs(1), self.radio.loss(number), Db(0.0));
        let density = Density::alone(headroom, snr(Prbs(1)));
        let (narrowest, cqi) = self.schemes.narrowest(carrier, density);
        let (downlink, downlink_cqi) = self.radio.downlink_snr(number);
        LinkBudget {
            downlink,
            downlink_at_full_load: self.radio.control_sinr(number, self.radio.serving(number)),
            downlink_cqi,
            uplink: UplinkBudget { carrier, narrow: snr(narrowest), narrowest, cqi },
        }
    }

    /// Bytes per TTI that a cell carries to one of its UEs without errors if it serves no other: the sum over the RBGs of
    /// the block sizes of the newest channel report. `None` while the UE changes cells.
    pub fn whole_cell(&mut self, ue: UeId) -> Option<f64> {
        let Ran { radio, regions, home, next, .. } = self;
        regions[usize::from(home[ue.index()])].whole_cell(radio, ue, *next)
    }

    /// Mean PRBs per TTI of the downlink carriers of a UE.
    pub fn downlink_prbs(&self, ue: UeId) -> f64 {
        let carriers = self.ue(ue).carriers.into();
        let prbs: u16 = self.radio.all().take(carriers).map(|radio| radio.prbs().0).sum();
        f64::from(prbs) * self.access.timing.shares()[0]
    }

    /// A UE's downlink blocks so far.
    pub fn downlink_blocks(&self, ue: UeId) -> BlockFigures {
        self.ue(ue).downlink.blocks
    }

    /// The strongest cell at a UE other than its serving one, and its RSRP.
    pub fn neighbour(&self, ue: UeId) -> Option<(CellId, Dbm)> {
        let number = ue;
        let best = self.radio.strongest_but(number, self.radio.serving(number))?;
        Some((best, self.radio.rsrp(number, best)))
    }

    /// The cells' figures so far.
    pub fn cell_figures(&self) -> impl Iterator<Item = CellFigures> + '_ {
        let downlink = Prbs(self.radio.all().map(|radio| radio.prbs().0).sum());
        self.cells().map(move |cell| CellFigures {
            users: cell.users.iter().filter(|user| **user != FREE_SLOT).count(),
            prbs: [downlink, self.radio.prbs()],
            shares: self.access.timing.shares(),
            downlink_prbs: cell.downlinks.iter().map(|downlink| downlink.figures.prbs).sum(),
            downlink_bytes: cell.downlinks.iter().map(|downlink| downlink.figures.bytes).sum(),
            uplink_prbs: cell.uplink.figures.prbs,
            uplink_bytes: cell.uplink.figures.bytes,
        })
    }
}

/// Attaches each UE to its cell. Returns the UEs by cell and slot.
fn serve(setup: &RanSetup, radio: &mut Radio) -> Vec<Vec<UeId>> {
    let mut users = vec![Vec::new(); setup.cells.len()];
    for (ue, site) in UeId(0).onwards().zip(&setup.ues) {
        let cell = site.cell.unwrap_or_else(|| radio.strongest(ue));
        radio.serve(ue, cell);
        users[cell.index()].push(ue);
    }
    users
}

/// The region of a range of cells with their UEs; `users`: those of all cells.
fn region_of_cells(
    plan: &CellPlan<'_>,
    radio: &Radio,
    rules: &Rules,
    range: Range<usize>,
    users: &[Vec<UeId>],
) -> Result<Region, Unbuildable> {
    let &CellPlan { setup, carriers, .. } = plan;
    let (users, first) = (&users[range.clone()], CellId::at(range.start));
    let cell = |(number, users)| Cell::new(plan, number, users).map_err(Unbuildable);
    let numbers = range.map(CellId::at);
    let cells = numbers.clone().zip(users.iter().cloned()).map(cell).collect::<Result<Vec<Cell>, _>>()?;
    let mut region = Region::new(setup, carriers, radio, rules, first, cells);
    for (cell, users) in numbers.zip(users) {
        for (slot, ue) in UeSlot::all().zip(users) {
            region.admit(*ue, Box::new(Ue::new(setup, carriers, *ue, cell, slot)));
            region.configure(*ue);
        }
    }
    Ok(region)
}

/// The configured period, or the shortest usual one with an offset for each UE.
// ns-3 uses 40 TTI, and ends the simulation if a cell has more UEs than that.
fn srs_period(setup: &RanSetup, users: usize) -> Result<u16, Unbuildable> {
    let fits = |period: &u16| usize::from(*period) >= users;
    match setup.mac.srs_period {
        Some(period) if fits(&period) => Ok(period),
        Some(period) => Err(Unbuildable(format!(
            "a sounding period of {period} TTI has offsets for {period} UEs per cell, but one cell has {users}"
        ))),
        None => [40, 80, 160, 320].into_iter().find(fits).ok_or_else(|| {
            Unbuildable(format!(
                "a cell serves at most 320 UEs, one per sounding offset, but one cell has {users}"
            ))
        }),
    }
}

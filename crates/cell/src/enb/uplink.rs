//! The uplink MAC of a cell: buffer status reports, grants, synchronous HARQ.
//!
//! A UE reports its buffer, is granted PRBs, transmits, and retransmits what the eNB did not decode. Grants and
//! feedback are control messages; grants can be lost. Ideal buffer reports are control messages, too. Otherwise a UE
//! sends a scheduling request (SR), and reports within its blocks.

mod records;

use super::backlog::{Backlogs, carried, quantised};
use super::belief::{Belief, BufferNews};
use super::compat::belief;
use super::confined::Confined;
use super::pipeline::Pipeline;
use super::uplink_channel::{Received, UplinkChannels};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::configured_grant::{self, Configured, find_place};
use crate::mac::control_elements::Elements;
use crate::mac::power_control;
use crate::mac::sched::settle;
use crate::mac::uplink_adaptation::Schemes;
use crate::mac::uplink_sched::{FreePrbs, Share, UplinkScheduler, UplinkView};
use crate::mac::{Block, Content, make_room};
use crate::radio::{Air, UplinkSignal};
use crate::settings::RanSetup;
use crate::trace::BlockOutcome;
use crate::ue::{self, Answer, GrantedBlock, MacSide};
use airwnd_kernel::Direction;
use airwnd_phy::access::{Access, Level};
use airwnd_phy::{Mcs, Prbs};
use airwnd_units::{Bytes, Db, Tti};
use std::ops::Range;
use std::sync::Arc;

/// The uplink side of a cell.
pub(crate) struct Uplink {
    access: Arc<Access>,
    /// Number of the cell.
    cell: CellId,
    scheduler: Box<dyn UplinkScheduler>,
    prbs: Prbs,
    max_transmissions: u8,
    belief: &'static dyn Belief,
    backlogs: Backlogs,
    channels: UplinkChannels,
    /// HARQ processes in use in an asynchronous uplink, by slot, one bit each.
    busy: Vec<u16>,
    /// Bits of all HARQ processes.
    all_busy: u16,
    /// Configured grants.
    configured: Vec<Configured>,
    grants: Pipeline<Grant>,
    air: Pipeline<Sending>,
    undecoded: Pipeline<Sending>,
    pub figures: UplinkFigures,
    /// Whether there is an observer.
    is_observed: bool,
    // Scratch lists, kept for their capacity.
    due_grants: Vec<Grant>,
    due_sendings: Vec<Sending>,
    repeated: Vec<UeSlot>,
    views: Vec<UplinkView>,
    shares: Vec<Share>,
    served: Vec<(UeSlot, Bytes)>,
}

/// Counters of a cell's uplink.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UplinkFigures {
    pub prbs: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: UeSlot,
    first: u16,
    prbs: u16,
    mcs: Mcs,
    /// TPC command.
    command: Db,
    context: Context,
    /// HARQ process of an asynchronous uplink.
    process: u8,
    /// Aggregation level of its PDCCH; `None`: a configured grant.
    level: Option<Level>,
    /// From its reception to the transmission.
    to_air: u64,
    /// Block to retransmit and its control elements; `None`: new data.
    again: Option<(Block, Elements)>,
}

/// Context of a grant, kept until its block is received.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    /// Bytes granted to the UE up to and including this grant.
    granted: u64,
    /// TPC commands up to and including this grant.
    commanded: Db,
    /// Expected SINR without correction; `None` if too little is known.
    expected: Option<Db>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    slot: UeSlot,
    pub signal: UplinkSignal,
    block: Block,
    elements: Elements,
    context: Context,
    process: u8,
}

impl Uplink {
    /// The uplink of a cell with space for this many UEs.
    pub fn new(setup: &RanSetup, cell: CellId, access: &Arc<Access>, schemes: Schemes, users: usize) -> Self {
        let belief = belief(setup.mac.quirks.buffer_reports);
        let has_beside = access.timing.round_trip.is_none();
        let depth = access.timing.depth;
        // A UE may have several bearers, and a cell receives more UEs by handover.
        let reported = (2 * users).max(16);
        let granted = users.min(usize::from(access.prbs.0)).max(16);
        Uplink {
            access: access.in_uplink(),
            cell,
            scheduler: setup.mac.uplink_scheduler.build(&setup.mac.scheduler),
            prbs: access.prbs,
            max_transmissions: setup.mac.harq_transmissions,
            belief,
            backlogs: Backlogs::new(setup.mac.request_grant, belief, has_beside, depth, reported),
            channels: UplinkChannels::new(setup, access, schemes),
            busy: Vec::new(),
            all_busy: ((1u32 << access.timing.processes) - 1) as u16,
            configured: Vec::new(),
            grants: Pipeline::new(depth, granted),
            air: Pipeline::new(depth, granted),
            undecoded: Pipeline::new(depth, granted),
            figures: UplinkFigures::default(),
            is_observed: false,
            due_grants: Vec::with_capacity(granted),
            due_sendings: Vec::with_capacity(granted),
            repeated: Vec::with_capacity(granted),
            views: Vec::with_capacity(users),
            shares: Vec::with_capacity(granted),
            served: Vec::with_capacity(granted),
        }
    }

    /// Notes what happens for an observer from now on.
    pub fn observe(&mut self) {
        self.is_observed = true;
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: UeSlot) {
        self.backlogs.admit(slot);
        self.channels.admit(slot);
        settle(&mut self.busy, slot, 0);
        self.scheduler.admit(slot);
        self.make_room();
    }

    /// Reserves capacity: per TTI at most one grant for each UE.
    fn make_room(&mut self) {
        let users = self.busy.len();
        make_room(&mut self.views, users);
        make_room(&mut self.configured, users);
        let granted = users.min(usize::from(self.prbs.0));
        self.grants.reserve(granted);
        make_room(&mut self.due_grants, granted);
        self.air.reserve(granted);
        self.undecoded.reserve(granted);
        make_room(&mut self.due_sendings, granted);
        make_room(&mut self.repeated, granted);
        make_room(&mut self.shares, granted);
        make_room(&mut self.served, granted);
    }

    /// TTIs have passed without scheduling.
    pub fn on_idle(&mut self, ttis: Range<Tti>) {
        self.scheduler.on_idle(self.access.timing.grants(ttis));
    }

    /// Removes the UE of a slot with its reports, grants and blocks.
    //= TS 36.321 §5.9
    pub fn release(&mut self, slot: UeSlot) {
        self.backlogs.release(slot);
        self.channels.release(slot);
        self.busy[slot.index()] = 0;
        self.configured.retain(|configured| configured.slot != slot);
        self.grants.retain(|grant| grant.slot != slot);
        self.air.retain(|sending| sending.slot != slot);
        self.undecoded.retain(|sending| sending.slot != slot);
    }

    /// Configures a grant of the UE in a slot of the cell; returns whether there is a place for it.
    pub fn configure(&mut self, slot: UeSlot, params: &configured_grant::Params) -> bool {
        let found = find_place(params, &self.access, slot, &self.configured);
        self.configured.extend(found);
        found.is_some()
    }

    /// Sends a buffer status report of a UE.
    //= exception ideal-buffer-reports
    pub fn send_report(&mut self, tti: Tti, slot: UeSlot, waiting: Bytes) {
        let news = BufferNews::Waits(quantised(waiting, self.access.buffer_levels));
        self.backlogs.push(tti + self.access.timing.report_to_decision, slot, news);
    }

    /// Sends a scheduling request of a UE.
    //= exception requests-arrive
    pub fn on_request(&mut self, tti: Tti, slot: UeSlot) {
        let due = tti + self.access.timing.slot(tti).request;
        self.backlogs.push(due, slot, BufferNews::Request);
    }

    /// Handles a UE's sounding signal, measured by the eNB.
    pub fn on_sounding(&mut self, tti: Tti, slot: UeSlot, sinr: Db) {
        self.channels.on_sounding(tti, slot, sinr);
    }

    /// SINR of a UE's last sounding.
    pub fn sounding_sinr(&self, slot: UeSlot) -> Option<Db> {
        self.channels.sounding(slot)
    }

    /// Whether a UE can be granted anything.
    pub fn reaches(&self, slot: UeSlot) -> bool {
        self.channels.reaches(slot)
    }

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        !self.backlogs.has_reports()
            && self.grants.is_empty()
            && self.air.is_empty()
            && self.undecoded.is_empty()
            && !self.can_grant()
    }

    /// Whether a reachable UE has data: a UE out of reach must not keep the cell active.
    fn can_grant(&self) -> bool {
        self.backlogs.slots().any(|slot| self.reaches(slot))
    }

    /// Makes the scheduling decisions of a TTI. Retransmissions keep their PRBs; the scheduler assigns the others.
    /// `confined`: the PDCCH, if it is limited.
    pub fn schedule(&mut self, tti: Tti, ues: &mut MacSide<'_>, mut confined: Option<Confined<'_>>) {
        self.backlogs.update(tti);
        self.channels.forget(tti);
        for index in 0..self.access.timing.slot(tti).grants.len() {
            let to_air = self.access.timing.slot(tti).grants[index];
            let mut free = FreePrbs::all(self.prbs);
            if !self.configured.is_empty() {
                self.reserve_configured(tti + (self.access.timing.decision_to_grant + to_air), &mut free);
            }
            self.repeated.clear();
            if index == 0 {
                self.repeat(tti, to_air, &mut free, &mut confined, ues);
            }
            self.served.clear();
            if !self.backlogs.is_empty() {
                self.share(tti, to_air, free, &mut confined, ues);
            }
            self.scheduler.on_served(&self.served);
        }
    }

    /// Takes the PRBs of the configured grants with an occasion in this slot on air.
    #[inline(never)]
    fn reserve_configured(&self, air: Tti, free: &mut FreePrbs) {
        let occasions = self.configured.iter().filter(|configured| configured.is_at(air));
        occasions.for_each(|Configured { first, prbs, .. }| free.take(*first, *prbs));
    }

    /// Assigns the PRBs that retransmissions leave free.
    fn share(
        &mut self,
        tti: Tti,
        to_air: u64,
        free: FreePrbs,
        confined: &mut Option<Confined<'_>>,
        ues: &mut MacSide<'_>,
    ) {
        let received = tti + self.access.timing.decision_to_grant;
        self.views.clear();
        for slot in self.backlogs.slots() {
            let repeats = !self.repeated.is_empty() && self.repeated.contains(&slot);
            if self.busy[slot.index()] != self.all_busy && !repeats {
                let (buffer, link) = (self.backlogs.waiting(slot), self.channels.link(slot));
                self.views.push(UplinkView { slot, buffer, link });
            }
        }
        if ues.has_drx() {
            self.views.retain(|view| ues.is_active(view.slot, received));
        }
        if self.views.is_empty() {
            return;
        }
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        let repeating = self.repeated.len() as u16;
        self.scheduler.allocate(free, repeating, &self.views, self.channels.schemes(), &mut shares);
        if let Some(confined) = confined {
            self.confine(free, ues, confined, &mut shares);
        }
        for Share { slot, first, prbs } in shares.iter().copied() {
            let Some(mcs) = self.channels.mcs(slot, Prbs(prbs)) else { continue };
            let size = self.access.block(Direction::Up, mcs, Prbs(prbs));
            self.backlogs.on_grant(slot, carried(size));
            let command = self.channels.command(tti, received + to_air, slot, Prbs(prbs));
            let process = self.occupy(slot);
            let context = self.context(slot, Prbs(prbs));
            let level = Some(confined.as_ref().map_or(Level::OF_8, |confined| confined.pdcch.held(slot)));
            if ues.has_drx() {
                ues.on_new(slot, received, Direction::Up);
                self.await_retransmission(ues, slot, received, to_air, process);
            }
            self.grants.push(
                received,
                Grant { slot, first, prbs, mcs, command, context, process, level, to_air, again: None },
            );
            if self.is_observed {
                self.note_last_grant(tti, received, ues);
            }
            self.served.push((slot, size));
        }
        self.shares = shares;
    }

    /// Takes back the shares whose grants do not fit into the PDCCH, and lets the scheduler give their PRBs to UEs whose
    /// grants do.
    #[inline(never)]
    fn confine(
        &mut self,
        free: FreePrbs,
        ues: &MacSide<'_>,
        confined: &mut Confined<'_>,
        shares: &mut Vec<Share>,
    ) {
        if confined.hold(ues, shares.iter().map(|share| share.slot)) {
            return;
        }
        self.views.retain(|view| confined.pdcch.holds(view.slot));
        shares.clear();
        if !self.views.is_empty() {
            let repeating = self.repeated.len() as u16;
            self.scheduler.allocate_again(free, repeating, &self.views, self.channels.schemes(), shares);
        }
        confined.pdcch.keep(|slot| shares.iter().any(|share| share.slot == slot));
    }

    /// Whether the time of a transmission determines its HARQ process.
    fn is_synchronous(&self) -> bool {
        self.access.timing.round_trip.is_some()
    }

    /// Takes the first free HARQ process of a UE; there must be one.
    fn occupy(&mut self, slot: UeSlot) -> u8 {
        if self.is_synchronous() {
            return 0;
        }
        let busy = &mut self.busy[slot.index()];
        let process = busy.trailing_ones() as u8;
        *busy |= 1 << process;
        process
    }

    /// Returns a HARQ process.
    fn vacate(&mut self, slot: UeSlot, process: u8) {
        self.busy[slot.index()] &= !(1 << process);
    }

    /// The context of a grant over these PRBs.
    fn context(&self, slot: UeSlot, prbs: Prbs) -> Context {
        Context {
            granted: self.backlogs.granted(slot),
            commanded: self.channels.commanded(slot),
            expected: self.channels.expected(slot, prbs),
        }
    }

    fn repeat(
        &mut self,
        tti: Tti,
        to_air: u64,
        free: &mut FreePrbs,
        confined: &mut Option<Confined<'_>>,
        ues: &mut MacSide<'_>,
    ) {
        if self.undecoded.at(tti).is_empty() {
            return;
        }
        let received = tti + self.access.timing.decision_to_grant;
        let mut failed = std::mem::take(&mut self.due_sendings);
        self.undecoded.take(tti, &mut failed);
        for sending in &failed {
            let (mut first, prbs) = (sending.signal.first, sending.signal.prbs);
            // A grant with other PRBs, if they belong to a configured grant now.
            let is_moved = !self.configured.is_empty() && !free.contains(first, prbs);
            if is_moved {
                first = free.find(prbs).unwrap_or(first);
            }
            let spent = sending.block.transmissions >= self.max_transmissions;
            let sleeps = || ues.has_drx() && !ues.is_active(sending.slot, received);
            if !spent && !self.is_synchronous() && (!free.contains(first, prbs) || sleeps()) {
                self.undecoded.push(tti + self.access.timing.slot(tti).again, *sending);
                continue;
            }
            if spent || !free.contains(first, prbs) {
                self.vacate(sending.slot, sending.process);
                if let Some(news) = self.belief.of_given_up_block() {
                    // Its content is known as late as that of a decoded block.
                    self.backlogs.push(tti + 1, sending.slot, news);
                }
                continue;
            }
            //= TS 36.213 §8.0: a NACK on the PHICH, without a grant, repeats a block on its PRBs
            let limited = confined.as_mut().filter(|_| !self.is_synchronous() || is_moved);
            let level = match limited {
                None => Some(Level::OF_8),
                Some(confined) => confined.assign(sending.slot, ues),
            };
            if level.is_none() {
                self.undecoded.push(tti + self.access.timing.slot(tti).again, *sending);
                continue;
            };
            free.take(first, prbs);
            self.repeated.push(sending.slot);
            let again = Some((sending.block, sending.elements));
            let Sending { slot, block, context, process, .. } = *sending;
            let (mcs, command) = (block.mcs, Db(0.0));
            if ues.has_drx() {
                let repeated = self.process_at(received, process);
                ues.on_retransmission(slot, received, Direction::Up, repeated);
                self.await_retransmission(ues, slot, received, to_air, process);
            }
            let grant = Grant { slot, first, prbs, mcs, command, context, process, level, to_air, again };
            self.grants.push(received, grant);
            if self.is_observed {
                self.note_last_grant(tti, received, ues);
            }
        }
        self.due_sendings = failed;
    }

    /// A UE awaits the retransmission of the block for a grant: it does not know whether the block is decoded.
    fn await_retransmission(
        &self,
        ues: &mut MacSide<'_>,
        slot: UeSlot,
        received: Tti,
        to_air: u64,
        process: u8,
    ) {
        let (timing, air) = (&self.access.timing, received + to_air);
        let earliest = air + timing.slot(air).again + timing.decision_to_grant;
        ues.await_retransmission(slot, earliest, Direction::Up, self.process_at(received, process));
    }

    /// The HARQ process of a grant: those of a synchronous uplink follow one another in time.
    fn process_at(&self, received: Tti, process: u8) -> u8 {
        self.access.timing.round_trip.map_or(process, |round_trip| (received.0 % round_trip) as u8)
    }

    /// Passes the grants of this TTI to the UEs, and puts their blocks on air.
    pub fn deliver_grants(
        &mut self,
        tti: Tti,
        mut air: Air<'_>,
        ues: &mut MacSide<'_>,
        control: &power_control::Params,
    ) {
        let mut grants = std::mem::take(&mut self.due_grants);
        self.grants.take(tti, &mut grants);
        if !self.configured.is_empty() {
            self.add_configured(tti, &mut grants);
        }
        if air.radio.is_large() {
            for grant in &grants {
                air.receivers.prefetch(air.radio, ues.number(grant.slot));
                ues.prefetch_rlc(grant.slot, Direction::Up);
            }
        }
        for grant in &grants {
            let &Grant { slot, mcs, command, context, process, level, to_air, again, .. } = grant;
            let prbs = Prbs(grant.prbs);
            let block = match again {
                Some((block, elements)) => GrantedBlock::Again { block, elements },
                None => GrantedBlock::New {
                    size: self.access.block(Direction::Up, mcs, prbs),
                    process: self.process_at(tti, process),
                },
            };
            let received = ue::Grant { tti, level, prbs, mcs, command, block, control };
            let (power, block, elements) = match ues.receive_grant(slot, &received, &mut air) {
                Answer::Sent { power, block, elements } => (power, block, elements),
                Answer::Unused => {
                    if self.is_observed && level.is_some() {
                        self.note_unsent(tti, grant, BlockOutcome::Unused, ues);
                    }
                    self.vacate(slot, process);
                    continue;
                }
                Answer::Lost => {
                    if self.is_observed {
                        self.note_unsent(tti, grant, BlockOutcome::GrantLost, ues);
                    }
                    if self.belief.notices_lost_grants() {
                        self.miss(tti, ues.number(slot), grant);
                    }
                    continue;
                }
            };
            let ue = ues.number(slot);
            let signal = UplinkSignal { ue, first: grant.first, prbs: grant.prbs, power };
            self.air.push(tti + to_air, Sending { slot, signal, block, elements, context, process });
            if level.is_none() {
                self.on_configured(tti, grant, ues);
            }
        }
        self.due_grants = grants;
    }

    /// Adds the configured grants whose blocks UEs prepare in this TTI. A grant for the same slot overrides them, also if
    /// it is lost.
    //= TS 36.321 §5.10.2
    //= TS 38.321 §5.8.2
    #[inline(never)]
    fn add_configured(&mut self, tti: Tti, grants: &mut Vec<Grant>) {
        let access = self.access.clone();
        let Some(decision) = tti.0.checked_sub(access.timing.decision_to_grant) else { return };
        for to_air in access.timing.slot(Tti(decision)).grants.iter().copied() {
            for index in 0..self.configured.len() {
                let configured = self.configured[index];
                let Configured { slot, first, prbs, .. } = configured;
                let overrides = |grant: &Grant| grant.slot == slot && grant.to_air == to_air;
                let is_free = self.busy[slot.index()] != self.all_busy && !grants.iter().any(overrides);
                if !configured.is_at(tti + to_air) || !is_free {
                    continue;
                }
                let Some(mcs) = configured.mcs.or_else(|| self.channels.mcs(slot, Prbs(prbs))) else {
                    continue;
                };
                let carried = carried(access.block(Direction::Up, mcs, Prbs(prbs)));
                let mut context = self.context(slot, Prbs(prbs));
                context.granted += carried.0;
                let (command, level, process) = (Db(0.0), None, self.occupy(slot));
                let again = None;
                grants.push(Grant {
                    slot,
                    first,
                    prbs,
                    mcs,
                    command,
                    context,
                    process,
                    level,
                    to_air,
                    again,
                });
            }
        }
    }

    /// A UE uses a configured grant, which only now counts as granted.
    #[inline(never)]
    fn on_configured(&mut self, tti: Tti, grant: &Grant, ues: &mut MacSide<'_>) {
        if self.is_observed {
            self.note_grant(tti, tti, grant, ues);
        }
        let size = self.access.block(Direction::Up, grant.mcs, Prbs(grant.prbs));
        self.backlogs.on_configured(grant.slot, carried(size));
        if ues.has_drx() {
            ues.on_configured(grant.slot, tti);
            self.await_retransmission(ues, grant.slot, tti, grant.to_air, grant.process);
        }
    }

    /// Handles a grant that the UE has lost: the eNB notices that nothing is sent, and grants again.
    fn miss(&mut self, tti: Tti, number: UeId, grant: &Grant) {
        let &Grant { slot, first, prbs, context, process, to_air, again, .. } = grant;
        let air = tti + to_air;
        match again {
            Some((block, elements)) => {
                let signal = UplinkSignal { ue: number, first, prbs, power: 0.0 };
                let block = Block { transmissions: block.transmissions + 1, ..block };
                let due = air + self.access.timing.slot(air).again;
                self.undecoded.push(due, Sending { slot, signal, block, elements, context, process });
            }
            None => {
                self.vacate(slot, process);
                let carried = carried(self.access.block(Direction::Up, grant.mcs, Prbs(prbs)));
                let news = BufferNews::Missed { granted: context.granted, carried };
                self.backlogs.push(air + self.access.timing.block_to_decision, slot, news);
            }
        }
    }

    /// The transmissions to this cell in this TTI.
    pub fn on_air(&self, tti: Tti) -> &[Sending] {
        self.air.at(tti)
    }

    /// Receives a TTI at the eNB. Adds the decoded PDUs with their UEs.
    pub fn receive(
        &mut self,
        tti: Tti,
        mut air: Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(UeId, Content)>,
    ) {
        let mut sendings = std::mem::take(&mut self.due_sendings);
        self.air.take(tti, &mut sendings);
        for sending in &mut sendings {
            self.receive_block(tti, sending, &mut air, ues, decoded);
        }
        self.due_sendings = sendings;
    }

    /// Receives a block of a UE.
    // Apart: there are few per TTI, and what a loop prepares costs more than it saves.
    #[inline(never)]
    fn receive_block(
        &mut self,
        tti: Tti,
        sending: &mut Sending,
        air: &mut Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(UeId, Content)>,
    ) {
        self.figures.prbs += u64::from(sending.signal.prbs);
        let draw = ues.uplink_draw(sending.slot, tti);
        let Air { radio, receivers } = air.reborrow();
        let failed = receivers.receive_uplink(radio, self.cell, &sending.signal, &mut sending.block, draw);
        let received = Received {
            tti,
            excess: sending.context.expected.map(|expected| receivers.received_sinr() - expected),
            is_first: sending.block.transmissions == 1,
            failed,
        };
        self.channels.on_received(sending.slot, &received);
        ues.count_uplink(sending.slot, &sending.block, Prbs(sending.signal.prbs), failed);
        if self.is_observed {
            self.note_received(tti, sending, failed, ues);
        }
        if failed {
            self.undecoded.push(tti + self.access.timing.slot(tti).again, *sending);
        } else {
            self.figures.bytes += sending.block.size.0;
            let Sending { slot, signal, elements, context, process, .. } = *sending;
            self.vacate(slot, process);
            let reported = elements.buffer.map(|waiting| quantised(waiting, self.access.buffer_levels));
            if let Some(news) = self.belief.of_block(reported, context.granted) {
                self.backlogs.push(tti + self.access.timing.block_to_decision, slot, news);
            }
            if let Some(headroom) = elements.headroom {
                self.channels.on_headroom(slot, headroom, Prbs(signal.prbs), context.commanded);
            }
            if let Some(content) = sending.block.content {
                decoded.push((sending.signal.ue, content));
            }
        }
    }
}

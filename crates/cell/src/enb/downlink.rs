//! The downlink MAC of a cell: HARQ retransmissions first, then the grants of the scheduler.

mod records;

use super::confined::Confined;
use super::csi::Csi;
use super::log::Log;
use super::pipeline::Pipeline;
use super::versions::ReportTiming;
use crate::identity::{CarrierId, CellId, UeId, UeSlot};
use crate::mac::outer_loop::OuterLoop;
use crate::mac::pdcch::Pdcch;
use crate::mac::sched::{
    ChannelState, Grants, Grid, Identity, LinkAdaptation, Properties, Rbgs, Scheduler, UeView, settle,
};
use crate::mac::slots::Slots;
use crate::mac::{Block, Content, Reception};
use crate::radio::Air;
use crate::settings::RanSetup;
use crate::trace::Transmission;
use crate::ue::{Assignment, MacSide};
use airwnd_kernel::{Direction, Stream};
use airwnd_phy::ComponentCarrier;
use airwnd_phy::access::{Access, Level};
use airwnd_phy::error_model::SoftBits;
use airwnd_phy::{Cqi, Mcs, Prbs};
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Tti};
use records::ReceivedBlock;
use std::ops::Range;
use std::sync::Arc;

/// The downlink side of a cell on a carrier.
pub(crate) struct Downlink {
    access: Arc<Access>,
    /// Number of the cell.
    cell: CellId,
    /// Number of the carrier.
    carrier: CarrierId,
    /// Number of its first HARQ process among those of all carriers.
    first_process: u8,
    scheduler: Box<dyn Scheduler>,
    properties: Properties,
    /// Whether it decides by delay.
    uses_delay: bool,
    grid: Grid,
    outer_loop: Option<OuterLoop>,
    csi: Csi,
    max_transmissions: u8,
    /// `None`: it has room for everything.
    pdcch: Option<Box<Pdcch>>,
    users: Vec<User>,
    /// UEs with data, or all if the scheduler serves idle ones, with a free HARQ process.
    ready: Slots,
    /// UEs with a retransmission in this TTI, which get no new data.
    retransmitting: Slots,
    /// Bits of all HARQ processes.
    all_busy: u16,
    /// `[slot * processes + process]`
    processes: Vec<Option<Process>>,
    feedback: Pipeline<Feedback>,
    /// Retransmissions that found no free RBGs, first in first out.
    postponed: Vec<ProcessId>,
    air: Pipeline<OnAir>,
    backlogged: usize,
    pub figures: DownlinkFigures,
    /// Log of transmissions, if enabled.
    log: Option<Log>,
    /// Whether there is a log or an observer.
    is_observed: bool,
    // Scratch lists, kept for their capacity.
    /// UEs that can be scheduled.
    candidates: Slots,
    grants: Grants,
    served: Vec<(UeSlot, Bytes)>,
}

/// Backlog and HARQ processes of a UE; their blocks are stored separately.
#[derive(Clone, Copy, Default)]
struct User {
    /// Backlog known to the MAC: the last report minus the bytes granted since.
    queue: BufferStatus,
    /// HARQ processes in use, one bit each.
    busy: u16,
    /// Last process used.
    last: u8,
    /// Whether a UE has this slot.
    is_admitted: bool,
}

#[derive(Clone, Copy)]
struct Process {
    block: Block,
    rbgs: Rbgs,
}

/// A HARQ process of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessId {
    slot: UeSlot,
    process: u8,
}

#[derive(Clone, Copy, Debug)]
struct Feedback {
    id: ProcessId,
    answer: Answer,
}

const ON_AIR: &str = "a process on air holds its block";

/// A UE's answer to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Ack,
    Nack,
    /// The assignment was lost; there is no feedback.
    Silence,
}

/// A block on air.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    id: ProcessId,
    /// Aggregation level of the assignment's PDCCH.
    level: Level,
    rbgs: Rbgs,
    /// PRBs of the RBGs.
    prbs: Prbs,
}

/// Counters of a cell's downlink.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DownlinkFigures {
    pub prbs: u64,
    pub bytes: u64,
}

impl Downlink {
    /// The downlink of a cell without UEs on a carrier, with this outer loop.
    pub fn new(
        setup: &RanSetup,
        cell: CellId,
        carrier: &ComponentCarrier,
        reports: ReportTiming,
        outer_loop: Option<OuterLoop>,
    ) -> Self {
        let access = &carrier.access;
        let mut seed =
            Stream::new(setup.seed, "downlink scheduler").child(cell.0.into()).child(carrier.number.into());
        let identity = Identity { cell, carrier: CarrierId(carrier.number), seed: seed.next_u64() };
        let grid = Grid { identity, ..Grid::of(access) };
        let mut scheduler = setup.mac.scheduler.build(&grid);
        Downlink {
            access: access.clone(),
            cell,
            carrier: CarrierId(carrier.number),
            first_process: carrier.number * access.timing.processes,
            outer_loop,
            csi: Csi::new(cell, access, reports),
            properties: scheduler.properties(),
            uses_delay: scheduler.by_delay().is_some(),
            scheduler,
            grid,
            max_transmissions: setup.mac.harq_transmissions,
            pdcch: setup
                .mac
                .pdcch
                .as_ref()
                .map(|params| Box::new(Pdcch::new(params, &setup.radio.access, access.prbs))),
            users: Vec::new(),
            ready: Slots::default(),
            retransmitting: Slots::default(),
            all_busy: ((1u32 << access.timing.processes) - 1) as u16,
            processes: Vec::new(),
            feedback: Pipeline::new(access.timing.depth, 16),
            postponed: Vec::with_capacity(16),
            air: Pipeline::new(access.timing.depth, 16),
            backlogged: 0,
            figures: DownlinkFigures::default(),
            log: None,
            is_observed: false,
            candidates: Slots::default(),
            grants: Grants::on(access.rbgs),
            served: Vec::with_capacity(access.rbgs.into()),
        }
    }

    /// Logs the transmissions on air in these TTIs.
    pub fn keep_log(&mut self, ttis: Range<Tti>) {
        self.log = Some(Log { ttis, rows: Vec::new() });
        self.is_observed = true;
    }

    /// The log, if enabled.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// Clears the log.
    pub fn clear_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.rows.clear();
        }
    }

    /// Notes what happens for an observer from now on.
    pub fn observe(&mut self) {
        self.is_observed = true;
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: UeSlot, bearer: crate::bearer::Bearer) {
        self.scheduler.admit(slot, &bearer);
        settle(&mut self.users, slot, User { is_admitted: true, ..User::default() });
        let count = self.users.len();
        let Downlink { ready, retransmitting, candidates, .. } = self;
        [ready, retransmitting, candidates].into_iter().for_each(|slots| slots.reserve(count));
        self.csi.admit(slot);
        self.processes.resize(self.processes.len().max(self.first_index(slot) + self.count()), None);
        self.clear(slot);
        self.update_ready(slot);
        if let Some(outer_loop) = &mut self.outer_loop {
            outer_loop.admit(slot);
        }
    }

    /// Removes the UE of a slot and discards its HARQ processes.
    //= TS 36.321 §5.9
    pub fn release(&mut self, slot: UeSlot) {
        self.scheduler.release(slot);
        self.set_queue(slot, BufferStatus::default());
        self.users[slot.index()] = User::default();
        self.csi.release(slot);
        self.update_ready(slot);
        self.clear(slot);
        self.feedback.retain(|feedback| feedback.id.slot != slot);
        self.postponed.retain(|id| id.slot != slot);
        self.air.retain(|sent| sent.id.slot != slot);
    }

    /// Sets the weight of a UE. Returns whether the scheduler has weights.
    pub fn set_weight(&mut self, slot: UeSlot, weight: f64) -> bool {
        self.scheduler.set_weight(slot, weight)
    }

    /// HARQ processes of a UE.
    fn count(&self) -> usize {
        self.access.timing.processes.into()
    }

    /// Index of the first process of a UE.
    fn first_index(&self, slot: UeSlot) -> usize {
        slot.index() * self.count()
    }

    /// Index of a process.
    fn index(&self, id: ProcessId) -> usize {
        self.first_index(id.slot) + usize::from(id.process)
    }

    fn clear(&mut self, slot: UeSlot) {
        let (first, count) = (self.first_index(slot), self.count());
        self.processes[first..first + count].fill(None);
    }

    /// Buffer status reported by RLC.
    #[inline(always)]
    pub fn on_report(&mut self, slot: UeSlot, waiting: BufferStatus) {
        // Periodic reports mostly repeat what is known.
        if self.users[slot.index()].queue != waiting {
            self.set_queue(slot, waiting);
        }
    }

    /// The slot of the UE with this index among those of the last decision, and the rest of its backlog.
    pub fn served(&self, index: usize) -> Option<(UeSlot, BufferStatus)> {
        let (slot, _) = *self.served.get(index)?;
        Some((slot, self.users[slot.index()].queue))
    }

    #[inline(always)]
    fn set_queue(&mut self, slot: UeSlot, waiting: BufferStatus) {
        self.users[slot.index()].queue = waiting;
        let total = waiting.total();
        let (had_data, has_data) = (self.csi.set_backlog(slot, total), total > Bytes::ZERO);
        if had_data != has_data {
            self.backlogged += usize::from(has_data);
            self.backlogged -= usize::from(had_data);
            self.update_ready(slot);
        }
    }

    fn update_ready(&mut self, slot: UeSlot) {
        let User { queue, busy, is_admitted, .. } = &self.users[slot.index()];
        let is_served = queue.total() > Bytes::ZERO || self.properties.serves_idle && *is_admitted;
        self.ready.set(slot, is_served && *busy != self.all_busy);
    }

    /// Bytes that the carrier would carry in a TTI, averaged over a TDD pattern, if all RBGs were granted to the UE of a
    /// slot with this report.
    pub fn whole(&self, slot: UeSlot, state: &ChannelState) -> f64 {
        let kinds = (0..).zip(self.access.timing.kinds()).filter(|(_, share)| *share > 0.0);
        kinds.map(|(kind, share)| share * self.whole_in(kind, slot, state).0 as f64).sum()
    }

    fn whole_in(&self, kind: u8, slot: UeSlot, state: &ChannelState) -> Bytes {
        let block = |cqi: Cqi, groups: u32| {
            let mcs = self.mcs(slot, cqi);
            match cqi {
                Cqi::OUT_OF_RANGE => Bytes::ZERO,
                _ => self.access.block_in(state.rank, kind, mcs, self.access.prbs_of(groups)),
            }
        };
        let all = u32::from(self.grid.rbgs);
        match (self.properties.link_adaptation, state.flat) {
            (LinkAdaptation::Wideband, _) => block(state.wideband, all),
            (LinkAdaptation::LowestSubband, Some(cqi)) => block(cqi, all),
            (LinkAdaptation::LowestSubband, None) => {
                state.subband[..all as usize].iter().map(|cqi| block(*cqi, 1)).sum()
            }
        }
    }

    /// Whether the wideband CQI is used.
    pub fn uses_wideband(&self) -> bool {
        self.properties.uses_wideband
    }

    /// The MCS for a UE that reports this CQI.
    fn mcs(&self, slot: UeSlot, cqi: Cqi) -> Mcs {
        match &self.outer_loop {
            None => self.access.mcs_of(cqi),
            Some(outer_loop) => outer_loop.mcs(slot, cqi),
        }
    }

    /// TTIs from a decision to the transmission of its blocks.
    pub fn decision_to_air(&self) -> u64 {
        self.access.timing.decision_to_air
    }

    /// Whether there are UEs that the scheduler serves.
    fn has_users(&self) -> bool {
        self.backlogged > 0 || self.properties.serves_idle && !self.ready.is_empty()
    }

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        !self.has_users() && self.postponed.is_empty() && self.feedback.is_empty() && self.air.is_empty()
    }

    /// TTIs have passed without scheduling.
    pub fn on_idle(&mut self, ttis: Range<Tti>) {
        self.scheduler.on_idle(self.access.timing.decisions(ttis));
    }

    /// Starts the decisions of a TTI that the PDCCH limits. Returns whether the uplink's are made first.
    pub fn begin(&mut self, tti: Tti) -> bool {
        let Some(pdcch) = &mut self.pdcch else { return false };
        let timing = &self.access.timing;
        pdcch.begin(tti + timing.decision_to_grant, !timing.slot(tti).grants.is_empty())
    }

    /// The PDCCH, if it is limited, with the channel.
    pub fn confined<'a>(&'a mut self, air: Air<'a>) -> Option<Confined<'a>> {
        Some(Confined { pdcch: self.pdcch.as_deref_mut()?, air })
    }

    /// Makes the scheduling decisions of a TTI.
    pub fn schedule(&mut self, tti: Tti, mut air: Air<'_>, ues: &mut MacSide<'_>) {
        if self.has_users() {
            self.csi.update(tti, &mut air);
        }
        self.served.clear();
        let Some(kind) = self.access.timing.slot(tti).downlink else { return };
        let free = self.retransmit(tti, &mut air, ues);
        if free.is_empty() {
            return;
        }
        let on_air = tti + self.access.timing.decision_to_air;
        self.candidates.set_difference(&self.ready, &self.retransmitting);
        if ues.has_drx() || self.carrier != CarrierId::PRIMARY {
            let carrier = self.carrier;
            self.candidates
                .retain(|slot| ues.is_active(slot, on_air) && ues.is_activated(slot, carrier, on_air));
        }
        self.csi.refresh(tti, &self.candidates, &mut air, ues);
        if self.uses_delay {
            self.note_delays(tti, ues);
        }
        self.grants.clear();
        self.scheduler.allocate(tti, free, self.csi.candidates(air.receivers), &mut self.grants);
        //= exception no-pdcch-limit
        if self.pdcch.is_some() {
            self.confine(tti, free, &mut air, ues);
        }
        self.send_granted(tti, kind, &air, ues);
        self.scheduler.on_served(&self.served);
    }

    /// Fills and sends blocks to the UEs with grants, in a slot of this kind.
    fn send_granted(&mut self, tti: Tti, kind: u8, air: &Air<'_>, ues: &mut MacSide<'_>) {
        let reports = air.receivers.reports(self.cell);
        let grants = std::mem::take(&mut self.grants);
        if air.radio.is_large() {
            grants.iter().for_each(|(slot, _)| ues.prefetch_rlc(slot, Direction::Down));
        }
        for (slot, rbgs) in grants.iter() {
            let view = self.csi.view(slot);
            let cqi = self.cqi(view, rbgs, reports);
            let (mcs, rank) = (self.mcs(slot, cqi), view.rank);
            //= exception no-mac-headers
            let prbs = air.radio.prbs_of(rbgs);
            let size = self.access.block_in(rank, kind, mcs, prbs);
            let process = self.users[slot.index()].next_free(self.all_busy);
            let content = ues.transmit_down(slot, tti, size, self.first_process + process);
            let on_air = tti + self.access.timing.decision_to_air;
            if content.is_some() {
                ues.on_new(slot, on_air, Direction::Down);
            }
            ues.on_assignment(slot, self.carrier, on_air);
            let block = Block { mcs, rank, size, content, soft: SoftBits::default(), transmissions: 1 };
            let level = self.pdcch.as_ref().map_or(Level::OF_8, |pdcch| pdcch.held(slot));
            let sent = OnAir { id: ProcessId { slot, process }, level, rbgs, prbs };
            self.send_new(tti, sent, Process { block, rbgs });
            if self.is_observed {
                self.note_new(tti, slot, air, ues);
            }
            if let Some(waiting) = ues.backlog_of_several(slot, tti) {
                self.on_report(slot, waiting);
            }
        }
        self.grants = grants;
    }

    /// Takes back the grants whose assignments do not fit into the PDCCH, and lets the scheduler give their RBGs to UEs
    /// whose assignments do. Leaves these alone in the views.
    #[inline(never)]
    fn confine(&mut self, tti: Tti, free: Rbgs, air: &mut Air<'_>, ues: &MacSide<'_>) {
        let Some(pdcch) = self.pdcch.as_deref_mut() else { return };
        let mut confined = Confined { pdcch, air: air.reborrow() };
        if confined.hold(ues, self.grants.iter().map(|(slot, _)| slot)) {
            return;
        }
        self.csi.retain(|slot| confined.pdcch.holds(slot));
        self.grants.clear();
        let candidates = self.csi.candidates(confined.air.receivers);
        self.scheduler.allocate_again(tti, free, candidates, &mut self.grants);
        confined.pdcch.keep(|slot| self.grants.iter().any(|(granted, _)| granted == slot));
    }

    /// Adds the head-of-line delays to the views of the UEs, and passes the classes that they belong to to the scheduler.
    fn note_delays(&mut self, tti: Tti, ues: &MacSide<'_>) {
        for view in self.csi.edit_views() {
            let (delay, class) = ues.head_of_line(view.slot, tti);
            view.head_of_line = delay;
            if let Some(class) = class {
                self.scheduler.lead(view.slot, class);
            }
        }
    }

    fn send_new(&mut self, tti: Tti, sent: OnAir, held: Process) {
        let (OnAir { id, .. }, block) = (sent, held.block);
        let user = &mut self.users[id.slot.index()];
        user.busy |= 1 << id.process;
        user.last = id.process;
        let mut waiting = user.queue;
        waiting.on_block_down(block.size);
        self.set_queue(id.slot, waiting);
        self.update_ready(id.slot);
        // ns-3 combines a new block with the soft bits of one that failed four times; here each block starts with none.
        let index = self.index(id);
        self.processes[index] = Some(held);
        if block.content.is_some() {
            self.air.push(tti + self.access.timing.decision_to_air, sent);
        } else {
            //= exception padding-stays-silent
            let air = tti + self.access.timing.decision_to_air;
            let due = air + self.access.timing.slot(air).silence;
            self.feedback.push(due, Feedback { id, answer: Answer::Silence });
        }
        self.served.push((id.slot, block.size));
    }

    /// Handles received feedback and schedules retransmissions; returns the free RBGs.
    fn retransmit(&mut self, tti: Tti, air: &mut Air<'_>, ues: &mut MacSide<'_>) -> Rbgs {
        self.retransmitting.clear();
        let mut free = Rbgs::first(air.radio.rbgs());
        let postponed = self.postponed.len();
        for index in 0..postponed {
            self.resend(tti, self.postponed[index], &mut free, air, ues);
        }
        self.postponed.drain(..postponed);
        let mut index = 0;
        while let Some(feedback) = self.feedback.get(tti, index) {
            index += 1;
            let Feedback { id, answer } = feedback;
            self.adapt(tti, feedback);
            if answer != Answer::Nack {
                self.free(id);
                continue;
            }
            let held = self.processes[self.index(id)].as_ref();
            let used = held.expect("a process is kept until its feedback").block.transmissions;
            let earliest = tti + self.access.timing.decision_to_air;
            let process = self.first_process + id.process;
            ues.await_retransmission(id.slot, earliest, Direction::Down, process);
            if used >= self.max_transmissions {
                self.free(id);
            } else {
                self.resend(tti, id, &mut free, air, ues);
            }
        }
        self.feedback.clear(tti);
        free
    }

    /// Updates link adaptation by ACK or NACK, the outer loop by those of first transmissions.
    fn adapt(&mut self, tti: Tti, Feedback { id, answer }: Feedback) {
        if answer == Answer::Silence {
            return;
        }
        self.csi.on_feedback(id.slot, tti);
        let index = self.index(id);
        let Some(outer_loop) = &mut self.outer_loop else { return };
        let held = self.processes[index].as_ref();
        if held.expect("a process is kept until its feedback").block.transmissions == 1 {
            outer_loop.on_feedback(id.slot, answer == Answer::Ack);
        }
    }

    fn free(&mut self, id: ProcessId) {
        let index = self.index(id);
        self.processes[index] = None;
        self.users[id.slot.index()].busy &= !(1 << id.process);
        self.update_ready(id.slot);
    }

    /// Resends on the same RBGs if they are free, otherwise on the same number of RBGs after the last of them,
    /// otherwise, or without room in the PDCCH, or while the UE sleeps, in the next TTI. A UE gets one retransmission per
    /// TTI.
    fn resend(
        &mut self,
        tti: Tti,
        id: ProcessId,
        free: &mut Rbgs,
        channel: &mut Air<'_>,
        ues: &mut MacSide<'_>,
    ) {
        let ProcessId { slot, process } = id;
        let air = tti + self.access.timing.decision_to_air;
        //= TS 36.321 §5.13: HARQ buffers of a deactivated SCell are flushed
        if !ues.is_activated(slot, self.carrier, air) {
            return self.free(id);
        }
        if ues.has_drx() && !ues.is_active(slot, air) {
            self.postponed.push(id);
            return;
        }
        let index = self.index(id);
        let held = self.processes[index].as_mut();
        let held = held.expect("a process is kept until its retransmission");
        let retransmits = self.retransmitting.contains(slot);
        let Some(rbgs) = relocate(held.rbgs, *free, self.grid.rbgs).filter(|_| !retransmits) else {
            // ns-3 also sends the postponed block at once, on top of another UE's.
            self.postponed.push(id);
            return;
        };
        let level = match self.pdcch.as_deref_mut() {
            None => Some(Level::OF_8),
            Some(pdcch) => Confined { pdcch, air: channel.reborrow() }.assign(slot, ues),
        };
        let Some(level) = level else {
            self.postponed.push(id);
            return;
        };
        held.block.transmissions += 1;
        self.retransmitting.insert(slot);
        *free = free.without(rbgs);
        ues.on_assignment(slot, self.carrier, air);
        ues.on_retransmission(slot, air, Direction::Down, self.first_process + process);
        let prbs = channel.radio.prbs_of(rbgs);
        let sent = OnAir { id, level, rbgs, prbs };
        self.air.push(air, sent);
        if self.is_observed {
            self.note_grant(tti, sent, None, ues);
        }
    }

    /// The block of a process on air.
    fn block(&self, id: ProcessId) -> &Block {
        &self.processes[self.index(id)].as_ref().expect(ON_AIR).block
    }

    /// The CQI on which the MCS of a new block is based.
    #[inline]
    fn cqi(&self, view: &UeView, rbgs: Rbgs, reports: &[ChannelState]) -> Cqi {
        match self.properties.link_adaptation {
            LinkAdaptation::Wideband => view.wideband,
            LinkAdaptation::LowestSubband => view.lowest(rbgs, reports),
        }
    }

    /// The RBGs on which the cell sends data in this TTI.
    pub fn on_air(&self, tti: Tti) -> Rbgs {
        self.air.at(tti).iter().fold(Rbgs::default(), |all, sent| all.union(sent.rbgs))
    }

    /// The slots of the UEs to which blocks are on air.
    pub fn receiving(&self, tti: Tti) -> impl Iterator<Item = UeSlot> {
        self.air.at(tti).iter().map(|sent| sent.id.slot)
    }

    /// Receives a TTI at the UEs. Adds the decoded PDUs with their UEs.
    pub fn receive(
        &mut self,
        tti: Tti,
        mut air: Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(UeId, Content)>,
    ) {
        let mut index = 0;
        while let Some(sent) = self.air.get(tti, index) {
            index += 1;
            self.receive_block(tti, sent, &mut air, ues, decoded);
        }
        self.air.clear(tti);
    }

    /// Receives a block at a UE.
    // Apart: a cell mostly sends one block per TTI, and what a loop prepares costs more than it saves.
    #[inline(never)]
    fn receive_block(
        &mut self,
        tti: Tti,
        sent: OnAir,
        air: &mut Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(UeId, Content)>,
    ) {
        let consequences = self.access.timing.slot(tti);
        let OnAir { id, level, rbgs, prbs } = sent;
        let index = self.index(id);
        let held = &mut self.processes[index];
        let block = &mut held.as_mut().expect(ON_AIR).block;
        self.figures.prbs += u64::from(prbs.0);
        let (cell, carrier, process) = (self.cell, self.carrier, id.process);
        let assignment = Assignment { tti, cell, carrier, process, level, rbgs, prbs };
        let reception = ues.receive_block(id.slot, &assignment, block, air);
        if self.is_observed {
            let transmission = Transmission::of(block, Direction::Down, carrier, process, prbs);
            let received = ReceivedBlock { tti, cell, slot: id.slot, rbgs, transmission, reception };
            received.note(&self.access, self.log.as_mut(), ues);
        }
        let (after, answer) = match reception {
            Reception::AssignmentLost => (consequences.silence, Answer::Silence),
            Reception::Failed => (consequences.feedback, Answer::Nack),
            Reception::Decoded => (consequences.feedback, Answer::Ack),
        };
        self.feedback.push(tti + after, Feedback { id, answer });
        if reception == Reception::Decoded {
            self.figures.bytes += block.size.0;
            decoded.extend(block.content.map(|content| (ues.number(id.slot), content)));
        }
    }
}

impl User {
    /// The first free process of `all` after the one used last, cyclically; there must be one.
    fn next_free(&self, all: u16) -> u8 {
        let free = all & !self.busy;
        assert_ne!(free, 0, "only UEs with a free process are served");
        let after = free & (u16::MAX << self.last << 1);
        (if after != 0 { after } else { free }).trailing_zeros() as u8
    }
}

/// RBGs of a retransmission that used `old`: the same ones, or the same number of free ones, searched cyclically from
/// after the last one.
fn relocate(old: Rbgs, free: Rbgs, rbgs: u8) -> Option<Rbgs> {
    if old.without(free).is_empty() {
        return Some(old);
    }
    let last = 31 - old.0.leading_zeros() as u8;
    let mut found = Rbgs::default();
    for step in 1..rbgs {
        let group = (last + step) % rbgs;
        if free.contains(group) {
            found = found.union(Rbgs::one(group));
            if found.count() == old.count() {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retransmission_keeps_its_rbgs_or_moves_behind_them() {
        let old = Rbgs(0b0000_0110);
        assert_eq!(relocate(old, Rbgs(0xff), 8), Some(old));
        // RBG 1 is taken: search 3, 4, ..., 7, 0, 1
        assert_eq!(relocate(old, Rbgs(0b1111_0101), 8), Some(Rbgs(0b0011_0000)));
        assert_eq!(relocate(old, Rbgs(0b1000_0101), 8), Some(Rbgs(0b1000_0001)));
        // the last old RBG is not searched again, so one free RBG is not enough
        assert_eq!(relocate(old, Rbgs(0b0000_0101), 8), None);
    }
}

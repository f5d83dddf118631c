//! The downlink MAC of a cell: HARQ retransmissions first, then the grants of the scheduler.

use super::confined::Confined;
use super::known_channels::{KnownChannels, LOWEST};
use super::log::{Allocation, Log};
use super::pipeline::Pipeline;
use super::views::Views;
use crate::access::{Access, Level};
use crate::component::ComponentCarrier;
use crate::identity::{CellId, UeId};
use crate::mac::outer_loop::OuterLoop;
use crate::mac::pdcch::Pdcch;
use crate::mac::sched::{ChannelState, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use crate::mac::slots::Slots;
use crate::mac::{Block, Content, Reception};
use crate::phy::error_model::SoftBits;
use crate::phy::{Cqi, Mcs, Prbs};
use crate::radio::{Air, Receivers, Report};
use crate::rlc::BufferStatus;
use crate::settings::RanSetup;
use crate::ue::{Assignment, MacSide};
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Span, Tti};
use std::ops::Range;
use std::sync::Arc;

/// The downlink side of a cell on a carrier.
pub(crate) struct Downlink {
    access: Arc<Access>,
    /// Number of the carrier.
    carrier: u8,
    /// Number of its first HARQ process among those of all carriers.
    first_process: u8,
    scheduler: Box<dyn Scheduler>,
    grid: Grid,
    outer_loop: Option<OuterLoop>,
    /// UEs whose reports are known; `None`: all are.
    known: Option<KnownChannels>,
    max_transmissions: u8,
    /// `None`: it has room for everything.
    pdcch: Option<Box<Pdcch>>,
    users: Vec<User>,
    /// UEs with data and a free HARQ process.
    ready: Slots,
    /// UEs that may have a newer channel report than the one in their view.
    unsure: Slots,
    /// UEs with a retransmission in this TTI, which get no new data.
    retransmitting: Slots,
    /// Number of times that UEs had moved at the last decision.
    moves: u64,
    /// Bits of all HARQ processes.
    all_busy: u16,
    /// `[slot * processes + process]`
    processes: Vec<Option<Process>>,
    feedback: Pipeline<Feedback>,
    /// Retransmissions that found no free RBGs, first in first out.
    postponed: Vec<(u16, u8)>,
    air: Pipeline<OnAir>,
    backlogged: usize,
    pub figures: DownlinkFigures,
    /// Log of transmissions, if enabled.
    pub log: Option<Log>,
    // Scratch lists, kept for their capacity.
    /// UEs that can be scheduled.
    candidates: Slots,
    views: Views,
    grants: Grants,
    served: Vec<(u16, Bytes)>,
}

/// Per-TTI scheduling state of a UE; its blocks are stored separately.
#[derive(Clone, Copy)]
struct User {
    /// Backlog known to the MAC: the last report minus the bytes granted since.
    queue: BufferStatus,
    /// HARQ processes in use, one bit each.
    busy: u16,
    /// Last process used.
    last: u8,
    /// The UE as the scheduler sees it, with the newest channel report when it last had data.
    view: UeView,
    /// Version of that report.
    version: Option<u64>,
}

#[derive(Clone, Copy)]
struct Process {
    block: Block,
    rbgs: Rbgs,
}

#[derive(Clone, Copy, Debug)]
enum Feedback {
    Ack(u16, u8),
    Nack(u16, u8),
    /// The assignment was lost; there is no feedback.
    Silence(u16, u8),
}

impl Feedback {
    fn slot(self) -> u16 {
        let (Feedback::Ack(slot, _) | Feedback::Nack(slot, _) | Feedback::Silence(slot, _)) = self;
        slot
    }
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    slot: u16,
    process: u8,
    /// That of the assignment.
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
    /// The downlink of a cell without UEs, with this outer loop.
    pub fn new(setup: &RanSetup, carrier: &ComponentCarrier, outer_loop: Option<OuterLoop>) -> Self {
        let access = &carrier.access;
        let grid = Grid::of(access);
        Downlink {
            access: access.clone(),
            carrier: carrier.number,
            first_process: carrier.number * access.timing.processes,
            outer_loop,
            known: KnownChannels::new(access, Direction::Down),
            scheduler: setup.mac.scheduler.build(&grid),
            grid,
            max_transmissions: setup.mac.harq_transmissions,
            pdcch: setup
                .mac
                .pdcch
                .as_ref()
                .map(|params| Box::new(Pdcch::new(params, &setup.radio.access, access.prbs))),
            users: Vec::new(),
            ready: Slots::default(),
            unsure: Slots::default(),
            retransmitting: Slots::default(),
            moves: 0,
            all_busy: ((1u32 << access.timing.processes) - 1) as u16,
            processes: Vec::new(),
            feedback: Pipeline::new(access.timing.depth, 16),
            postponed: Vec::with_capacity(16),
            air: Pipeline::new(access.timing.depth, 16),
            backlogged: 0,
            figures: DownlinkFigures::default(),
            log: None,
            candidates: Slots::default(),
            views: Views::default(),
            grants: Grants::on(access.rbgs),
            served: Vec::with_capacity(access.rbgs.into()),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: u16, bearer: crate::bearer::Bearer) {
        self.scheduler.admit(slot, &bearer);
        settle(&mut self.users, slot, User::at(slot));
        let count = self.users.len();
        let Downlink { ready, unsure, retransmitting, candidates, views, .. } = self;
        [ready, unsure, retransmitting, candidates].into_iter().for_each(|slots| slots.reserve(count));
        views.reserve(count);
        views.note_report(slot);
        self.unsure.insert(slot);
        self.processes.resize(self.processes.len().max(self.place(slot, 0) + self.count()), None);
        self.clear(slot);
        if let Some(outer_loop) = &mut self.outer_loop {
            outer_loop.admit(slot);
        }
        if let Some(known) = &mut self.known {
            known.admit(slot);
        }
    }

    /// Removes the UE of a slot and discards its HARQ processes.
    //= TS 36.321 §5.9
    pub fn release(&mut self, slot: u16) {
        self.scheduler.release(slot);
        self.set_queue(slot, BufferStatus::default());
        self.users[slot as usize] = User::at(slot);
        self.update_ready(slot);
        self.clear(slot);
        self.feedback.retain(|answer| answer.slot() != slot);
        self.postponed.retain(|(postponed, _)| *postponed != slot);
        self.air.retain(|sent| sent.slot != slot);
    }

    /// HARQ processes of a UE.
    fn count(&self) -> usize {
        self.access.timing.processes.into()
    }

    /// Place of a process.
    fn place(&self, slot: u16, process: u8) -> usize {
        usize::from(slot) * self.count() + usize::from(process)
    }

    fn clear(&mut self, slot: u16) {
        let (first, count) = (self.place(slot, 0), self.count());
        self.processes[first..first + count].fill(None);
    }

    /// Buffer status reported by RLC.
    #[inline(always)]
    pub fn on_report(&mut self, slot: u16, waiting: BufferStatus) {
        // Periodic reports mostly repeat what is known.
        if self.users[usize::from(slot)].queue != waiting {
            self.set_queue(slot, waiting);
        }
    }

    /// The slot of the UE with this place among those of the last decision, and the rest of its backlog.
    pub fn served(&self, place: usize) -> Option<(u16, BufferStatus)> {
        let (slot, _) = *self.served.get(place)?;
        Some((slot, self.users[usize::from(slot)].queue))
    }

    #[inline(always)]
    fn set_queue(&mut self, slot: u16, waiting: BufferStatus) {
        let User { queue, view, .. } = &mut self.users[slot as usize];
        let total = waiting.total();
        let (had_data, has_data) = (view.queue > Bytes::ZERO, total > Bytes::ZERO);
        (*queue, view.queue) = (waiting, total);
        self.views.note_change(slot);
        if had_data != has_data {
            self.backlogged += usize::from(has_data);
            self.backlogged -= usize::from(had_data);
            self.update_ready(slot);
        }
    }

    fn update_ready(&mut self, slot: u16) {
        let User { view, busy, .. } = &self.users[slot as usize];
        self.ready.set(slot, view.queue > Bytes::ZERO && *busy != self.all_busy);
    }

    /// The UE of a slot may have a newer channel report.
    #[inline]
    pub fn doubt(&mut self, slot: u16) {
        self.unsure.insert(slot);
    }

    /// Bytes that the carrier would carry in a TTI, averaged over a TDD pattern, if all RBGs were granted to the UE of a
    /// slot with this report.
    pub fn whole(&self, slot: u16, state: &ChannelState) -> f64 {
        let kinds = (0..).zip(self.access.timing.kinds()).filter(|(_, share)| *share > 0.0);
        kinds.map(|(kind, share)| share * self.whole_in(kind, slot, state).0 as f64).sum()
    }

    fn whole_in(&self, kind: u8, slot: u16, state: &ChannelState) -> Bytes {
        let block = |cqi: Cqi, groups: u32| {
            let mcs = self.mcs(slot, cqi);
            match cqi {
                Cqi::OUT_OF_RANGE => Bytes::ZERO,
                _ => self.access.block_in((state.rank, kind), mcs, self.access.prbs_of(groups)),
            }
        };
        let all = u32::from(self.grid.rbgs);
        match (self.scheduler.link_adaptation(), state.flat) {
            (LinkAdaptation::Wideband, _) => block(state.wideband, all),
            (LinkAdaptation::LowestSubband, Some(cqi)) => block(cqi, all),
            (LinkAdaptation::LowestSubband, None) => {
                state.subband[..all as usize].iter().map(|cqi| block(*cqi, 1)).sum()
            }
        }
    }

    /// Whether the wideband CQI is used.
    pub fn uses_wideband(&self) -> bool {
        self.scheduler.uses_wideband()
    }

    /// The MCS for a UE that reports this CQI.
    fn mcs(&self, slot: u16, cqi: Cqi) -> Mcs {
        match &self.outer_loop {
            None => self.access.mcs_of(cqi),
            Some(outer_loop) => outer_loop.mcs(slot, cqi),
        }
    }

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        self.backlogged == 0 && self.postponed.is_empty() && self.feedback.is_empty() && self.air.is_empty()
    }

    /// TTIs have passed without scheduling.
    pub fn on_idle(&mut self, ttis: Range<Tti>) {
        self.scheduler.on_idle(self.access.timing.decisions(ttis));
    }

    /// Whether any UE has data.
    pub fn has_backlog(&self) -> bool {
        self.backlogged > 0
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

    /// Makes the scheduling decisions of a TTI. `version` and `report` return the newest channel report of a UE; `held`
    /// returns that of a UE which has been asleep since.
    pub fn schedule(
        &mut self,
        tti: Tti,
        cell: usize,
        users: &[u32],
        Air { radio, receivers }: Air<'_>,
        ues: &mut MacSide<'_>,
        (version, mut report, held): (
            impl Fn(u16) -> u64,
            impl FnMut(&mut Receivers, u16) -> Report,
            impl Fn(&Receivers, &MacSide<'_>, u16) -> Option<Report>,
        ),
    ) {
        self.served.clear();
        let Some(kind) = self.access.timing.slot(tti).downlink else { return };
        let free = self.retransmit(tti, Air { radio, receivers }, users, ues);
        if free.is_empty() {
            return;
        }
        let (has_drx, air) = (ues.has_drx(), tti + self.access.timing.decision_to_air);
        if self.moves != radio.moves() {
            self.moves = radio.moves();
            self.unsure.fill();
        }
        self.candidates.set_difference(&self.ready, &self.retransmitting);
        if has_drx || self.carrier > 0 {
            let is_active = |ue| ues.is_active(ue, air) && ues.is_activated(ue, self.carrier, air);
            self.candidates.retain(|slot| is_active(users[slot as usize]));
        }
        if radio.is_large() {
            let measuring = self.unsure.iter_common(&self.candidates);
            measuring.for_each(|slot| receivers.prefetch(radio, users[usize::from(slot)] as usize));
        }
        self.unsure.take_common(&self.candidates, |slot| {
            let User { view, version: known, .. } = &mut self.users[slot as usize];
            let newest = Some(version(slot));
            if *known != newest {
                *known = newest;
                set_report(view, report(receivers, slot));
                self.views.note_report(slot);
            }
        });
        self.views.list(&self.candidates, |slot| self.users[slot as usize].view);
        if has_drx {
            replace_reports(self.views.edit(), |slot| held(receivers, ues, slot));
        }
        if let Some(known) = &mut self.known {
            known.forget(tti);
            let lowest = Report { index: 0, rank: 1, wideband: LOWEST, flat: Some(LOWEST) };
            replace_reports(self.views.edit(), |slot| (!known.contains(slot)).then_some(lowest));
        }
        if self.scheduler.uses_delay() {
            self.note_delays(tti, users, ues);
        }
        self.grants.clear();
        self.scheduler.allocate(tti, free, self.views.candidates(receivers.reports(cell)), &mut self.grants);
        //= exception no-pdcch-limit
        if self.pdcch.is_some() {
            self.confine(tti, free, (cell, users), Air { radio, receivers });
        }
        let reports = receivers.reports(cell);
        let grants = std::mem::take(&mut self.grants);
        if radio.is_large() {
            grants.iter().for_each(|(slot, _)| ues.prefetch_rlc(users[usize::from(slot)], Direction::Down));
        }
        for (slot, rbgs) in grants.iter() {
            let view = self.views.of(slot);
            let cqi = match self.scheduler.link_adaptation() {
                LinkAdaptation::Wideband => view.wideband,
                LinkAdaptation::LowestSubband => view.lowest(rbgs, reports),
            };
            let (mcs, rank) = (self.mcs(slot, cqi), view.rank);
            //= exception no-mac-headers
            let prbs = radio.prbs_of(rbgs);
            let size = self.access.block_in((rank, kind), mcs, prbs);
            let process = self.users[slot as usize].next_free(self.all_busy);
            let content = ues.transmit_down(users[slot as usize], tti, size, self.first_process + process);
            if content.is_some() {
                ues.on_new(users[slot as usize], air, Direction::Down);
            }
            ues.on_assignment(users[slot as usize], self.carrier, air);
            let block = Block { mcs, rank, size, content, soft: SoftBits::default(), transmissions: 1 };
            let level = self.pdcch.as_ref().map_or(Level::OF_8, |pdcch| pdcch.held(slot));
            let sent = OnAir { slot, process, level, rbgs, prbs };
            self.send_new(tti, sent, Process { block, rbgs });
            if let Some(waiting) = ues.backlog_of_several(users[slot as usize], tti) {
                self.on_report(slot, waiting);
            }
        }
        self.grants = grants;
        self.scheduler.on_served(&self.served);
    }

    /// Takes back the grants whose assignments do not fit into the PDCCH, and lets the scheduler give their RBGs to UEs
    /// whose assignments do. Leaves these alone in the views.
    #[inline(never)]
    fn confine(&mut self, tti: Tti, free: Rbgs, (cell, users): (usize, &[u32]), air: Air<'_>) {
        let Some(pdcch) = self.pdcch.as_deref_mut() else { return };
        let mut confined = Confined { pdcch, air };
        if confined.hold(users, self.grants.iter().map(|(slot, _)| slot)) {
            return;
        }
        self.views.retain(|slot| confined.pdcch.holds(slot));
        self.grants.clear();
        let candidates = self.views.candidates(confined.air.receivers.reports(cell));
        self.scheduler.allocate_again(tti, free, candidates, &mut self.grants);
        confined.pdcch.keep(|slot| self.grants.iter().any(|(granted, _)| granted == slot));
    }

    /// Adds the head-of-line delays to the views of the UEs, and passes the classes that they belong to to the scheduler.
    fn note_delays(&mut self, tti: Tti, users: &[u32], ues: &MacSide<'_>) {
        for view in self.views.edit() {
            let (delay, class) = ues.head_of_line(users[view.slot as usize], tti);
            view.head_of_line = delay;
            if let Some(class) = class {
                self.scheduler.lead(view.slot, class);
            }
        }
    }

    fn send_new(&mut self, tti: Tti, sent: OnAir, held: Process) {
        let (OnAir { slot, process, .. }, block) = (sent, held.block);
        let user = &mut self.users[slot as usize];
        user.busy |= 1 << process;
        user.last = process;
        let mut waiting = user.queue;
        waiting.on_block_down(block.size);
        self.set_queue(slot, waiting);
        self.update_ready(slot);
        // ns-3 combines a new block with the soft bits of one that failed four times; here each block starts with none.
        let place = self.place(slot, process);
        self.processes[place] = Some(held);
        if block.content.is_some() {
            self.air.push(tti + self.access.timing.decision_to_air, sent);
        } else {
            //= exception padding-stays-silent
            let air = tti + self.access.timing.decision_to_air;
            let due = air + self.access.timing.slot(air).silence;
            self.feedback.push(due, Feedback::Silence(slot, process));
        }
        self.served.push((slot, block.size));
    }

    /// Handles received feedback and schedules retransmissions; returns the free RBGs.
    fn retransmit(&mut self, tti: Tti, mut air: Air<'_>, users: &[u32], ues: &mut MacSide<'_>) -> Rbgs {
        self.retransmitting.clear();
        let mut free = Rbgs::first(air.radio.rbgs());
        let postponed = self.postponed.len();
        for index in 0..postponed {
            let (slot, process) = self.postponed[index];
            self.resend(tti, (slot, process), (&mut free, &mut air), (users[slot as usize], ues));
        }
        self.postponed.drain(..postponed);
        let mut index = 0;
        while let Some(answer) = self.feedback.get(tti, index) {
            index += 1;
            self.adapt(tti, answer);
            match answer {
                Feedback::Ack(slot, process) | Feedback::Silence(slot, process) => {
                    self.free(slot, process);
                }
                Feedback::Nack(slot, process) => {
                    let held = self.processes[self.place(slot, process)].as_ref();
                    let used = held.expect("a process is kept until its feedback").block.transmissions;
                    let earliest = tti + self.access.timing.decision_to_air;
                    let (ue, process_of_ue) = (users[slot as usize], self.first_process + process);
                    ues.await_retransmission(ue, earliest, Direction::Down, process_of_ue);
                    if used >= self.max_transmissions {
                        self.free(slot, process);
                    } else {
                        self.resend(tti, (slot, process), (&mut free, &mut air), (users[slot as usize], ues));
                    }
                }
            }
        }
        self.feedback.clear(tti);
        free
    }

    /// Updates link adaptation by ACK or NACK, the outer loop by those of first transmissions.
    fn adapt(&mut self, tti: Tti, answer: Feedback) {
        let (slot, process, decoded) = match answer {
            Feedback::Ack(slot, process) => (slot, process, true),
            Feedback::Nack(slot, process) => (slot, process, false),
            Feedback::Silence(..) => return,
        };
        if let Some(known) = &mut self.known {
            known.learn(slot, tti);
        }
        let place = self.place(slot, process);
        let Some(outer_loop) = &mut self.outer_loop else { return };
        let held = self.processes[place].as_ref();
        if held.expect("a process is kept until its feedback").block.transmissions == 1 {
            outer_loop.on_feedback(slot, decoded);
        }
    }

    fn free(&mut self, slot: u16, process: u8) {
        let place = self.place(slot, process);
        self.processes[place] = None;
        self.users[slot as usize].busy &= !(1 << process);
        self.update_ready(slot);
    }

    /// Resends on the same RBGs if they are free, otherwise on the same number of RBGs after the last of them,
    /// otherwise, or without room in the PDCCH, or while the UE sleeps, in the next TTI. A UE gets one retransmission per
    /// TTI.
    fn resend(
        &mut self,
        tti: Tti,
        (slot, process): (u16, u8),
        (free, channel): (&mut Rbgs, &mut Air<'_>),
        (ue, ues): (u32, &mut MacSide<'_>),
    ) {
        let air = tti + self.access.timing.decision_to_air;
        //= TS 36.321 §5.13: HARQ buffers of a deactivated SCell are flushed
        if !ues.is_activated(ue, self.carrier, air) {
            return self.free(slot, process);
        }
        if ues.has_drx() && !ues.is_active(ue, air) {
            self.postponed.push((slot, process));
            return;
        }
        let at = self.place(slot, process);
        let held = self.processes[at].as_mut();
        let held = held.expect("a process is kept until its retransmission");
        let retransmits = self.retransmitting.contains(slot);
        let Some(rbgs) = place(held.rbgs, *free, self.grid.rbgs).filter(|_| !retransmits) else {
            // ns-3 also sends the postponed block at once, on top of another UE's.
            self.postponed.push((slot, process));
            return;
        };
        let level = match self.pdcch.as_deref_mut() {
            None => Some(Level::OF_8),
            Some(pdcch) => Confined { pdcch, air: channel.reborrow() }.assign(slot, ue),
        };
        let Some(level) = level else {
            self.postponed.push((slot, process));
            return;
        };
        held.block.transmissions += 1;
        self.retransmitting.insert(slot);
        *free = free.without(rbgs);
        ues.on_assignment(ue, self.carrier, air);
        ues.on_retransmission(ue, air, Direction::Down, self.first_process + process);
        let prbs = channel.radio.prbs_of(rbgs);
        self.air.push(air, OnAir { slot, process, level, rbgs, prbs });
    }

    /// The RBGs on which the cell sends data in this TTI.
    pub fn on_air(&self, tti: Tti) -> Rbgs {
        self.air.at(tti).iter().fold(Rbgs::default(), |all, sent| all.union(sent.rbgs))
    }

    /// The slots of the UEs to which blocks are on air.
    pub fn receiving(&self, tti: Tti) -> impl Iterator<Item = u16> {
        self.air.at(tti).iter().map(|sent| sent.slot)
    }

    /// Receives a TTI at the UEs. Adds the decoded PDUs with their UEs.
    pub fn receive(
        &mut self,
        tti: Tti,
        cell: usize,
        users: &[u32],
        mut air: Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(u32, Content)>,
    ) {
        let mut index = 0;
        while let Some(sent) = self.air.get(tti, index) {
            index += 1;
            self.receive_block(tti, sent, (cell, users), air.reborrow(), ues, decoded);
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
        (cell, users): (usize, &[u32]),
        mut air: Air<'_>,
        ues: &mut MacSide<'_>,
        decoded: &mut Vec<(u32, Content)>,
    ) {
        let consequences = self.access.timing.slot(tti);
        let number = users[sent.slot as usize];
        let place = self.place(sent.slot, sent.process);
        let held = &mut self.processes[place];
        let block = &mut held.as_mut().expect("a process on air holds its block").block;
        let OnAir { slot, process, level, rbgs, prbs } = sent;
        self.figures.prbs += u64::from(prbs.0);
        let carrier = self.carrier;
        let assignment = Assignment { tti, cell, carrier, process, level, rbgs, prbs };
        let reception = ues.receive_block(number, &assignment, block, &mut air);
        if let Some(log) = &mut self.log {
            log.note(Allocation {
                tti,
                cell: CellId(cell as u16),
                carrier,
                ue: UeId(number),
                rbgs,
                transmission: block.transmissions,
                mcs: block.mcs,
                size: block.size,
                reception,
            });
        }
        let (after, answer) = match reception {
            Reception::AssignmentLost => (consequences.silence, Feedback::Silence(slot, process)),
            Reception::Failed => (consequences.feedback, Feedback::Nack(slot, process)),
            Reception::Decoded => (consequences.feedback, Feedback::Ack(slot, process)),
        };
        self.feedback.push(tti + after, answer);
        if reception == Reception::Decoded {
            self.figures.bytes += block.size.0;
            if let Some(content) = block.content {
                decoded.push((number, content));
            }
        }
    }
}

impl User {
    /// A new UE at this slot.
    fn at(slot: u16) -> User {
        let view = UeView {
            queue: Bytes::ZERO,
            head_of_line: Span::ZERO,
            report: 0,
            slot,
            rank: 1,
            wideband: Cqi::OUT_OF_RANGE,
            flat: None,
        };
        User { queue: BufferStatus::default(), busy: 0, last: 0, view, version: None }
    }

    /// The first free process of `all` after the one used last, cyclically; there must be one.
    fn next_free(&self, all: u16) -> u8 {
        let free = all & !self.busy;
        assert_ne!(free, 0, "only UEs with a free process are served");
        let after = free & (u16::MAX << self.last << 1);
        (if after != 0 { after } else { free }).trailing_zeros() as u8
    }
}

/// Replaces the channel report of a UE.
fn set_report(view: &mut UeView, Report { index, rank, wideband, flat }: Report) {
    *view = UeView { report: index, rank, wideband, flat, ..*view };
}

/// Replaces channel reports in the views by others.
#[inline(never)]
fn replace_reports(views: &mut [UeView], other: impl Fn(u16) -> Option<Report>) {
    for view in views {
        if let Some(report) = other(view.slot) {
            set_report(view, report);
        }
    }
}

/// RBGs of a retransmission that used `old`: the same ones, or the same number of free ones, searched cyclically from
/// after the last one.
fn place(old: Rbgs, free: Rbgs, rbgs: u8) -> Option<Rbgs> {
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
    fn a_retransmission_keeps_its_place_or_moves_behind_it() {
        let old = Rbgs(0b0000_0110);
        assert_eq!(place(old, Rbgs(0xff), 8), Some(old));
        // RBG 1 is taken: search 3, 4, ..., 7, 0, 1
        assert_eq!(place(old, Rbgs(0b1111_0101), 8), Some(Rbgs(0b0011_0000)));
        assert_eq!(place(old, Rbgs(0b1000_0101), 8), Some(Rbgs(0b1000_0001)));
        // the last old RBG is not searched again, so one free RBG is not enough
        assert_eq!(place(old, Rbgs(0b0000_0101), 8), None);
    }
}

//! The downlink MAC of a cell: HARQ retransmissions first, then the grants of the scheduler.

use super::log::{Allocation, Log, Reception};
use super::outer_loop::OuterLoop;
use super::sched::{Candidates, ChannelState, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use super::{Block, Content, Pipeline};
use crate::access::Access;
use crate::component::ComponentCarrier;
use crate::identity::{CellId, UeId};
use crate::phy::error_model::SoftBits;
use crate::phy::{Cqi, Mcs};
use crate::radio::{Air, Radio, Receivers, Report};
use crate::rlc::BufferStatus;
use crate::ue::UeTable;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Span, Tti};
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
    max_transmissions: u8,
    users: Vec<User>,
    /// UEs with data and a free HARQ process, one bit per slot.
    ready: Vec<u64>,
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
    answers: Vec<Feedback>,
    sending: Vec<OnAir>,
    views: Vec<UeView>,
    grants: Grants,
    served: Vec<(u16, Bytes)>,
    decoded: Vec<(u32, Content)>,
}

/// Per-TTI scheduling state of a UE; its blocks are stored separately.
#[derive(Clone, Copy, Default)]
struct User {
    /// Backlog known to the MAC: the last report minus the bytes granted since.
    queue: BufferStatus,
    /// Last TTI with a retransmission, in which no new data is scheduled.
    retransmitted: Option<Tti>,
    /// HARQ processes in use, one bit each.
    busy: u16,
    /// Last process used.
    last: u8,
    /// The newest channel report when the UE last had data, and its version.
    report: Option<(u64, Report)>,
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
    rbgs: Rbgs,
}

/// Counters of a cell's downlink.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DownlinkFigures {
    pub prbs: u64,
    pub bytes: u64,
}

impl Downlink {
    pub fn new(setup: &crate::settings::RanSetup, carrier: &ComponentCarrier) -> Self {
        let access = &carrier.access;
        let block = |cqi: u8| access.block(Direction::Down, access.mcs_of(Cqi(cqi)), access.rbg_prbs);
        let per_second = (1000 * access.clock.per_millisecond()) as f64;
        let rate = |cqi: u8| block(cqi).0 as f64 * per_second;
        let mut rate_by_cqi = [0.0; 16];
        for (cqi, entry) in (1..).zip(&mut rate_by_cqi[1..]) {
            *entry = rate(cqi);
        }
        let grid = Grid { access: access.clone(), rbgs: access.rbgs, rbg_prbs: access.rbg_prbs, rate_by_cqi };
        let outer_loop = setup
            .mac
            .olla
            .as_ref()
            .map(|params| OuterLoop::new(params.clone(), &*setup.radio.errors(), access));
        Downlink {
            access: access.clone(),
            carrier: carrier.number,
            first_process: carrier.number * access.timing.processes,
            outer_loop,
            scheduler: setup.mac.scheduler.build(&grid),
            grid,
            max_transmissions: setup.mac.harq_transmissions,
            users: Vec::new(),
            ready: Vec::new(),
            all_busy: ((1u32 << access.timing.processes) - 1) as u16,
            processes: Vec::new(),
            feedback: Pipeline::new(access.timing.depth),
            postponed: Vec::with_capacity(16),
            air: Pipeline::new(access.timing.depth),
            backlogged: 0,
            figures: DownlinkFigures::default(),
            log: None,
            answers: Vec::with_capacity(16),
            sending: Vec::with_capacity(16),
            views: Vec::new(),
            grants: Grants::on(access.rbgs),
            served: Vec::with_capacity(access.rbgs.into()),
            decoded: Vec::with_capacity(16),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: u16, bearer: crate::bearer::Bearer) {
        self.scheduler.admit(slot, &bearer);
        settle(&mut self.users, slot, User::default());
        self.ready.resize(self.users.len().div_ceil(u64::BITS as usize), 0);
        self.processes.resize(self.processes.len().max(self.place(slot, 0) + self.count()), None);
        self.clear(slot);
        if let Some(outer_loop) = &mut self.outer_loop {
            outer_loop.admit(slot);
        }
        self.views.reserve(self.users.len());
    }

    /// Removes the UE of a slot and discards its HARQ processes.
    //= TS 36.321 §5.9
    pub fn release(&mut self, slot: u16) {
        self.scheduler.release(slot);
        self.set_queue(slot, BufferStatus::default());
        self.users[slot as usize] = User::default();
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
    pub fn on_report(&mut self, slot: u16, waiting: BufferStatus) {
        self.set_queue(slot, waiting);
    }

    /// The slot of the UE with this place among those of the last decision, and the rest of its backlog.
    pub fn served(&self, place: usize) -> Option<(u16, BufferStatus)> {
        let (slot, _) = *self.served.get(place)?;
        Some((slot, self.users[usize::from(slot)].queue))
    }

    fn set_queue(&mut self, slot: u16, waiting: BufferStatus) {
        let queue = &mut self.users[slot as usize].queue;
        self.backlogged += usize::from(waiting.total() > Bytes::ZERO);
        self.backlogged -= usize::from(queue.total() > Bytes::ZERO);
        *queue = waiting;
        self.update_ready(slot);
    }

    fn update_ready(&mut self, slot: u16) {
        let User { queue, busy, .. } = &self.users[slot as usize];
        let is_ready = queue.total() > Bytes::ZERO && *busy != self.all_busy;
        let bits = &mut self.ready[usize::from(slot) / u64::BITS as usize];
        let bit = u32::from(slot) % u64::BITS;
        *bits = *bits & !(1 << bit) | u64::from(is_ready) << bit;
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
    pub fn on_idle(&mut self, ttis: u64) {
        self.scheduler.on_idle(ttis);
    }

    /// Whether any UE has data.
    pub fn has_backlog(&self) -> bool {
        self.backlogged > 0
    }

    /// Makes the scheduling decisions of a TTI. `version` and `report` return the newest channel report of a UE; `held`
    /// returns that of a UE which has been asleep since.
    pub fn schedule(
        &mut self,
        tti: Tti,
        cell: usize,
        users: &[u32],
        Air { radio, receivers }: Air<'_>,
        ues: &mut UeTable,
        (version, mut report, held): (
            impl Fn(u16) -> u64,
            impl FnMut(&mut Receivers, u16) -> Report,
            impl Fn(&Receivers, &UeTable, u16) -> Option<Report>,
        ),
    ) {
        self.served.clear();
        let Some(kind) = self.access.timing.slot(tti).downlink else { return };
        let free = self.retransmit(tti, radio, users, ues);
        if free.is_empty() {
            return;
        }
        let (has_drx, air) = (ues.has_drx, tti + self.access.timing.decision_to_air);
        self.views.clear();
        for (first, bits) in (0..).step_by(u64::BITS as usize).zip(&self.ready) {
            let mut rest = match has_drx || self.carrier > 0 {
                true => active(*bits, &users[usize::from(first)..], (air, self.carrier), ues),
                false => *bits,
            };
            while rest != 0 {
                let slot = first + rest.trailing_zeros() as u16;
                rest &= rest - 1;
                let user = &mut self.users[slot as usize];
                if user.retransmitted == Some(tti) {
                    continue;
                }
                let version = version(slot);
                let newest = match user.report {
                    Some((known, report)) if known == version => report,
                    _ => user.report.insert((version, report(receivers, slot))).1,
                };
                let Report { index, rank, wideband, flat } = newest;
                let head_of_line = Span::ZERO;
                let queue = user.queue.total();
                self.views.push(UeView { queue, head_of_line, report: index, slot, rank, wideband, flat });
            }
        }
        if has_drx {
            replace_by_held(&mut self.views, |slot| held(receivers, ues, slot));
        }
        if self.scheduler.uses_delay() {
            self.note_delays(tti, users, ues);
        }
        self.grants.clear();
        let views = std::mem::take(&mut self.views);
        let candidates = Candidates { users: &views, reports: receivers.reports(cell) };
        self.scheduler.allocate(tti, free, candidates, &mut self.grants);
        let grants = std::mem::take(&mut self.grants);
        //= exception no-pdcch-limit
        for (slot, rbgs) in grants.iter() {
            let view = views.binary_search_by_key(&slot, |view| view.slot);
            let view = &views[view.expect("grants go to listed UEs")];
            let cqi = match self.scheduler.link_adaptation() {
                LinkAdaptation::Wideband => view.wideband,
                LinkAdaptation::LowestSubband => candidates.lowest(view, rbgs),
            };
            let (mcs, rank) = (self.mcs(slot, cqi), view.rank);
            //= exception no-mac-headers
            let size = self.access.block_in((rank, kind), mcs, radio.prbs_of(rbgs));
            let process = self.users[slot as usize].next_free(self.access.timing.processes);
            let content = ues.transmit_down(users[slot as usize], tti, size, self.first_process + process);
            if let Some(drx) = ues.drx(users[slot as usize]).filter(|_| content.is_some()) {
                drx.on_new(air, Direction::Down);
            }
            ues.on_assignment(users[slot as usize], self.carrier, air);
            let block = Block { mcs, rank, size, content, soft: SoftBits::default(), transmissions: 1 };
            self.send_new(tti, slot, process, Process { block, rbgs });
            if ues.has_several(users[slot as usize]) {
                self.on_report(slot, ues.waiting_down(users[slot as usize], tti));
            }
        }
        self.grants = grants;
        self.views = views;
        self.scheduler.on_served(&self.served);
    }

    /// Adds the head-of-line delays to the views of the UEs, and passes the classes that they belong to to the scheduler.
    fn note_delays(&mut self, tti: Tti, users: &[u32], ues: &UeTable) {
        for view in &mut self.views {
            let (delay, class) = ues.head_of_line(users[view.slot as usize], tti);
            view.head_of_line = delay;
            if let Some(class) = class {
                self.scheduler.lead(view.slot, class);
            }
        }
    }

    fn send_new(&mut self, tti: Tti, slot: u16, process: u8, held: Process) {
        let Process { block, rbgs } = held;
        let user = &mut self.users[slot as usize];
        user.busy |= 1 << process;
        user.last = process;
        let mut waiting = user.queue;
        waiting.on_block_down(block.size);
        self.set_queue(slot, waiting);
        // ns-3 combines a new block with the soft bits of one that failed four times; here each block starts with none.
        let place = self.place(slot, process);
        self.processes[place] = Some(held);
        if block.content.is_some() {
            self.air.push(tti + self.access.timing.decision_to_air, OnAir { slot, process, rbgs });
        } else {
            //= exception padding-stays-silent
            let air = tti + self.access.timing.decision_to_air;
            let due = air + self.access.timing.slot(air).silence;
            self.feedback.push(due, Feedback::Silence(slot, process));
        }
        self.served.push((slot, block.size));
    }

    /// Handles received feedback and schedules retransmissions; returns the free RBGs.
    fn retransmit(&mut self, tti: Tti, radio: &Radio, users: &[u32], ues: &mut UeTable) -> Rbgs {
        let mut free = Rbgs::first(radio.rbgs());
        let mut answers = std::mem::take(&mut self.answers);
        self.feedback.take(tti, &mut answers);
        let postponed = self.postponed.len();
        for index in 0..postponed {
            let (slot, process) = self.postponed[index];
            self.resend(tti, (slot, process), &mut free, (users[slot as usize], ues));
        }
        self.postponed.drain(..postponed);
        for answer in &answers {
            self.adapt(*answer);
            match *answer {
                Feedback::Ack(slot, process) | Feedback::Silence(slot, process) => {
                    self.free(slot, process);
                }
                Feedback::Nack(slot, process) => {
                    let held = self.processes[self.place(slot, process)].as_ref();
                    let used = held.expect("a process is kept until its feedback").block.transmissions;
                    if let Some(drx) = ues.drx(users[slot as usize]) {
                        let air = tti + self.access.timing.decision_to_air;
                        drx.await_retransmission(air, Direction::Down, self.first_process + process);
                    }
                    if used >= self.max_transmissions {
                        self.free(slot, process);
                    } else {
                        self.resend(tti, (slot, process), &mut free, (users[slot as usize], ues));
                    }
                }
            }
        }
        self.answers = answers;
        free
    }

    /// Updates outer-loop link adaptation by first transmissions with ACK or NACK.
    fn adapt(&mut self, answer: Feedback) {
        let (slot, process, decoded) = match answer {
            Feedback::Ack(slot, process) => (slot, process, true),
            Feedback::Nack(slot, process) => (slot, process, false),
            Feedback::Silence(..) => return,
        };
        let held = self.processes[self.place(slot, process)].as_ref();
        let is_first = held.expect("a process is kept until its feedback").block.transmissions == 1;
        if let Some(outer_loop) = self.outer_loop.as_mut().filter(|_| is_first) {
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
    /// otherwise, or while the UE sleeps, in the next TTI. A UE gets one retransmission per TTI.
    fn resend(
        &mut self,
        tti: Tti,
        (slot, process): (u16, u8),
        free: &mut Rbgs,
        (ue, ues): (u32, &mut UeTable),
    ) {
        let air = tti + self.access.timing.decision_to_air;
        //= TS 36.321 §5.13: HARQ buffers of a deactivated SCell are flushed
        if !ues.is_activated(ue, self.carrier, air) {
            return self.free(slot, process);
        }
        if ues.has_drx && !ues.is_active(ue, air) {
            self.postponed.push((slot, process));
            return;
        }
        let at = self.place(slot, process);
        let user = &mut self.users[slot as usize];
        let held = self.processes[at].as_mut();
        let held = held.expect("a process is kept until its retransmission");
        let Some(rbgs) = place(held.rbgs, *free, self.grid.rbgs).filter(|_| user.retransmitted != Some(tti))
        else {
            // ns-3 also sends the postponed block at once, on top of another UE's.
            self.postponed.push((slot, process));
            return;
        };
        held.block.transmissions += 1;
        user.retransmitted = Some(tti);
        *free = free.without(rbgs);
        ues.on_assignment(ue, self.carrier, air);
        if let Some(drx) = ues.drx(ue) {
            drx.on_retransmission(air, Direction::Down, self.first_process + process);
        }
        self.air.push(air, OnAir { slot, process, rbgs });
    }

    /// The RBGs on which the cell sends data in this TTI.
    pub fn on_air(&self, tti: Tti) -> Rbgs {
        self.air.at(tti).iter().fold(Rbgs::default(), |all, sent| all.union(sent.rbgs))
    }

    /// Receives a TTI at the UEs. Returns the decoded PDUs with their UEs.
    pub fn receive(
        &mut self,
        tti: Tti,
        cell: usize,
        users: &[u32],
        mut air: Air<'_>,
        ues: &mut UeTable,
    ) -> &[(u32, Content)] {
        self.decoded.clear();
        let mut sending = std::mem::take(&mut self.sending);
        self.air.take(tti, &mut sending);
        let consequences = self.access.timing.slot(tti);
        for sent in &sending {
            let number = users[sent.slot as usize];
            let ue = ues.get(number);
            let place = self.place(sent.slot, sent.process);
            let process = &mut self.processes[place];
            let block = &mut process.as_mut().expect("a process on air holds its block").block;
            let prbs = air.radio.prbs_of(sent.rbgs);
            self.figures.prbs += u64::from(prbs.0);
            let mut note = |block: &Block, reception| {
                if let Some(log) = &mut self.log {
                    log.note(Allocation {
                        tti,
                        cell: CellId(cell as u16),
                        carrier: self.carrier,
                        ue: UeId(number),
                        rbgs: sent.rbgs,
                        transmission: block.transmissions,
                        mcs: block.mcs,
                        size: block.size,
                        reception,
                    });
                }
            };
            if ue.loses_control(tti, number, self.carrier, &mut air) {
                note(block, Reception::AssignmentLost);
                let due = tti + consequences.silence;
                self.feedback.push(due, Feedback::Silence(sent.slot, sent.process));
                continue;
            }
            let probability = air.receivers.receive_downlink(air.radio, (number, cell), sent.rbgs, block);
            let failed = ue.downlink.draw(tti, self.carrier, sent.process) < probability;
            ue.downlink.blocks.count(block, prbs, failed);
            note(block, if failed { Reception::Failed } else { Reception::Decoded });
            let answer = if failed { Feedback::Nack } else { Feedback::Ack };
            self.feedback.push(tti + consequences.feedback, answer(sent.slot, sent.process));
            if !failed {
                self.figures.bytes += block.size.0;
                self.decoded.extend(block.content.map(|content| (number, content)));
            }
        }
        self.sending = sending;
        &self.decoded
    }
}

impl User {
    /// The first free process after the one used last; there must be one.
    fn next_free(&self, processes: u8) -> u8 {
        let free =
            (1..=processes).map(|step| (self.last + step) % processes).find(|p| self.busy >> p & 1 == 0);
        free.expect("only UEs with a free process are served")
    }
}

/// Replaces the channel reports in the views by those that are held.
#[inline(never)]
fn replace_by_held(views: &mut [UeView], held: impl Fn(u16) -> Option<Report>) {
    for view in views {
        if let Some(Report { index, rank, wideband, flat }) = held(view.slot) {
            *view = UeView { report: index, rank, wideband, flat, ..*view };
        }
    }
}

/// The UEs among some slots, one bit each, that are in their active time and on an active carrier. `users` begins with
/// the first slot.
#[inline(never)]
fn active(slots: u64, users: &[u32], (air, carrier): (Tti, u8), ues: &UeTable) -> u64 {
    let (mut active, mut rest) = (slots, slots);
    while rest != 0 {
        let slot = rest.trailing_zeros();
        rest &= rest - 1;
        let ue = users[slot as usize];
        let is_active = ues.is_active(ue, air) && ues.is_activated(ue, carrier, air);
        active &= !(u64::from(!is_active) << slot);
    }
    active
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

//! The downlink MAC of a cell: HARQ retransmissions first, then the grants of the scheduler.

use super::log::{Allocation, Log, Reception};
use super::outer_loop::OuterLoop;
use super::sched::{Candidates, ChannelState, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use super::{Block, Pipeline};
use crate::identity::{CellId, UeId};
use crate::phy::error_model::SoftBits;
use crate::phy::tables::{mcs_of, transport_block};
use crate::phy::{Cqi, Prbs};
use crate::radio::{Air, Radio, Receivers, Report};
use crate::rlc::{BufferStatus, Content, PROCESSES};
use crate::ue::UeTable;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Span, Tti};

/// TTIs from a scheduling decision to its transmission (ns-3 LteEnbPhy::MacToChannelDelay).
pub(crate) const DECISION_TO_AIR: u64 = 2;
/// TTIs from a transmission to the decision that can react to its feedback: 4 in the UE (TS 36.213 §10.1), one on air.
const AIR_TO_FEEDBACK: u64 = 5;
/// TTIs after which a process without feedback is free again (ns-3 HARQ_DL_TIMEOUT of 11, found expired at the next
/// trigger).
const FEEDBACK_TIMEOUT: u64 = 12;
/// The downlink side of a cell.
pub(crate) struct Downlink {
    scheduler: Box<dyn Scheduler>,
    grid: Grid,
    outer_loop: Option<OuterLoop>,
    max_transmissions: u8,
    users: Vec<User>,
    /// UEs with data and a free HARQ process, one bit per slot.
    ready: Vec<u64>,
    processes: Vec<[Option<Process>; PROCESSES as usize]>,
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
    busy: u8,
    /// Last process used.
    last: u8,
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
    pub fn new(setup: &crate::settings::RanSetup, radio: &Radio) -> Self {
        let rate =
            |cqi: u8| transport_block(Direction::Down, mcs_of(Cqi(cqi)), radio.rbg_prbs()).0 as f64 * 1000.0;
        let mut rate_by_cqi = [0.0; 16];
        for (cqi, entry) in (1..).zip(&mut rate_by_cqi[1..]) {
            *entry = rate(cqi);
        }
        let grid = Grid { rbgs: radio.rbgs(), rbg_prbs: radio.rbg_prbs(), rate_by_cqi };
        let outer_loop =
            setup.mac.olla.as_ref().map(|params| {
                OuterLoop::new(params.clone(), &*setup.radio.error_model.build(), radio.prbs())
            });
        Downlink {
            outer_loop,
            scheduler: setup.mac.scheduler.build(&grid),
            grid,
            max_transmissions: setup.mac.harq_transmissions,
            users: Vec::new(),
            ready: Vec::new(),
            processes: Vec::new(),
            feedback: Pipeline::new(),
            postponed: Vec::with_capacity(16),
            air: Pipeline::new(),
            backlogged: 0,
            figures: DownlinkFigures::default(),
            log: None,
            answers: Vec::with_capacity(16),
            sending: Vec::with_capacity(16),
            views: Vec::new(),
            grants: Grants::default(),
            served: Vec::with_capacity(16),
            decoded: Vec::with_capacity(16),
        }
    }

    /// Adds a UE at the first free slot.
    pub fn admit(&mut self, slot: u16, bearer: crate::bearer::Bearer) {
        self.scheduler.admit(slot, &bearer);
        settle(&mut self.users, slot, User::default());
        self.ready.resize(self.users.len().div_ceil(u64::BITS as usize), 0);
        settle(&mut self.processes, slot, [None; PROCESSES as usize]);
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
        self.processes[slot as usize] = [None; PROCESSES as usize];
        self.feedback.retain(|answer| answer.slot() != slot);
        self.postponed.retain(|(postponed, _)| *postponed != slot);
        self.air.retain(|sent| sent.slot != slot);
    }

    /// Buffer status reported by RLC.
    pub fn on_report(&mut self, slot: u16, waiting: BufferStatus) {
        self.set_queue(slot, waiting);
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
        let is_ready = queue.total() > Bytes::ZERO && *busy != u8::MAX;
        let bits = &mut self.ready[usize::from(slot) / u64::BITS as usize];
        let bit = u32::from(slot) % u64::BITS;
        *bits = *bits & !(1 << bit) | u64::from(is_ready) << bit;
    }

    /// Bytes that the carrier would carry in a TTI if all RBGs were granted to the UE of a slot with this report.
    pub fn whole(&self, slot: u16, state: &ChannelState) -> Bytes {
        let block = |cqi: Cqi, groups: u32| {
            let mcs = self.outer_loop.as_ref().map_or(mcs_of(cqi), |outer_loop| outer_loop.mcs(slot, cqi));
            match cqi {
                Cqi::OUT_OF_RANGE => Bytes::ZERO,
                _ => transport_block(Direction::Down, mcs, Prbs(groups as u16 * self.grid.rbg_prbs.0)),
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

    /// Whether no TTI is needed.
    pub fn is_idle(&self) -> bool {
        self.backlogged == 0 && self.postponed.is_empty() && self.feedback.is_empty() && self.air.is_empty()
    }

    /// TTIs have passed without scheduling.
    pub fn on_idle(&mut self, ttis: u64) {
        self.scheduler.on_idle(ttis);
    }

    /// Makes the scheduling decisions of a TTI. `report` returns the latest channel report of a UE.
    pub fn schedule(
        &mut self,
        tti: Tti,
        cell: usize,
        users: &[u32],
        Air { radio, receivers }: Air<'_>,
        ues: &mut UeTable,
        mut report: impl FnMut(&mut Receivers, u16) -> Report,
    ) {
        let free = self.retransmit(tti, radio);
        if free.is_empty() {
            return;
        }
        self.views.clear();
        let uses_delay = self.scheduler.uses_delay();
        for (first, bits) in (0..).step_by(u64::BITS as usize).zip(&self.ready) {
            let mut rest = *bits;
            while rest != 0 {
                let slot = first + rest.trailing_zeros() as u16;
                rest &= rest - 1;
                let user = &self.users[slot as usize];
                if user.retransmitted == Some(tti) {
                    continue;
                }
                let Report { index, wideband, flat } = report(receivers, slot);
                let head_of_line =
                    if uses_delay { ues.get(users[slot as usize]).head_of_line(tti) } else { Span::ZERO };
                let queue = user.queue.total();
                self.views.push(UeView { queue, head_of_line, report: index, slot, wideband, flat });
            }
        }
        self.grants.clear();
        let views = std::mem::take(&mut self.views);
        let candidates = Candidates { users: &views, reports: receivers.reports(cell) };
        self.scheduler.allocate(tti, free, candidates, &mut self.grants);
        self.served.clear();
        let grants = std::mem::take(&mut self.grants);
        //= exception no-pdcch-limit
        for (slot, rbgs) in grants.iter() {
            let view = views.iter().find(|view| view.slot == slot).expect("grants go to listed UEs");
            let cqi = match self.scheduler.link_adaptation() {
                LinkAdaptation::Wideband => view.wideband,
                LinkAdaptation::LowestSubband => candidates.lowest(view, rbgs),
            };
            let mcs = match &self.outer_loop {
                None => mcs_of(cqi),
                Some(outer_loop) => outer_loop.mcs(slot, cqi),
            };
            //= exception single-antenna
            //= exception no-mac-headers
            let size = transport_block(Direction::Down, mcs, radio.prbs_of(rbgs));
            let process = self.users[slot as usize].next_free();
            let content = ues.transmit_down(users[slot as usize], tti, size, process);
            let block = Block { mcs, size, content, soft: SoftBits::default(), transmissions: 1 };
            self.send_new(tti, slot, process, Process { block, rbgs });
        }
        self.grants = grants;
        self.views = views;
        self.scheduler.on_served(&self.served);
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
        self.processes[slot as usize][process as usize] = Some(held);
        if block.content.is_some() {
            self.air.push(tti + DECISION_TO_AIR, OnAir { slot, process, rbgs });
        } else {
            //= exception padding-stays-silent
            self.feedback.push(tti + FEEDBACK_TIMEOUT, Feedback::Silence(slot, process));
        }
        self.served.push((slot, block.size));
    }

    /// Handles received feedback and schedules retransmissions; returns the free RBGs.
    fn retransmit(&mut self, tti: Tti, radio: &Radio) -> Rbgs {
        let mut free = Rbgs::first(radio.rbgs());
        let mut answers = std::mem::take(&mut self.answers);
        self.feedback.take(tti, &mut answers);
        let postponed = self.postponed.len();
        for index in 0..postponed {
            let (slot, process) = self.postponed[index];
            self.resend(tti, slot, process, &mut free);
        }
        self.postponed.drain(..postponed);
        for answer in &answers {
            self.adapt(*answer);
            match *answer {
                Feedback::Ack(slot, process) | Feedback::Silence(slot, process) => {
                    self.free(slot, process);
                }
                Feedback::Nack(slot, process) => {
                    let held = self.processes[slot as usize][process as usize].as_ref();
                    let used = held.expect("a process is kept until its feedback").block.transmissions;
                    if used >= self.max_transmissions {
                        self.free(slot, process);
                    } else {
                        self.resend(tti, slot, process, &mut free);
                    }
                }
            }
        }
        self.answers = answers;
        free
    }

    /// Updates outer-loop link adaptation by first transmissions with ACK or NACK.
    fn adapt(&mut self, answer: Feedback) {
        let Some(outer_loop) = &mut self.outer_loop else { return };
        let (slot, process, decoded) = match answer {
            Feedback::Ack(slot, process) => (slot, process, true),
            Feedback::Nack(slot, process) => (slot, process, false),
            Feedback::Silence(..) => return,
        };
        let held = self.processes[slot as usize][process as usize].as_ref();
        if held.expect("a process is kept until its feedback").block.transmissions == 1 {
            outer_loop.on_feedback(slot, decoded);
        }
    }

    fn free(&mut self, slot: u16, process: u8) {
        self.processes[slot as usize][process as usize] = None;
        self.users[slot as usize].busy &= !(1 << process);
        self.update_ready(slot);
    }

    /// Resends on the same RBGs if they are free, otherwise on the same number of RBGs after the last of them,
    /// otherwise in the next TTI. A UE gets one retransmission per TTI.
    fn resend(&mut self, tti: Tti, slot: u16, process: u8, free: &mut Rbgs) {
        let user = &mut self.users[slot as usize];
        let held = self.processes[slot as usize][process as usize].as_mut();
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
        self.air.push(tti + DECISION_TO_AIR, OnAir { slot, process, rbgs });
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
        for sent in &sending {
            let number = users[sent.slot as usize];
            let ue = ues.get(number);
            let process = &mut self.processes[sent.slot as usize][sent.process as usize];
            let block = &mut process.as_mut().expect("a process on air holds its block").block;
            self.figures.prbs += u64::from(air.radio.prbs_of(sent.rbgs).0);
            let mut note = |block: &Block, reception| {
                if let Some(log) = &mut self.log {
                    log.note(Allocation {
                        tti,
                        cell: CellId(cell as u16),
                        ue: UeId(number),
                        rbgs: sent.rbgs,
                        transmission: block.transmissions,
                        mcs: block.mcs,
                        size: block.size,
                        reception,
                    });
                }
            };
            if ue.loses_control(tti, number, &mut air) {
                note(block, Reception::AssignmentLost);
                let due = tti + (FEEDBACK_TIMEOUT - DECISION_TO_AIR);
                self.feedback.push(due, Feedback::Silence(sent.slot, sent.process));
                continue;
            }
            let probability = air.receivers.receive_downlink(air.radio, (number, cell), sent.rbgs, block);
            let failed = ue.downlink.draw(tti, sent.process) < probability;
            ue.downlink.blocks.count(block, failed);
            note(block, if failed { Reception::Failed } else { Reception::Decoded });
            let answer = if failed { Feedback::Nack } else { Feedback::Ack };
            self.feedback.push(tti + AIR_TO_FEEDBACK, answer(sent.slot, sent.process));
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
    fn next_free(&self) -> u8 {
        let free =
            (1..=PROCESSES).map(|step| (self.last + step) % PROCESSES).find(|p| self.busy >> p & 1 == 0);
        free.expect("only UEs with a free process are served")
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

//! UEs as the MAC of a cell sees them: assignments and grants in, blocks out.

use super::UeTable;
use super::mac::BlockGrant;
use crate::identity::{CarrierId, CellId, UeId, UeSlot};
use crate::mac::control_elements::{Elements, Headroom};
use crate::mac::sched::Rbgs;
use crate::mac::{Block, Content, Reception, power_control};
use crate::qci::Qci;
use crate::radio::{Air, LinkId};
use crate::trace::{Control, ControlRecord, RadioEvent};
use airwnd_kernel::Direction;
use airwnd_phy::access::Level;
use airwnd_phy::error_model::SoftBits;
use airwnd_phy::{Mcs, Prbs};
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Db, Span, Tti};

/// The UEs of a cell for its MAC, by slot.
///
/// A cell and its UEs agree on DRX and on activated carriers, so the cell reads that state from the UE. RLC of both ends of
/// a bearer stands with the UE: the cell's blocks are filled here as well.
pub(crate) struct MacSide<'a> {
    table: &'a mut UeTable,
    /// Numbers of the UEs, by slot.
    users: &'a [UeId],
}

/// A downlink block on air and its assignment.
pub(crate) struct Assignment {
    pub tti: Tti,
    /// Number of the cell that sends it.
    pub cell: CellId,
    pub carrier: CarrierId,
    /// HARQ process on the carrier.
    pub process: u8,
    /// Aggregation level of its PDCCH.
    pub level: Level,
    pub rbgs: Rbgs,
    /// PRBs of the RBGs.
    pub prbs: Prbs,
}

/// An uplink grant that reaches a UE.
pub(crate) struct Grant<'a> {
    /// TTI in which it arrives.
    pub tti: Tti,
    /// Aggregation level of its PDCCH; `None`: a configured grant.
    pub level: Option<Level>,
    pub prbs: Prbs,
    pub mcs: Mcs,
    /// TPC command.
    pub command: Db,
    pub block: GrantedBlock,
    pub control: &'a power_control::Params,
}

/// The block that a grant is for.
pub(crate) enum GrantedBlock {
    /// A new block, which the UE fills.
    New {
        size: Bytes,
        /// HARQ process.
        process: u8,
    },
    /// A block that the UE has sent before.
    Again { block: Block, elements: Elements },
}

/// Answer of a UE to a grant.
pub(crate) enum Answer {
    /// The UE has not received the grant.
    Lost,
    /// The UE has nothing to send.
    Unused,
    /// The UE sends a block with this power per PRB, in milliwatts.
    Sent { power: f64, block: Block, elements: Elements },
}

impl<'a> MacSide<'a> {
    /// The UEs of these slots.
    pub fn new(table: &'a mut UeTable, users: &'a [UeId]) -> MacSide<'a> {
        MacSide { table, users }
    }

    /// Number of the UE in a slot.
    #[inline]
    pub fn number(&self, slot: UeSlot) -> UeId {
        self.users[slot.index()]
    }

    /// Notes an event of a UE for an observer.
    #[cold]
    pub fn note(&mut self, slot: UeSlot, tti: Tti, event: RadioEvent) {
        self.table.note(tti, self.users[slot.index()], event);
    }

    // State on which cell and UE agree.

    /// Whether UEs have DRX.
    pub fn has_drx(&self) -> bool {
        self.table.has_drx
    }

    /// Whether a UE monitors the PDCCH in a TTI. One that has only reserved a slot may still be elsewhere.
    #[inline]
    pub fn is_active(&self, slot: UeSlot, tti: Tti) -> bool {
        self.table.is_active(self.number(slot), tti)
    }

    /// Number of carriers that a UE aggregates, with the primary one.
    pub fn carriers(&self, slot: UeSlot) -> u8 {
        self.table.ues[self.users[slot.index()]].carriers
    }

    /// Whether a carrier that a UE aggregates can serve it in a TTI.
    #[inline]
    pub fn is_activated(&self, slot: UeSlot, carrier: CarrierId, tti: Tti) -> bool {
        let Some(secondary) = carrier.secondary() else { return true };
        self.table.activation.is_none()
            || self.table.ues[self.users[slot.index()]].secondary[secondary].activation.is_active(tti)
    }

    /// A block on the primary carrier leaves this backlog of a UE.
    pub fn on_primary(&mut self, slot: UeSlot, tti: Tti, left: Bytes) {
        let Some(timing) = &self.table.activation else { return };
        let secondary = self.table.ues[self.users[slot.index()]].secondary.iter_mut();
        secondary.for_each(|carrier| carrier.activation.on_backlog(tti, left, timing));
    }

    /// A carrier has an assignment for a UE.
    #[inline]
    pub fn on_assignment(&mut self, slot: UeSlot, carrier: CarrierId, tti: Tti) {
        if let (Some(secondary), Some(timing)) = (carrier.secondary(), &self.table.activation) {
            let ue = &mut self.table.ues[self.users[slot.index()]];
            ue.secondary[secondary].activation.on_assignment(tti, timing);
        }
    }

    /// An assignment or a grant of a new block reaches a UE in this TTI.
    #[inline]
    pub fn on_new(&mut self, slot: UeSlot, tti: Tti, direction: Direction) {
        if let Some(drx) = self.table.drx(self.users[slot.index()]) {
            drx.on_new(tti, direction);
        }
    }

    /// The retransmission of a HARQ process reaches a UE, or a grant for one.
    #[inline]
    pub fn on_retransmission(&mut self, slot: UeSlot, tti: Tti, direction: Direction, process: u8) {
        if let Some(drx) = self.table.drx(self.users[slot.index()]) {
            drx.on_retransmission(tti, direction, process);
        }
    }

    /// A HARQ process of a UE awaits a retransmission from this TTI on.
    #[inline]
    pub fn await_retransmission(&mut self, slot: UeSlot, tti: Tti, direction: Direction, process: u8) {
        if let Some(drx) = self.table.drx(self.users[slot.index()]) {
            drx.await_retransmission(tti, direction, process);
        }
    }

    // Downlink.

    /// Head-of-line delay of a UE at the eNB at the end of this TTI; one TTI if RLC has less data than the MAC assumes,
    /// so that a grant can resolve it. Of several bearers that with data of the highest priority counts; its class is
    /// returned, too.
    pub fn head_of_line(&self, slot: UeSlot, tti: Tti) -> (Span, Option<Qci>) {
        let bearers = &self.table.ues[self.users[slot.index()]].bearers;
        let (oldest, class) = if bearers.has_several() {
            let waiting =
                bearers.iter().filter_map(|bearer| Some((bearer.downlink.rlc.oldest()?, bearer.qos.qci)));
            waiting.min_by_key(|(_, qci)| qci.priority()).unzip()
        } else {
            (bearers.default.downlink.rlc.oldest(), None)
        };
        let clock = self.table.clock;
        (oldest.map_or(clock.slot(), |arrived| clock.start(tti + 1) - arrived), class)
    }

    /// Fills a downlink block of a HARQ process, which is numbered among those of all carriers.
    pub fn transmit_down(&mut self, slot: UeSlot, tti: Tti, size: Bytes, process: u8) -> Option<Content> {
        self.table.fill(self.users[slot.index()], Direction::Down, tti, size, process, None)
    }

    /// Backlog at the eNB for a UE with several bearers, whose MAC cannot derive it from the sizes of blocks; `None`: the
    /// UE has one bearer.
    #[inline]
    pub fn backlog_of_several(&self, slot: UeSlot, tti: Tti) -> Option<BufferStatus> {
        self.table.ues[self.users[slot.index()]].has_several().then(|| self.waiting_down(slot, tti))
    }

    #[inline(never)]
    fn waiting_down(&self, slot: UeSlot, tti: Tti) -> BufferStatus {
        self.table.ues[self.users[slot.index()]].reported(self.table.clock.start(tti), Direction::Down)
    }

    /// Receives a block at a UE, and adds to its soft bits if it is not decoded.
    #[inline]
    pub fn receive_block(
        &mut self,
        slot: UeSlot,
        assignment: &Assignment,
        block: &mut Block,
        air: &mut Air<'_>,
    ) -> Reception {
        let &Assignment { tti, cell, carrier, process, level, rbgs, prbs } = assignment;
        let number = self.number(slot);
        let ue = self.table.get(number);
        if ue.loses_control(tti, number, carrier, level, air) {
            return Reception::AssignmentLost;
        }
        let draw = ue.downlink.draw(tti, carrier, process);
        let link = LinkId { ue: number, cell };
        let failed = air.receivers.receive_downlink(air.radio, link, rbgs, prbs, block, draw);
        ue.downlink.blocks.count(block, prbs, failed);
        if failed { Reception::Failed } else { Reception::Decoded }
    }

    /// Requests the memory of RLC in a direction of a UE's default bearer, as far as it is apart from the UE.
    #[inline]
    pub fn prefetch_rlc(&self, slot: UeSlot, direction: Direction) {
        self.table.prefetch_rlc(self.users[slot.index()], direction);
    }

    // Uplink.

    /// Passes a grant to a UE.
    #[inline]
    pub fn receive_grant(&mut self, slot: UeSlot, grant: &Grant<'_>, air: &mut Air<'_>) -> Answer {
        let &Grant { tti, level, prbs, mcs, command, ref block, control } = grant;
        let number = self.number(slot);
        let ue = self.table.get(number);
        if level.is_some_and(|level| ue.loses_control(tti, number, CarrierId::PRIMARY, level, air)) {
            return Answer::Lost;
        }
        let loss = air.radio.loss(number);
        if command != Db(0.0) {
            ue.commanded = control.accumulate(ue.commanded, command, prbs, loss);
        }
        let (block, elements) = match *block {
            GrantedBlock::Again { block, elements } => {
                (Block { transmissions: block.transmissions + 1, ..block }, elements)
            }
            GrantedBlock::New { size, process } => {
                let power = Headroom { control, prbs, loss };
                let filled = self.table.transmit_up(number, &BlockGrant { tti, size, process, power });
                let Some((content, elements)) = filled else { return Answer::Unused };
                if self.table.trace.is_on() {
                    self.note_elements(slot, tti, process, elements);
                }
                let soft = SoftBits::default();
                (Block { mcs, rank: 1, size, content, soft, transmissions: 1 }, elements)
            }
        };
        let commanded = self.table.get(number).commanded;
        let power = air.receivers.uplink_power(air.radio, number, prbs, control, commanded);
        Answer::Sent { power, block, elements }
    }

    /// Notes the control elements in a block for an observer.
    #[cold]
    #[inline(never)]
    fn note_elements(&mut self, slot: UeSlot, tti: Tti, process: u8, elements: Elements) {
        let Elements { buffer, headroom } = elements;
        let both = [buffer.map(Control::Buffer), headroom.map(Control::Headroom)];
        for content in both.into_iter().flatten() {
            let process = Some(process);
            self.note(slot, tti, RadioEvent::Control(ControlRecord { content, process }));
        }
    }

    /// A UE has used a configured grant in this TTI.
    pub fn on_configured(&mut self, slot: UeSlot, tti: Tti) {
        let has_reported = !self.table.get(self.users[slot.index()]).reporting.is_due;
        if let Some(drx) = self.table.drx(self.users[slot.index()]).filter(|_| has_reported) {
            drx.on_report(tti);
        }
    }

    /// A number uniform in [0, 1) for the uplink block of a UE in this TTI.
    #[inline]
    pub fn uplink_draw(&mut self, slot: UeSlot, tti: Tti) -> f64 {
        self.table.get(self.users[slot.index()]).uplink.draw(tti, CarrierId::PRIMARY, 0)
    }

    /// Counts a received uplink block of a UE.
    #[inline]
    pub fn count_uplink(&mut self, slot: UeSlot, block: &Block, prbs: Prbs, failed: bool) {
        self.table.get(self.users[slot.index()]).uplink.blocks.count(block, prbs, failed);
    }
}

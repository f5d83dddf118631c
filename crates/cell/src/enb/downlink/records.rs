//! Records of the downlink, for an observer of the radio interface and for the log of allocations.

use super::{Downlink, ON_AIR, OnAir, Process, ProcessId};
use crate::enb::log::{Allocation, Log};
use crate::identity::{CellId, UeSlot};
use crate::mac::Reception;
use crate::mac::sched::Rbgs;
use crate::radio::Air;
use crate::trace::{BlockOutcome, GrantRecord, RadioEvent, Transmission};
use crate::ue::MacSide;
use airwnd_kernel::Direction;
use airwnd_phy::Cqi;
use airwnd_phy::access::{Access, Level};
use airwnd_units::Tti;

impl Downlink {
    /// A transmission for an observer.
    pub(super) fn transmission(&self, OnAir { id, prbs, .. }: OnAir) -> Transmission {
        Transmission::of(self.block(id), Direction::Down, self.carrier, id.process, prbs)
    }

    /// Notes the assignment of a new block, the last one to a UE, for an observer.
    // Values of the decision are looked up again: kept, they would cost a run without observer more than the branch.
    #[cold]
    #[inline(never)]
    pub(super) fn note_new(&self, tti: Tti, slot: UeSlot, air: &Air<'_>, ues: &mut MacSide<'_>) {
        let id = ProcessId { slot, process: self.users[slot.index()].last };
        let Process { block, rbgs } = self.processes[self.index(id)].expect(ON_AIR);
        let sent = OnAir { id, level: Level::OF_8, rbgs, prbs: air.radio.prbs_of(rbgs) };
        let cqi = self.cqi(self.csi.view(slot), rbgs, air.receivers.reports(self.cell));
        self.note_grant(tti, sent, Some(cqi), ues);
        if block.content.is_none() {
            let first = first_prb(&self.access, rbgs);
            let event = RadioEvent::ended(&self.access, self.transmission(sent), first, BlockOutcome::Unused);
            ues.note(slot, tti, event);
        }
    }

    /// Notes an assignment for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_grant(&self, tti: Tti, sent: OnAir, cqi: Option<Cqi>, ues: &mut MacSide<'_>) {
        let grant = GrantRecord {
            transmission: self.transmission(sent),
            on_air: self.access.clock.start(tti + self.access.timing.decision_to_air),
            first: first_prb(&self.access, sent.rbgs),
            rbgs: sent.rbgs.0,
            cqi,
            command: None,
            is_configured: false,
        };
        ues.note(sent.id.slot, tti, RadioEvent::Grant(grant));
    }
}

/// The outcome of a transmission on air.
pub(super) struct ReceivedBlock {
    pub tti: Tti,
    pub cell: CellId,
    pub slot: UeSlot,
    pub rbgs: Rbgs,
    pub transmission: Transmission,
    pub reception: Reception,
}

impl ReceivedBlock {
    /// Notes it for the log and for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&self, access: &Access, log: Option<&mut Log>, ues: &mut MacSide<'_>) {
        let ReceivedBlock { tti, cell, slot, rbgs, transmission, reception } = *self;
        if let Some(log) = log {
            log.note(Allocation {
                tti,
                cell,
                carrier: transmission.carrier,
                ue: ues.number(slot),
                rbgs,
                transmission: transmission.number,
                mcs: transmission.mcs,
                size: transmission.size,
                reception,
            });
        }
        let first = first_prb(access, rbgs);
        ues.note(slot, tti, RadioEvent::ended(access, transmission, first, reception.into()));
    }
}

/// First PRB of a transmission.
fn first_prb(access: &Access, rbgs: Rbgs) -> u16 {
    rbgs.0.trailing_zeros() as u16 * access.rbg_prbs.0
}

//! Records of the uplink, for an observer of the radio interface.

use super::{Grant, Sending, Uplink};
use crate::identity::CarrierId;
use crate::mac::Block;
use crate::trace::{BlockOutcome, GrantRecord, RadioEvent, Transmission};
use crate::ue::MacSide;
use airwnd_kernel::Direction;
use airwnd_phy::Prbs;
use airwnd_phy::error_model::SoftBits;
use airwnd_units::Tti;

impl Uplink {
    /// The transmission of a grant received in this TTI.
    pub(super) fn transmission(&self, received: Tti, grant: &Grant) -> Transmission {
        let prbs = Prbs(grant.prbs);
        let block = match grant.again {
            Some((block, _)) => Block { transmissions: block.transmissions + 1, ..block },
            None => {
                let size = self.access.block(Direction::Up, grant.mcs, prbs);
                let soft = SoftBits::default();
                Block { mcs: grant.mcs, rank: 1, size, content: None, soft, transmissions: 1 }
            }
        };
        let process = self.process_at(received, grant.process);
        Transmission::of(&block, Direction::Up, CarrierId::PRIMARY, process, prbs)
    }

    /// Notes the last grant that reaches UEs in a TTI for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_last_grant(&self, tti: Tti, received: Tti, ues: &mut MacSide<'_>) {
        if let Some(grant) = self.grants.at(received).last() {
            self.note_grant(tti, received, grant, ues);
        }
    }

    /// Notes a grant for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_grant(&self, tti: Tti, received: Tti, grant: &Grant, ues: &mut MacSide<'_>) {
        let record = GrantRecord {
            transmission: self.transmission(received, grant),
            on_air: self.access.clock.start(received + grant.to_air),
            first: grant.first,
            rbgs: 0,
            cqi: None,
            command: grant.again.is_none().then_some(grant.command),
            is_configured: grant.level.is_none(),
        };
        ues.note(grant.slot, tti, RadioEvent::Grant(record));
    }

    /// Notes a grant for which nothing is sent for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_unsent(&self, tti: Tti, grant: &Grant, outcome: BlockOutcome, ues: &mut MacSide<'_>) {
        let sent = self.transmission(tti, grant);
        let record = RadioEvent::ended(&self.access, sent, grant.first, outcome);
        ues.note(grant.slot, tti, record);
    }

    /// Notes the end of a transmission on air for an observer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_received(&self, tti: Tti, sending: &Sending, failed: bool, ues: &mut MacSide<'_>) {
        // In a synchronous uplink, whose slots are equal, the time tells the process.
        let to_air = self.access.timing.slot(tti).grants.first().copied().unwrap_or(0);
        let process = self.process_at(Tti(tti.0.saturating_sub(to_air)), sending.process);
        let (direction, prbs) = (Direction::Up, Prbs(sending.signal.prbs));
        let sent = Transmission::of(&sending.block, direction, CarrierId::PRIMARY, process, prbs);
        let outcome = if failed { BlockOutcome::Failed } else { BlockOutcome::Decoded };
        ues.note(sending.slot, tti, RadioEvent::ended(&self.access, sent, sending.signal.first, outcome));
    }
}

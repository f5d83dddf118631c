//! Records of SDUs for an observer.

use super::bearers::LegId;
use super::events::EventLog;
use crate::identity::{BearerId, CellId};
use crate::trace::{RadioEvent, RadioRecord, SduEvent, SduRecord, Tracer};
use airwnd_rlc::Sdu;
use airwnd_units::Time;

/// Notes the SDUs of a direction of a bearer for an observer.
pub(crate) struct SduTracer<'a> {
    pub tracer: &'a mut Tracer,
    pub now: Time,
    /// Cell of the UE.
    pub cell: CellId,
    pub leg: LegId,
}

impl SduTracer<'_> {
    /// Notes an event of an SDU, if there is an observer.
    #[inline]
    pub fn note(&mut self, sdu: &Sdu, event: SduEvent) {
        if self.tracer.is_on() {
            self.note_observed(sdu, event);
        }
    }

    /// Notes the SDUs that the bearer has dropped since the last call, if there is an observer.
    #[inline]
    pub fn note_drops(&mut self, log: &mut EventLog) {
        if let Some(untraced) = &mut log.untraced {
            for (sdu, cause) in untraced.drain(..) {
                self.note_observed(&sdu, SduEvent::Dropped(cause));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn note_observed(&mut self, sdu: &Sdu, event: SduEvent) {
        let LegId { ue, bearer, direction } = self.leg;
        let &Sdu { packet, size, arrived, .. } = sdu;
        let (bearer, waited) = (BearerId(bearer), self.now.since(arrived));
        let event = RadioEvent::Sdu(SduRecord { direction, bearer, packet, size, waited, event });
        self.tracer.note(RadioRecord { at: self.now, ue, cell: self.cell, event });
    }
}

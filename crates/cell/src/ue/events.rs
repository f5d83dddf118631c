//! Packets that leave the radio link, and marks on the way.

use super::bearers::LegId;
use crate::identity::{BearerId, CellId, UeId};
use crate::trace::{RadioEvent, RadioRecord, SduEvent, SduRecord, Tracer};
use airwnd_kernel::{Direction, Key};
use airwnd_rlc::{BearerEvents, DropCause, Sdu};
use airwnd_units::Time;

/// A packet that has crossed the radio link.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// UE of the bearer.
    pub ue: UeId,
    /// Direction of the packet.
    pub direction: Direction,
    /// The packet.
    pub packet: Key,
}

/// A packet that was dropped on the radio link.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Key,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// Drops and marks until the caller drains them.
pub(crate) struct EventLog {
    pub drops: Vec<Dropped>,
    pub marks: Vec<Key>,
    /// Dropped SDUs that a tracer has not noted; `None`: there is no observer.
    untraced: Option<Vec<(Sdu, DropCause)>>,
}

impl EventLog {
    /// A log with space for the events of a usual TTI.
    pub fn new() -> EventLog {
        EventLog { drops: Vec::with_capacity(256), marks: Vec::with_capacity(256), untraced: None }
    }

    /// Keeps the dropped SDUs for [`SduTracer::note_drops`].
    pub fn observe(&mut self) {
        self.untraced = Some(Vec::new());
    }

    /// Moves the events of another log to the end of this one.
    #[inline]
    pub fn append(&mut self, other: &mut EventLog) {
        // Mostly there are none.
        if !(other.drops.is_empty() && other.marks.is_empty()) {
            self.drops.append(&mut other.drops);
            self.marks.append(&mut other.marks);
        }
    }
}

impl BearerEvents for EventLog {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        if let Some(untraced) = &mut self.untraced {
            untraced.push((sdu, cause));
        }
        self.drops.push(Dropped { packet: sdu.packet, cause });
    }
    fn marked(&mut self, packet: Key) {
        self.marks.push(packet);
    }
}

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

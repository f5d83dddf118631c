//! Packets that leave the radio link, and marks on the way.

use crate::identity::UeId;
use airwnd_kernel::{Direction, Key};
use airwnd_rlc::{BearerEvents, DropCause, Sdu};

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
    pub(super) untraced: Option<Vec<(Sdu, DropCause)>>,
}

impl EventLog {
    /// A log with space for the events of a usual TTI.
    pub fn new() -> EventLog {
        EventLog { drops: Vec::with_capacity(256), marks: Vec::with_capacity(256), untraced: None }
    }

    /// Keeps the dropped SDUs for a tracer.
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

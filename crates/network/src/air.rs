//! The radio access network at work: when its TTIs are due, and what they do to packets.

use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::legs::Legs;
use crate::topology::{Access, LinkId};
use airwnd_cell::handover::Forwarding;
use airwnd_cell::{Arrival, Dropped, Forward, Notice, Ran, UeId};
use airwnd_kernel::EventQueue;
use airwnd_units::{Time, Tti};

type Queue = EventQueue<NetworkEvent>;

/// The cells, the links to and between them, and the pace of their TTIs.
pub(crate) struct Air {
    pub ran: Box<Ran>,
    s1u: Vec<LinkId>,
    x2: Option<Vec<LinkId>>,
    pub forwarding: Forwarding,
    /// By device.
    pub legs: Vec<Legs>,
    /// The last TTI that was handled, and whether the next one is scheduled.
    last_tti: Option<Tti>,
    tti_is_scheduled: bool,
    /// Packets that have crossed the radio, until they go on.
    pub arrivals: Vec<Arrival>,
    // Kept for their capacity.
    drops: Vec<Dropped>,
    pub forwards: Vec<Forward>,
    pub notices: Vec<Notice>,
}

impl Air {
    pub fn new(access: Access, legs: Vec<Legs>) -> Air {
        Air {
            ran: access.ran,
            s1u: access.s1u,
            x2: access.x2,
            forwarding: access.forwarding,
            legs,
            last_tti: None,
            tti_is_scheduled: false,
            arrivals: Vec::with_capacity(256),
            drops: Vec::with_capacity(256),
            forwards: Vec::with_capacity(64),
            notices: Vec::with_capacity(16),
        }
    }

    /// The number of the cell that serves a device.
    pub fn serving_cell(&self, device: u32) -> u16 {
        self.ran.cell_of(UeId(device)).0
    }

    /// Whether UEs may change cells.
    pub fn may_hand_over(&self) -> bool {
        self.x2.is_some()
    }

    pub fn s1u(&self, cell: u16) -> LinkId {
        self.s1u[usize::from(cell)]
    }

    /// The link from a cell to the others.
    pub fn x2(&self, cell: u16) -> LinkId {
        self.x2.as_ref().expect("UEs change cells")[usize::from(cell)]
    }

    /// Whether a link is an X2 link; their numbers are consecutive, as [`Topology::set_access`] checks.
    ///
    /// [`Topology::set_access`]: crate::Topology::set_access
    pub fn is_x2(&self, link: LinkId) -> bool {
        match self.x2.as_deref() {
            Some([first, .., last]) => (first.0..=last.0).contains(&link.0),
            Some([only]) => link == *only,
            Some([]) | None => false,
        }
    }

    /// Schedules the next TTI unless the cells have nothing to do: idle cells sleep.
    pub fn wake(&mut self, now: Time, queue: &mut Queue) {
        if self.tti_is_scheduled || self.ran.is_idle() {
            return;
        }
        let soonest = now.0.div_ceil(Tti::SPAN.0);
        let next = self.last_tti.map_or(soonest, |last| soonest.max(last.0 + 1));
        queue.schedule(Tti(next).start(), NetworkEvent::Tti);
        self.tti_is_scheduled = true;
    }

    /// The end of a TTI and the start of the next: `arrivals` holds what has crossed the downlink.
    pub fn receive(&mut self, now: Time) {
        self.tti_is_scheduled = false;
        let tti = Tti(now.0 / Tti::SPAN.0);
        self.last_tti = Some(tti);
        self.ran.receive(tti);
        self.ran.take_arrivals(&mut self.arrivals);
    }

    /// The rest of the TTI, once its arrivals have acted: reports, decisions, and what is on air.
    pub fn transmit(&mut self, queue: &mut Queue) {
        let tti = self.last_tti.expect("`receive` comes before");
        self.ran.transmit(tti);
        if let Some(at) = self.ran.uplink_ends(tti) {
            queue.schedule(at, NetworkEvent::UplinkEnd);
        }
    }

    /// Uplink blocks end before their TTI does: `arrivals` holds what they bring.
    pub fn receive_uplink(&mut self, now: Time) {
        self.ran.receive_uplink(now);
        self.ran.take_arrivals(&mut self.arrivals);
    }

    /// UEs have moved: `forwards` and `notices` hold what follows from it.
    pub fn move_ues(&mut self, now: Time) {
        self.ran.advance(now);
        self.ran.take_forwards(&mut self.forwards);
        self.ran.take_notices(&mut self.notices);
    }

    /// Schedules the next step of mobility.
    pub fn watch_mobility(&self, queue: &mut Queue) {
        if let Some(at) = self.ran.next_event() {
            queue.schedule(at, NetworkEvent::Mobility);
        }
    }

    /// Collects marks and drops of the cells.
    pub fn collect(&mut self, effects: &mut Effects) {
        self.ran.take_marks(&mut effects.marks);
        self.ran.take_drops(&mut self.drops);
        effects.drops.extend(self.drops.iter().map(|drop| (drop.packet, drop.cause.into())));
    }
}

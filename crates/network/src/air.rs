//! The radio access network as part of the network: schedules its TTIs and passes packets to and from it.

use crate::bearers::Bearers;
use crate::effects::Effects;
use crate::event::NetworkEvent;
use crate::legs::Legs;
use crate::topology::{Access, LinkId};
use airwnd_cell::handover::Forwarding;
use airwnd_cell::trace::RadioRecord;
use airwnd_cell::{Arrival, Dropped, Forward, Notice, Ran, UeId};
use airwnd_kernel::EventQueue;
use airwnd_units::{Span, Time, Tti};
use std::collections::VecDeque;
use std::ops::Range;

type Queue = EventQueue<NetworkEvent>;

/// The cells, their S1-U and X2 links, and the TTI schedule.
pub(crate) struct Air {
    pub ran: Box<Ran>,
    pub bearers: Bearers,
    s1u: Vec<LinkId>,
    /// Numbers of the X2 links, which are consecutive, as [`Topology::set_access`] checks.
    ///
    /// [`Topology::set_access`]: crate::Topology::set_access
    x2: Option<Range<u32>>,
    pub forwarding: Forwarding,
    /// Handover legs, by device.
    pub legs: Vec<Legs>,
    /// The last TTI handled.
    last_tti: Option<Tti>,
    tti_is_scheduled: bool,
    /// Packets that have crossed the radio and await the rest of their route.
    pub arrivals: Vec<Arrival>,
    /// From the end of a block until its packets leave the receiver.
    decoding: Span,
    /// Packets of blocks whose decoding ends at these times.
    undecoded: VecDeque<(Time, Arrival)>,
    // Buffers kept for their capacity.
    drops: Vec<Dropped>,
    pub forwards: Vec<Forward>,
    pub notices: Vec<Notice>,
    /// Whether the cells keep records of the radio interface.
    pub is_observed: bool,
    pub records: Vec<RadioRecord>,
}

impl Air {
    pub fn new(access: Access, legs: Vec<Legs>) -> Air {
        Air {
            decoding: access.ran.decoding(),
            is_observed: access.ran.is_observed(),
            records: Vec::new(),
            undecoded: VecDeque::with_capacity(256),
            bearers: Bearers::new(&access.ran),
            ran: access.ran,
            s1u: access.s1u,
            x2: access.x2.map(|links| {
                let first = links.first().map_or(0, |link| link.0);
                first..first + links.len() as u32
            }),
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

    /// Returns the number of the cell that serves a device.
    pub fn serving_cell(&self, device: u32) -> u16 {
        self.ran.cell_of(UeId(device)).0
    }

    /// Returns true if UEs may change cells.
    pub fn may_hand_over(&self) -> bool {
        self.x2.is_some()
    }

    pub fn s1u(&self, cell: u16) -> LinkId {
        self.s1u[usize::from(cell)]
    }

    /// Returns the X2 link from a cell to the other cells.
    pub fn x2(&self, cell: u16) -> LinkId {
        LinkId(self.x2.as_ref().expect("UEs change cells").start + u32::from(cell))
    }

    /// Returns true for an X2 link.
    pub fn is_x2(&self, link: LinkId) -> bool {
        self.x2.as_ref().is_some_and(|links| links.contains(&link.0))
    }

    /// Returns the number of packets whose decoding has not ended.
    pub fn undecoded(&self) -> usize {
        self.undecoded.len()
    }

    /// Schedules the next TTI unless the cells are idle.
    pub fn wake(&mut self, now: Time, queue: &mut Queue) {
        if self.tti_is_scheduled || self.ran.is_idle() {
            return;
        }
        let clock = self.ran.clock();
        let soonest = clock.from(now);
        let next = self.last_tti.map_or(soonest, |last| soonest.max(last + 1));
        queue.schedule(clock.start(next), NetworkEvent::Tti);
        self.tti_is_scheduled = true;
    }

    /// Ends a TTI and starts the next: stores in `arrivals` the packets that have crossed the downlink.
    pub fn receive(&mut self, now: Time, queue: &mut Queue) {
        self.tti_is_scheduled = false;
        let tti = self.ran.clock().at(now);
        self.last_tti = Some(tti);
        self.ran.receive(tti);
        self.take_arrivals(now, queue);
    }

    /// Completes the TTI after its arrivals have taken effect: measurement reports, scheduling decisions and
    /// transmissions.
    pub fn transmit(&mut self, queue: &mut Queue) {
        let tti = self.last_tti.expect("`receive` comes before");
        self.ran.transmit(tti);
        if let Some(at) = self.ran.uplink_ends(tti) {
            queue.schedule(at, NetworkEvent::UplinkEnd);
        }
    }

    /// Stores in `arrivals` the packets of the uplink blocks, which end before their TTI does.
    pub fn receive_uplink(&mut self, now: Time, queue: &mut Queue) {
        self.ran.receive_uplink(now);
        self.take_arrivals(now, queue);
    }

    /// Stores in `arrivals` the packets that RLC has delivered, or later if decoding takes time.
    fn take_arrivals(&mut self, now: Time, queue: &mut Queue) {
        self.ran.take_arrivals(&mut self.arrivals);
        if self.decoding > Span::ZERO && !self.arrivals.is_empty() {
            let at = now + self.decoding;
            self.undecoded.extend(self.arrivals.drain(..).map(|arrival| (at, arrival)));
            queue.schedule(at, NetworkEvent::Decoded);
        }
    }

    /// Stores in `arrivals` the packets whose decoding ends.
    pub fn decode(&mut self, now: Time) {
        self.arrivals.clear();
        let due = self.undecoded.partition_point(|(at, _)| *at <= now);
        self.arrivals.extend(self.undecoded.drain(..due).map(|(_, arrival)| arrival));
    }

    /// Moves the UEs; stores the resulting packets to forward in `forwards` and mobility events in `notices`.
    pub fn move_ues(&mut self, now: Time) {
        self.ran.advance(now);
        self.ran.take_forwards(&mut self.forwards);
        self.ran.take_notices(&mut self.notices);
    }

    /// Schedules the next mobility step.
    pub fn watch_mobility(&self, queue: &mut Queue) {
        if let Some(at) = self.ran.next_event() {
            queue.schedule(at, NetworkEvent::Mobility);
        }
    }

    /// Collects the cells' marks and drops.
    #[inline]
    pub fn collect(&mut self, effects: &mut Effects) {
        if !self.ran.has_events() {
            return;
        }
        self.ran.take_marks(&mut effects.marks);
        self.ran.take_drops(&mut self.drops);
        effects.drops.extend(self.drops.iter().map(|drop| (drop.packet, drop.cause.into())));
    }
}

//! RLC of the UEs' bearers at both ends: packets in and out, and reports to the MAC.

use super::bearers::{Bearers, Leg, LegId, RadioBearer};
use super::events::{Arrival, EventLog};
use super::sdu_tracer::SduTracer;
use super::timers::Timers;
use super::{Ue, UeTable};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::Content;
use crate::trace::SduEvent;
use airwnd_kernel::Direction;
use airwnd_rlc::{BufferStatus, Sdu};
use airwnd_units::{Bytes, SlotClock, Time, Tti};

/// A receiver of the SDUs that a direction of a bearer delivers.
pub(super) fn arrive(arrivals: &mut Vec<Arrival>, traced: &mut SduTracer<'_>) -> impl FnMut(Sdu) {
    let LegId { ue, direction, .. } = traced.leg;
    move |sdu| {
        arrivals.push(Arrival { ue, direction, packet: sdu.packet });
        traced.note(&sdu, SduEvent::Delivered);
    }
}

/// A report of RLC at the eNB to the MAC of the cell that serves the UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DownlinkReport {
    pub cell: CellId,
    pub slot: UeSlot,
    /// Number of carriers that the UE aggregates.
    pub carriers: u8,
    pub waiting: BufferStatus,
}

impl Ue {
    /// A report to the MAC of the UE's cell; `None`: the cell cannot schedule the UE.
    #[inline]
    fn downlink_report(&self, waiting: BufferStatus) -> Option<DownlinkReport> {
        let Ue { cell, slot, carriers, .. } = *self;
        self.joined.then_some(DownlinkReport { cell, slot, carriers, waiting })
    }
}

impl Leg {
    /// Restarts the timer of buffer reports after an arrival, which is reported at once. In acknowledged mode it is
    /// reported again after a period, in unacknowledged mode only after a transmission opportunity.
    #[inline]
    fn time_report(&mut self, now: Time, id: LegId, timers: &mut [Timers<LegId>; 2], clock: SlotClock) {
        let [unacknowledged, acknowledged] = timers;
        if self.rlc.is_acknowledged() {
            acknowledged.arm(clock.from(now), id, &mut self.report_at);
        } else {
            unacknowledged.disarm(&mut self.report_at);
        }
    }
}

impl UeTable {
    /// Enqueues a packet in a bearer, and reports it to the MAC. Returns the report to that of the eNB.
    #[inline]
    pub fn enqueue(&mut self, packet: Sdu, id: LegId, events: &mut EventLog) -> Option<DownlinkReport> {
        let now = packet.arrived;
        let UeTable { ues, report_timers, clock, fresh, trace, .. } = self;
        let ue = &mut ues[id.ue];
        let mut traced = SduTracer { tracer: trace, now, cell: ue.cell, leg: id };
        let leg = ue.leg(id.bearer, id.direction);
        traced.note(&Sdu { size: packet.size + leg.rlc.pdcp_header(), ..packet }, SduEvent::Arrived);
        leg.rlc.enqueue(packet, events);
        traced.note_drops(events);
        leg.time_report(now, id, report_timers, *clock);
        let waiting = ue.reported(now, id.direction);
        match id.direction {
            Direction::Down => ue.downlink_report(waiting),
            Direction::Up => {
                ue.on_uplink_report(now, id.ue, waiting, fresh);
                None
            }
        }
    }

    /// Reports the buffer status of a direction to the UE's MAC, or returns the report to that of the eNB.
    fn report(&mut self, now: Time, number: UeId, direction: Direction) -> Option<DownlinkReport> {
        let ue = &self.ues[number];
        let waiting = ue.reported(now, direction);
        match direction {
            Direction::Down => ue.downlink_report(waiting),
            Direction::Up => {
                self.on_uplink_report(now, number, waiting);
                None
            }
        }
    }

    /// Reports the buffer status of all bearers of a UE after a change of its cell or of its RLC. Returns the report to the
    /// MAC of the eNB.
    pub fn report_all(&mut self, now: Time, number: UeId) -> Option<DownlinkReport> {
        let mut down = None;
        for direction in Direction::BOTH {
            for bearer in 0..self.get(number).bearers.count() {
                let id = LegId { ue: number, bearer, direction };
                let UeTable { ues, report_timers, clock, .. } = self;
                ues[number].leg(bearer, direction).time_report(now, id, report_timers, *clock);
            }
            down = down.or(self.report(now, number, direction));
        }
        down
    }

    /// Repeats the buffer reports that are due. Passes those to the MAC of an eNB to `down`.
    pub fn repeat_rlc_reports(&mut self, tti: Tti, mut down: impl FnMut(DownlinkReport)) {
        let now = self.clock.start(tti);
        for mode in 0..self.report_timers.len() {
            if !self.report_timers[mode].has_entries(tti) {
                continue;
            }
            let due = self.report_timers[mode].take(tti);
            for &id in &due {
                // Entries of UEs that have left stay behind.
                let Some(ue) = self.ues.find(id.ue) else { continue };
                let bearer = &mut ue.bearers[id.bearer];
                if bearer.leg(id.direction).report_at != Some(tti) {
                    continue;
                }
                // ns-3 reports nothing for an empty bearer, so its cell may count PDUs as unacknowledged indefinitely.
                let waiting = bearer.reported(now, id.direction);
                let leg = bearer.leg_mut(id.direction);
                if waiting.again + waiting.new > Bytes::ZERO {
                    self.report_timers[mode].arm(tti, id, &mut leg.report_at);
                } else {
                    self.report_timers[mode].disarm(&mut leg.report_at);
                }
                let all = if ue.has_several() { ue.reported(now, id.direction) } else { waiting };
                match id.direction {
                    Direction::Down => ue.downlink_report(all).into_iter().for_each(&mut down),
                    Direction::Up => self.on_uplink_report(now, id.ue, all),
                }
            }
            self.report_timers[mode].put_back(tti, due);
        }
    }

    /// Delivers the decoded block of a direction to RLC. Returns the report to the MAC of the eNB that follows, if any.
    pub fn receive(
        &mut self,
        now: Time,
        number: UeId,
        direction: Direction,
        content: Content,
    ) -> Option<DownlinkReport> {
        let UeTable { ues, events, arrivals, trace, .. } = self;
        let ue = &mut ues[number];
        let leg = LegId { ue: number, bearer: 0, direction };
        let mut traced = SduTracer { tracer: trace, now, cell: ue.cell, leg };
        match content {
            Content::One(content) => {
                let (leg, other) = ue.legs(0, direction);
                leg.rlc.receive(now, content, &mut other.rlc, &mut arrive(arrivals, &mut traced), events);
                traced.note_drops(events);
            }
            Content::Several(process) => ue.receive_several(process, arrivals, traced, events),
        }
        self.follow(now, number)
    }

    /// Handles expired timers. Passes the reports to the MAC of an eNB that follow to `down`.
    pub fn expire(&mut self, now: Time, mut down: impl FnMut(DownlinkReport)) {
        for index in 0..self.timed.len() {
            let id @ LegId { ue, bearer, direction } = self.timed.get(index);
            let UeTable { ues, events, arrivals, trace, .. } = self;
            let cell = ues[ue].cell;
            let leg = ues[ue].leg(bearer, direction);
            if leg.rlc.deadline().is_some_and(|deadline| deadline <= now) {
                let mut traced = SduTracer { tracer: trace, now, cell, leg: id };
                leg.rlc.expire(now, &mut arrive(arrivals, &mut traced), events);
                traced.note_drops(events);
                self.follow(now, ue).into_iter().for_each(&mut down);
            }
        }
        let UeTable { ues, timed, .. } = self;
        timed.retain(|id| ues[id.ue].leg(id.bearer, id.direction).update_timed());
    }

    /// Handles the consequences of received PDUs or expired timers of a UE's bearers. Returns the report to the MAC of the
    /// eNB, if there is one.
    fn follow(&mut self, now: Time, number: UeId) -> Option<DownlinkReport> {
        let UeTable { ues, timed, rules, .. } = self;
        let ue = &mut ues[number];
        let Bearers { default, dedicated } = &mut ue.bearers;
        if dedicated.is_empty() && !default.downlink.rlc.is_acknowledged() {
            // In unacknowledged mode only the timer of reordering follows.
            for direction in Direction::BOTH {
                timed.watch(LegId { ue: number, bearer: 0, direction }, default.leg_mut(direction));
            }
            rules.on_discard(ue, now);
            return None;
        }
        let mut pending = [false; 2];
        let mut look = |bearer, radio_bearer: &mut RadioBearer| {
            for direction in Direction::BOTH {
                let (leg, other) = radio_bearer.legs(direction);
                timed.watch(LegId { ue: number, bearer, direction }, leg);
                pending[direction as usize] |= leg.rlc.take_pending_report(&mut other.rlc);
            }
        };
        look(0, default);
        (1..).zip(dedicated).for_each(|(bearer, radio_bearer)| look(bearer, radio_bearer));
        let mut down = None;
        for direction in Direction::BOTH {
            if pending[direction as usize] {
                down = down.or(self.report(now, number, direction));
            }
        }
        let rules = self.rules;
        let ue = self.get(number);
        rules.on_discard(ue, now);
        if ue.has_failed() && !self.failed.contains(&number) {
            self.failed.push(number);
        }
        down
    }
}

//! Multiplexing of a UE's bearers in transport blocks.

use super::bearers::LegId;
use super::events::{Arrival, EventLog};
use super::rlc::arrive;
use super::sdu_tracer::SduTracer;
use super::{Ue, UeTable};
use crate::identity::{BearerId, CarrierId, UeId};
use crate::mac::Content;
use crate::mac::prioritization::{Channel, data_in, divide};
use crate::settings::BearerSetup;
use crate::trace::{PduRecord, RadioEvent, RadioRecord};
use airwnd_kernel::Direction;
use airwnd_rlc::{BufferStatus, Protocol, Sdu};
use airwnd_units::{Bytes, Time, Tti};

impl Ue {
    /// Passes the PDUs in the decoded block of a HARQ process to their bearers.
    // A closure as a trait object: with the type of the caller's, RLC would be compiled once for both, and a UE with one
    // bearer would pay a call for each block.
    pub fn receive_several(
        &mut self,
        process: u8,
        arrivals: &mut Vec<Arrival>,
        mut traced: SduTracer<'_>,
        events: &mut EventLog,
    ) {
        let (now, direction) = (traced.now, traced.leg.direction);
        let mut parts = std::mem::take(&mut self.harq(direction).parts[usize::from(process)]);
        for (bearer, content) in parts.drain(..) {
            traced.leg.bearer = bearer;
            let (leg, other) = self.legs(bearer, direction);
            {
                let mut deliver: &mut dyn FnMut(Sdu) = &mut arrive(arrivals, &mut traced);
                leg.rlc.receive(now, content, &mut other.rlc, &mut deliver, events);
            }
            traced.note_drops(events);
        }
        self.harq(direction).parts[usize::from(process)] = parts;
    }

    /// Discards the PDUs in the blocks of all HARQ processes.
    pub fn clear_parts(&mut self) {
        for direction in [Direction::Down, Direction::Up] {
            self.harq(direction).parts.iter_mut().for_each(Vec::clear);
        }
    }

    /// Lists its bearers with data to send in a direction in descending order of priority; of equal priority, that is
    /// first which has waited longest to be so. Returns their number.
    //= TS 36.321 §5.4.3.1
    fn compete(
        &mut self,
        now: Time,
        tti: Tti,
        direction: Direction,
        channels: &mut [Channel; BearerSetup::MAX],
    ) -> usize {
        let mut count = 0;
        for (number, bearer) in (0..).zip(self.bearers.iter_mut()) {
            let waiting = bearer.reported(now, direction).total();
            let leg = bearer.leg_mut(direction);
            leg.bucket.fill(now);
            if waiting > Bytes::ZERO {
                let backlog = leg.rlc.backlog();
                // Queue disciplines do not state the size of the next SDU: the mean is taken, with the longer header.
                let mean = |packets| Bytes(backlog.bytes.0.div_ceil(packets)) + leg.rlc.longest_headers();
                let next_sdu = if backlog.packets > 0 { mean(backlog.packets) } else { waiting };
                let tokens = leg.bucket.tokens();
                channels[count] = Channel { bearer: number, waiting, next_sdu, tokens, ..Channel::default() };
                count += 1;
            }
        }
        channels[..count].sort_unstable_by_key(|channel| {
            let bearer = &self.bearers[channel.bearer];
            (bearer.qos.qci.priority(), bearer.leg(direction).first_at, channel.bearer)
        });
        let mut before = None;
        for channel in &channels[..count] {
            let bearer = &mut self.bearers[channel.bearer];
            let priority = Some(bearer.qos.qci.priority());
            if std::mem::replace(&mut before, priority) != priority {
                bearer.leg_mut(direction).first_at = Some(tti);
            }
        }
        count
    }
}

impl UeTable {
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        number: UeId,
        direction: Direction,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        if self.ues[number].has_several() {
            return self.fill_by_priority(number, direction, tti, size, process);
        }
        let id = LegId { ue: number, bearer: 0, direction };
        if self.trace.is_on() {
            return self.fill_traced(id, tti, size, process, reported);
        }
        self.fill_from(id, tti, size, process, reported)
    }

    /// Fills a block from one bearer.
    #[inline(never)]
    fn fill_from(
        &mut self,
        id: LegId,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        let now = self.clock.start(tti);
        let (leg, other) = self.ues[id.ue].bearers[id.bearer].legs(id.direction);
        let content = leg.rlc.transmit(now, size, process, &mut other.rlc, reported, &mut self.events);
        if leg.rlc.is_acknowledged() {
            self.timed.watch(id, leg);
        } else if leg.rlc.backlog().bytes > Bytes::ZERO {
            // The rest is reported one period after a transmission opportunity.
            self.report_timers[leg.timers()].arm(tti, id, &mut leg.report_at);
        } else {
            self.report_timers[leg.timers()].disarm(&mut leg.report_at);
        }
        content.map(Content::One)
    }

    /// Fills a block from one bearer, and notes its PDUs for an observer.
    #[cold]
    #[inline(never)]
    fn fill_traced(
        &mut self,
        id: LegId,
        tti: Tti,
        size: Bytes,
        process: u8,
        reported: Option<BufferStatus>,
    ) -> Option<Content> {
        let mark = self.ues[id.ue].leg(id.bearer, id.direction).rlc.mark();
        let content = self.fill_from(id, tti, size, process, reported);
        let UeTable { ues, trace, access, clock, events, .. } = self;
        let (processes, now) = (access.timing.processes, clock.start(tti));
        let ue = &ues[id.ue];
        SduTracer { tracer: trace, now, cell: ue.cell, leg: id }.note_drops(events);
        let Some(Content::One(pdus)) = content else { return content };
        let leg = ue.bearers[id.bearer].leg(id.direction);
        let (queue, cell) = (leg.rlc.backlog().bytes, ue.cell);
        leg.rlc.trace(pdus, mark, &mut |pdu| {
            let (direction, bearer) = (id.direction, BearerId(id.bearer));
            let (carrier, process) = (CarrierId(process / processes), process % processes);
            let event = RadioEvent::Pdu(PduRecord { direction, bearer, carrier, process, pdu, queue });
            trace.note(RadioRecord { at: now, ue: id.ue, cell, event });
        });
        content
    }

    /// Fills a block from several bearers.
    //= TS 36.321 §5.4.3.1
    //= exception no-mac-headers: subheaders count where bearers share a block
    #[inline(never)]
    fn fill_by_priority(
        &mut self,
        number: UeId,
        direction: Direction,
        tti: Tti,
        size: Bytes,
        process: u8,
    ) -> Option<Content> {
        let now = self.clock.start(tti);
        let ue = &mut self.ues[number];
        let mut channels = [Channel::default(); BearerSetup::MAX];
        let count = ue.compete(now, tti, direction, &mut channels);
        let channels = &mut channels[..count];
        divide(size, channels);
        let mut with_part = channels.iter_mut().filter(|channel| channel.part > Bytes::ZERO);
        let only = with_part.next();
        let is_shared = with_part.next().is_some();
        if let Some(only) = only.filter(|_| !is_shared) {
            only.part = size;
        }
        let mut parts = std::mem::take(&mut ue.harq(direction).parts[usize::from(process)]);
        parts.clear();
        // The part that a bearer leaves, because its queue has dropped packets, goes to the next one.
        let mut spare = Bytes::ZERO;
        for channel in channels {
            let part = channel.part + spare;
            let protocol = self.ues[number].bearers[channel.bearer].leg(direction).rlc.protocol();
            // NR's PDUs have their subheaders already.
            let needs_header = protocol == Protocol::Lte && (is_shared || !parts.is_empty());
            let room = if needs_header { data_in(part) } else { part };
            if room == Bytes::ZERO {
                continue;
            }
            let bearer = &self.ues[number].bearers[channel.bearer];
            let reported = (direction == Direction::Up).then(|| bearer.reported(now, direction));
            let before = bearer.leg(direction).rlc.backlog().packets;
            let id = LegId { ue: number, bearer: channel.bearer, direction };
            let content = if self.trace.is_on() {
                self.fill_traced(id, tti, room, process, reported)
            } else {
                self.fill_from(id, tti, room, process, reported)
            };
            let leg = self.ues[number].bearers[channel.bearer].leg_mut(direction);
            spare = match content {
                Some(Content::One(content)) => {
                    parts.push((channel.bearer, content));
                    leg.bucket.take(channel.prioritized);
                    let left = before - leg.rlc.backlog().packets;
                    part.saturating_sub(leg.rlc.transmitted(content, left) + (part - room))
                }
                _ => part,
            };
        }
        let is_filled = !parts.is_empty();
        self.ues[number].harq(direction).parts[usize::from(process)] = parts;
        is_filled.then_some(Content::Several(process))
    }
}

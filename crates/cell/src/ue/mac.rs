//! The MAC of a UE: grants, scheduling requests and buffer status reports.

use super::reports::ELEMENT;
use super::{Ue, UeTable};
use crate::identity::{CellId, UeId, UeSlot};
use crate::mac::Content;
use crate::mac::control_elements::{Elements, Headroom};
use airwnd_kernel::Direction;
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Db, Time, Tti};

/// A UE's signal to its cell outside of blocks.
pub(crate) struct Signal {
    pub cell: CellId,
    pub slot: UeSlot,
    pub content: SignalContent,
}

/// Content of a signal.
pub(crate) enum SignalContent {
    /// Scheduling request.
    Request,
    /// Uplink backlog of all bearers, if reports are ideal.
    Report(Bytes),
}

/// A grant for a new transport block in the uplink, which a UE fills.
pub(super) struct BlockGrant<'a> {
    /// TTI on air.
    pub tti: Tti,
    /// Size of the transport block.
    pub size: Bytes,
    /// HARQ process.
    pub process: u8,
    /// Inputs of the power headroom.
    pub power: Headroom<'a>,
}

impl UeTable {
    /// Whether UEs request grants and report within blocks.
    pub fn request_grants(&self) -> bool {
        self.periodic_report.is_some()
    }

    /// Period in TTIs of the opportunities for scheduling requests.
    pub fn request_period(&self) -> u64 {
        self.request_period
    }

    /// Fills a grant of a UE; `None` if it has no data and leaves the grant unused.
    pub(super) fn transmit_up(
        &mut self,
        number: UeId,
        grant: &BlockGrant<'_>,
    ) -> Option<(Option<Content>, Elements)> {
        if self.ues[number].reporting.as_lena {
            return Some(self.transmit_as_lena(number, grant));
        }
        if let Some(period) = self.periodic_report {
            return self.transmit_reporting(number, grant, period);
        }
        let &BlockGrant { tti, size, process, ref power } = grant;
        let ue = &mut self.ues[number];
        // ns-3 leaves a grant of 7 bytes or less unused and repeats its report indefinitely; RLC's header takes two of
        // them.
        let reported = ue.unsent;
        if reported.total() == Bytes::ZERO {
            return None;
        }
        ue.unsent.on_block_up(size);
        let content = self.fill(number, Direction::Up, tti, size, process, Some(reported));
        let now = self.clock.start(tti);
        let ue = &mut self.ues[number];
        if ue.has_several() {
            ue.unsent = ue.reported(now, Direction::Up);
        }
        self.await_grant(number, tti);
        let content = content?;
        let headroom = self.get(number).report_headroom(tti, power);
        Some((Some(content), Elements { headroom, buffer: None }))
    }

    /// Fills a grant with reports within blocks: when one is due, and in space that data leaves free.
    //= TS 36.321 §5.4.5
    //= exception padding-stays-silent
    //= exception reports-sum-over-bearers
    fn transmit_reporting(
        &mut self,
        number: UeId,
        grant: &BlockGrant<'_>,
        period: u64,
    ) -> Option<(Option<Content>, Elements)> {
        let &BlockGrant { tti, size, process, ref power } = grant;
        let now = self.clock.start(tti);
        let ue = self.get(number);
        let waiting = ue.reported(now, Direction::Up);
        if waiting.total() == Bytes::ZERO && !ue.reporting.is_due {
            ue.note_empty(now);
            return None;
        }
        let is_due = ue.reporting.is_due || ue.reporting.buffer_at.is_none_or(|at| tti - at >= period);
        let report = if is_due { ue.report_size(now) } else { Bytes::ZERO };
        let headroom = ELEMENT * u64::from(ue.headroom_is_due(tti, power.loss));
        let room = size.saturating_sub(report + headroom);
        let content = self.fill(number, Direction::Up, tti, room, process, Some(waiting));
        if content.is_none() && !is_due {
            return None;
        }
        let ue = self.get(number);
        let left = ue.reported(now, Direction::Up);
        ue.unsent = left;
        ue.reporting.has_data = left.total() > Bytes::ZERO;
        if ue.has_several() {
            ue.note_urgency(now);
            ue.reporting.checked_urgency = ue.reporting.urgency;
        }
        let reports = is_due || !ue.reporting.has_data;
        if reports {
            ue.reporting.is_due = false;
            ue.reporting.may_request_from = tti;
            ue.reporting.buffer_at = Some(tti);
            self.requesting.retain(|other| *other != number);
        }
        let headroom = self.get(number).report_headroom(tti, power);
        self.await_grant(number, tti);
        Some((content, Elements { buffer: reports.then_some(left.total()), headroom }))
    }

    /// Triggers a scheduling request after a report of RLC, if data arrived at an empty buffer, data of a higher priority
    /// than all before, or retxBSR-Timer expired (`waited`).
    //= TS 36.321 §5.4.4
    //= TS 36.321 §5.4.5
    fn update_request(&mut self, number: UeId, waited: bool) {
        let ue = &mut self.ues[number];
        let has_data = ue.unsent.total() > Bytes::ZERO;
        let had_data = std::mem::replace(&mut ue.reporting.has_data, has_data);
        let urgency = ue.reporting.urgency;
        let checked = std::mem::replace(&mut ue.reporting.checked_urgency, urgency);
        let is_urgent = urgency.zip(checked).is_some_and(|(priority, before)| priority < before);
        if has_data
            && (!had_data || waited || is_urgent)
            && !std::mem::replace(&mut ue.reporting.is_due, true)
        {
            self.requesting.push(number);
        }
    }

    /// Resets reports and TPC commands of a UE that has left its cell.
    pub(super) fn reset_reports(&mut self, number: UeId) {
        let ue = &mut self.ues[number];
        ue.reporting.reset();
        ue.commanded = Db(0.0);
        self.requesting.retain(|other| *other != number);
    }

    /// Starts or restarts retxBSR-Timer if data is waiting.
    //= TS 36.321 §5.4.5
    pub(super) fn await_grant(&mut self, number: UeId, tti: Tti) {
        let Some(timers) = &mut self.retx_bsr_timers else { return };
        let ue = &mut self.ues[number];
        if ue.reported(self.clock.start(tti), Direction::Up).total() > Bytes::ZERO {
            timers.arm(tti, number, &mut ue.report_again_at);
        } else {
            timers.disarm(&mut ue.report_again_at);
        }
    }

    /// RLC reports its uplink backlog to a UE's MAC.
    pub(super) fn on_uplink_report(&mut self, now: Time, number: UeId, waiting: BufferStatus) {
        self.ues[number].on_uplink_report(now, number, waiting, &mut self.fresh);
    }

    /// Reports uplink backlogs that RLC has reported since the last TTI, and sends scheduling requests. Adds what the
    /// cells receive.
    pub fn signal(&mut self, tti: Tti, signals: &mut Vec<Signal>) {
        self.repeat_reports(tti);
        let requested = self.request_grants();
        let mut fresh = std::mem::take(&mut self.fresh);
        for &number in &fresh {
            let ue = &mut self.ues[number];
            ue.fresh = false;
            if !ue.joined {
                continue;
            }
            if requested {
                self.update_request(number, false);
                continue;
            }
            let (cell, slot, unsent) = (ue.cell, ue.slot, ue.unsent.total());
            if let Some(drx) = ue.drx.as_mut().filter(|_| unsent > Bytes::ZERO) {
                let timing = &self.access.timing;
                drx.on_request(tti, tti + timing.report_to_decision + timing.decision_to_grant);
            }
            signals.push(Signal { cell, slot, content: SignalContent::Report(unsent) });
            self.await_grant(number, tti);
        }
        fresh.clear();
        self.fresh = fresh;
        self.send_requests(tti, signals);
    }

    /// Sends the pending scheduling requests that have an opportunity in this TTI.
    fn send_requests(&mut self, tti: Tti, signals: &mut Vec<Signal>) {
        let UeTable { ues, requesting, access, request_period: period, request_prohibit, .. } = self;
        let (period, timing) = (*period, &access.timing);
        for number in requesting {
            let Ue { cell, slot, masks_requests, ref mut drx, ref mut reporting, .. } = ues[*number];
            //= TS 36.321 §5.4.4: sr-ProhibitTimer
            if masks_requests || tti < reporting.may_request_from {
                continue;
            }
            //= TS 36.213 Table 10.1.5-1
            if (tti.0 + period - u64::from(slot.0) % period).is_multiple_of(period) {
                reporting.may_request_from = tti + *request_prohibit;
                signals.push(Signal { cell, slot, content: SignalContent::Request });
                if let Some(drx) = drx {
                    drx.on_request(tti, tti + timing.slot(tti).request + timing.decision_to_grant);
                }
            }
        }
    }

    /// Repeats the reports of UEs whose wait for a grant has exceeded retxBSR-Timer.
    //= TS 36.321 §5.4.5
    //= exception reports-are-not-repeated
    fn repeat_reports(&mut self, tti: Tti) {
        let now = self.clock.start(tti);
        let requested = self.request_grants();
        let Some(timers) = &mut self.retx_bsr_timers else { return };
        let due = timers.take(tti);
        for number in &due {
            let UeTable { ues, retx_bsr_timers: Some(timers), fresh, .. } = self else { break };
            let Some(ue) = ues.find(*number) else { continue };
            if ue.report_again_at == Some(tti) {
                timers.disarm(&mut ue.report_again_at);
                let waiting = ue.reported(now, Direction::Up);
                ue.on_uplink_report(now, *number, waiting, fresh);
                if requested {
                    self.update_request(*number, true);
                }
            }
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.put_back(tti, due);
        }
    }
}

//! The MAC of a UE: grants, scheduling requests and buffer status reports.

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

/// Content of the block of a grant: data and control elements; `None`: it leaves the grant unused.
pub(super) type Filled = Option<(Option<Content>, Elements)>;

impl UeTable {
    /// Whether UEs request grants and report within blocks.
    pub fn request_grants(&self) -> bool {
        self.rules.request_grants()
    }

    /// Period in TTIs of the opportunities for scheduling requests.
    pub fn request_period(&self) -> u64 {
        self.request_period
    }

    /// Fills a grant of a UE; `None` if it leaves the grant unused.
    pub(super) fn transmit_up(&mut self, number: UeId, grant: &BlockGrant<'_>) -> Filled {
        self.rules.fill(self, number, grant)
    }

    /// Triggers a scheduling request after a report of RLC, if data arrived at an empty buffer, data of a higher priority
    /// than all before, or retxBSR-Timer expired (`waited`).
    //= TS 36.321 §5.4.4
    //= TS 36.321 §5.4.5
    pub(super) fn update_request(&mut self, number: UeId, waited: bool) {
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
        let mut fresh = std::mem::take(&mut self.fresh);
        for &number in &fresh {
            let ue = &mut self.ues[number];
            ue.fresh = false;
            if ue.joined {
                self.rules.on_backlog(self, tti, number, signals);
            }
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
        let Some(timers) = &mut self.retx_bsr_timers else { return };
        let due = timers.take(tti);
        for number in &due {
            let UeTable { ues, retx_bsr_timers: Some(timers), fresh, .. } = self else { break };
            let Some(ue) = ues.find(*number) else { continue };
            if ue.report_again_at == Some(tti) {
                timers.disarm(&mut ue.report_again_at);
                let waiting = ue.reported(now, Direction::Up);
                ue.on_uplink_report(now, *number, waiting, fresh);
                self.rules.on_wait(self, *number);
            }
        }
        if let Some(timers) = &mut self.retx_bsr_timers {
            timers.put_back(tti, due);
        }
    }
}

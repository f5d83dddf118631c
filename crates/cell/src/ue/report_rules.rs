//! How UEs report their backlogs to the cell.

use super::mac::{BlockGrant, Filled, Signal};
use super::reports::ELEMENT;
use super::{Ue, UeTable};
use crate::identity::UeId;
use crate::mac::control_elements::Elements;
use airwnd_kernel::Direction;
use airwnd_units::{Bytes, Time, Tti};

/// Rules by which UEs report their backlogs and fill grants, chosen once for a network: those of the standard, or those of
/// another simulator ([`compat`](super::compat)).
pub(crate) trait ReportRules: Send + Sync {
    /// Whether UEs request grants and report within blocks.
    fn request_grants(&self) -> bool {
        true
    }

    /// Fills a grant of a UE.
    fn fill(&self, table: &mut UeTable, number: UeId, grant: &BlockGrant<'_>) -> Filled;

    /// RLC has reported a backlog of a UE since the last TTI. Adds what the cell receives.
    fn on_backlog(&self, table: &mut UeTable, _tti: Tti, number: UeId, _signals: &mut Vec<Signal>) {
        table.update_request(number, false);
    }

    /// The wait of a UE for a grant has exceeded retxBSR-Timer.
    fn on_wait(&self, table: &mut UeTable, number: UeId) {
        table.update_request(number, true);
    }

    /// RLC of a UE may have nothing left to send, though no block has left.
    fn on_discard(&self, ue: &mut Ue, now: Time) {
        ue.note_empty(now);
    }
}

/// Scheduling requests, and reports within blocks: when one is due, and in space that data leaves free.
pub(super) struct Standard;

impl ReportRules for Standard {
    //= TS 36.321 §5.4.5
    //= exception padding-stays-silent
    //= exception reports-sum-over-bearers
    fn fill(&self, table: &mut UeTable, number: UeId, grant: &BlockGrant<'_>) -> Filled {
        let &BlockGrant { tti, size, process, ref power } = grant;
        let now = table.clock.start(tti);
        let period = table.periodic_report;
        let ue = table.get(number);
        let waiting = ue.reported(now, Direction::Up);
        if waiting.total() == Bytes::ZERO && !ue.reporting.is_due {
            ue.note_empty(now);
            return None;
        }
        let is_due = ue.reporting.is_due || ue.reporting.buffer_at.is_none_or(|at| tti - at >= period);
        let report = if is_due { ue.report_size(now) } else { Bytes::ZERO };
        let headroom = ELEMENT * u64::from(ue.headroom_is_due(tti, power.loss));
        let room = size.saturating_sub(report + headroom);
        let content = table.fill(number, Direction::Up, tti, room, process, Some(waiting));
        if content.is_none() && !is_due {
            return None;
        }
        let ue = table.get(number);
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
            table.requesting.retain(|other| *other != number);
        }
        let headroom = table.get(number).report_headroom(tti, power);
        table.await_grant(number, tti);
        Some((content, Elements { buffer: reports.then_some(left.total()), headroom }))
    }
}

//! The UE's MAC in ns-3 LENA.

use super::super::UeTable;
use super::super::mac::{BlockGrant, Filled, Signal, SignalContent};
use super::super::report_rules::ReportRules;
use crate::identity::UeId;
use crate::mac::control_elements::Elements;
use airwnd_kernel::Direction;
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Tti};

/// Header of a PDU of unacknowledged mode.
const HEADER: Bytes = Bytes(2);

/// Ideal reports outside of blocks, by the rules of LteUeMac.
pub(super) struct Ideal;

impl ReportRules for Ideal {
    fn request_grants(&self) -> bool {
        false
    }

    fn fill(&self, table: &mut UeTable, number: UeId, grant: &BlockGrant<'_>) -> Filled {
        let &BlockGrant { tti, size, process, ref power } = grant;
        let ue = &mut table.ues[number];
        // ns-3 leaves a grant of 7 bytes or less unused and repeats its report indefinitely; RLC's header takes two of
        // them.
        let reported = ue.unsent;
        if reported.total() == Bytes::ZERO {
            return None;
        }
        count_block(&mut ue.unsent, size);
        let content = table.fill(number, Direction::Up, tti, size, process, Some(reported));
        let now = table.clock.start(tti);
        let ue = &mut table.ues[number];
        if ue.has_several() {
            ue.unsent = ue.reported(now, Direction::Up);
        }
        table.await_grant(number, tti);
        let content = content?;
        let headroom = table.get(number).report_headroom(tti, power);
        Some((Some(content), Elements { headroom, buffer: None }))
    }

    fn on_backlog(&self, table: &mut UeTable, tti: Tti, number: UeId, signals: &mut Vec<Signal>) {
        let ue = &mut table.ues[number];
        let (cell, slot, unsent) = (ue.cell, ue.slot, ue.unsent.total());
        if let Some(drx) = ue.drx.as_mut().filter(|_| unsent > Bytes::ZERO) {
            let timing = &table.access.timing;
            drx.on_request(tti, tti + timing.report_to_decision + timing.decision_to_grant);
        }
        signals.push(Signal { cell, slot, content: SignalContent::Report(unsent) });
        table.await_grant(number, tti);
    }

    /// The backlog is reported again, as all are.
    fn on_wait(&self, _table: &mut UeTable, _number: UeId) {}
}

/// Updates a UE's count of its backlog after a block of `size` bytes.
//= exception rlc-am-as-in-ns3: a block holds one STATUS PDU or one data PDU
fn count_block(unsent: &mut BufferStatus, size: Bytes) {
    let mut size = size;
    if size > unsent.status {
        size -= std::mem::take(&mut unsent.status);
    }
    if unsent.again > Bytes::ZERO {
        unsent.again = unsent.again.saturating_sub(size);
    } else {
        unsent.new = unsent.new.saturating_sub(size.saturating_sub(HEADER));
    }
}

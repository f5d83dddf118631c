//! The UE's MAC in 5G-LENA.

use super::super::mac::{BlockGrant, Filled};
use super::super::report_rules::ReportRules;
use super::super::{Ue, UeTable};
use crate::identity::UeId;
use crate::mac::control_elements::Elements;
use airwnd_kernel::Direction;
use airwnd_rlc::BufferStatus;
use airwnd_units::{Bytes, Time};

/// Size of a buffer status report with its subheader in NrUeMac::SendNewData.
const REPORT: Bytes = Bytes(5);
/// Size of the subheader of a bearer's data.
const SUBHEADER: Bytes = Bytes(3);
/// The smallest room for data and their subheader that is used.
const MIN_DATA: Bytes = Bytes(10);

/// A report in each block, by the rules of NrUeMac::SendNewData and SendBufferStatusReport.
pub(super) struct EachBlock;

impl ReportRules for EachBlock {
    fn fill(&self, table: &mut UeTable, number: UeId, grant: &BlockGrant<'_>) -> Filled {
        let &BlockGrant { tti, size, process, .. } = grant;
        let ue = table.get(number);
        let waiting = ue.unsent;
        let room = size.saturating_sub(REPORT);
        let mut content = None;
        if waiting.total() > Bytes::ZERO && room >= MIN_DATA {
            let room = room - SUBHEADER;
            count_data(&mut ue.unsent, room);
            content = table.fill(number, Direction::Up, tti, room, process, Some(waiting));
        }
        let ue = table.get(number);
        let left = ue.unsent.total();
        ue.reporting.has_data = left > Bytes::ZERO;
        ue.reporting.is_due = false;
        ue.reporting.may_request_from = tti;
        table.requesting.retain(|other| *other != number);
        table.await_grant(number, tti);
        let counted = if left > Bytes::ZERO { left + REPORT + SUBHEADER } else { left };
        Some((content, Elements { buffer: Some(counted), headroom: None }))
    }

    /// The MAC counts the backlog by its grants.
    fn on_discard(&self, _ue: &mut Ue, _now: Time) {}
}

/// Updates a UE's count of its backlog after a block with this much room for data.
fn count_data(unsent: &mut BufferStatus, room: Bytes) {
    let mut room = room;
    for part in [&mut unsent.status, &mut unsent.again, &mut unsent.new] {
        let sent = room.min(*part);
        *part -= sent;
        room -= sent;
    }
}

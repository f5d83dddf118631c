//! The UE's MAC in 5G-LENA, for comparisons.

use super::UeTable;
use super::mac::BlockGrant;
use crate::identity::UeId;
use crate::mac::Content;
use crate::mac::control_elements::Elements;
use airwnd_kernel::Direction;
use airwnd_units::Bytes;

/// Size of a buffer status report with its subheader in NrUeMac::SendNewData.
const REPORT: Bytes = Bytes(5);
/// Size of the subheader of a bearer's data.
const SUBHEADER: Bytes = Bytes(3);
/// The smallest room for data and their subheader that is used.
const MIN_DATA: Bytes = Bytes(10);

impl UeTable {
    /// Fills a grant by the rules of 5G-LENA's NrUeMac::SendNewData and SendBufferStatusReport.
    #[inline(never)]
    pub(super) fn transmit_as_lena(
        &mut self,
        number: UeId,
        grant: &BlockGrant<'_>,
    ) -> (Option<Content>, Elements) {
        let &BlockGrant { tti, size, process, .. } = grant;
        let ue = self.get(number);
        let waiting = ue.unsent;
        let room = size.saturating_sub(REPORT);
        let mut content = None;
        if waiting.total() > Bytes::ZERO && room >= MIN_DATA {
            let room = room - SUBHEADER;
            ue.unsent.on_block_in_lena(room);
            content = self.fill(number, Direction::Up, tti, room, process, Some(waiting));
        }
        let ue = self.get(number);
        let left = ue.unsent.total();
        ue.reporting.has_data = left > Bytes::ZERO;
        ue.reporting.is_due = false;
        ue.reporting.may_request_from = tti;
        self.requesting.retain(|other| *other != number);
        self.await_grant(number, tti);
        let counted = if left > Bytes::ZERO { left + REPORT + SUBHEADER } else { left };
        (content, Elements { buffer: Some(counted), headroom: None })
    }
}

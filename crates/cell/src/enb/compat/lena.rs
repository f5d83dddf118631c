//! Belief of a cell in 5G-LENA.

use super::super::belief::{Belief, Known};
use airwnd_units::Bytes;

/// The newest request or report replaces what was known, by the rules of NrMacSchedulerNs3.
pub(super) struct Newest;

impl Belief for Newest {
    fn on_request(&self, _known: &Known, request_grant: Bytes) -> Bytes {
        request_grant
    }

    fn on_report(&self, _known: &mut Known, waiting: Bytes, _granted: u64) -> Option<Bytes> {
        Some(waiting)
    }

    fn after_grant(&self, rest: Bytes, request_grant: Bytes) -> Bytes {
        if rest > Bytes::ZERO { rest.max(request_grant) } else { rest }
    }
}

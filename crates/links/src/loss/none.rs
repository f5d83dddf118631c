//! A perfect link.

use super::{Loss, Passing};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

params! {
    /// None: every packet that enters the link arrives.
    pub struct Params ("ns-3 PointToPointNetDevice without a ReceiveErrorModel") {}
}

/// No loss.
pub struct NoLoss;

impl NoLoss {
    /// A perfect link.
    pub fn new(_params: Params, _stream: Stream, _start: Time) -> Self {
        NoLoss
    }
}

impl Loss for NoLoss {
    fn loses(&mut self, _packet: Passing) -> bool {
        false
    }
}

//! A link without losses.

use super::{Loss, Passing};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// None: no packet is lost on the link.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 PointToPointNetDevice without a ReceiveErrorModel")]
pub struct Params {}

/// No loss.
pub struct NoLoss;

impl NoLoss {
    /// Creates a model without losses.
    pub fn new(_params: Params, _stream: Stream, _start: Time) -> Self {
        NoLoss
    }
}

impl Loss for NoLoss {
    fn loses(&mut self, _packet: Passing) -> bool {
        false
    }
}

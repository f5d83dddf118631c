//! A UE's bearer.

use crate::qci::Qci;
use airwnd_units::BitRate;

/// The quality of service of a UE's bearer.
#[derive(Clone, Copy, Debug)]
pub struct Bearer {
    /// QoS class identifier.
    pub qci: Qci,
    /// Guaranteed bit rate; zero: none.
    pub gbr: BitRate,
    /// Maximum bit rate, enforced by schedulers with tokens; at least the guaranteed rate. Zero: none.
    pub mbr: BitRate,
}

impl Default for Bearer {
    /// Best effort.
    fn default() -> Self {
        Bearer { qci: Qci::BEST_EFFORT, gbr: BitRate(0), mbr: BitRate(0) }
    }
}

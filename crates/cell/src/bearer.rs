//! A UE's bearer.

use crate::qci::Qci;
use airwnd_units::BitRate;

/// The quality of service of a UE's bearer.
#[derive(Clone, Copy, Debug)]
pub struct Bearer {
    /// The class that it belongs to.
    pub qci: Qci,
    /// Guaranteed bit rate, zero for none.
    pub gbr: BitRate,
    /// Maximum bit rate that schedulers with tokens keep it to, not below the guaranteed one; zero for none.
    pub mbr: BitRate,
}

impl Default for Bearer {
    /// Best effort.
    fn default() -> Self {
        Bearer { qci: Qci::BEST_EFFORT, gbr: BitRate(0), mbr: BitRate(0) }
    }
}

//! Channel without small-scale fading.

use super::{Fading, Pace, Tap};
use airwnd_catalog::Params;

/// None: no small-scale fading; the gain of a link is its mean.
///
/// The gain follows from path loss, antennas and shadowing alone; only interference varies.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "off in the ns-3 reference runs (LteHelper::FadingModel)")]
pub struct Params {}

/// No fading.
#[derive(Clone, Debug)]
pub struct NoFading;

impl NoFading {
    /// A channel without parameters.
    pub fn new(_params: Params) -> NoFading {
        NoFading
    }
}

impl Fading for NoFading {
    fn taps(&self) -> &[Tap] {
        &[]
    }
    fn pace(&self) -> Pace {
        Pace::Own
    }
    fn fades_interference(&self) -> bool {
        false
    }
}

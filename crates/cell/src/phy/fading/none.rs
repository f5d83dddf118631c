//! A channel that does not fade.

use super::{Fading, Pace, Tap};
use airwnd_catalog::Params;

/// None: the gain of a link is its mean.
///
/// Path loss, antennas and shadowing decide alone, and interference is all that varies.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "off in the ns-3 reference runs (LteHelper::FadingModel)")]
pub struct Params {}

/// No fading.
#[derive(Clone, Debug)]
pub struct NoFading;

impl NoFading {
    /// There is nothing to set.
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

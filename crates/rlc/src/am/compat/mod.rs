//! Acknowledged mode in other simulators, for comparisons.

mod ns3;

use super::Conduct;
use super::rules::{Rules, Standard};

/// The rules of a bearer.
pub(super) fn rules(conduct: Conduct) -> &'static dyn Rules {
    match conduct {
        Conduct::Standard => &Standard,
        Conduct::Ns3 => &ns3::LteRlcAm,
    }
}

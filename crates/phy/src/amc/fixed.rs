//! Constant CQI reports.

use super::{Amc, ErrorModel};
use crate::access::Access;
use crate::{Cqi, Prbs, Sinr};
use airwnd_catalog::Params;
use std::sync::Arc;

/// Fixed: every UE reports the same CQI on any channel, which fixes the MCS, to 2 (CQI - 1) in LTE up to 64QAM.
///
/// Isolates the effect of the MCS from UE positions. The channel still determines what is decoded: where it is too weak
/// for the MCS, blocks fail.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ARWA 2019 §4.3.3: MCS 0 to 28 in steps of 4")]
pub struct Params {
    /// Reported CQI (TS 36.213 Table 7.2.3-1).
    #[param(basic)]
    #[param(default = 15, range = 1..=15, unit = "1", source = "TS 36.213 Table 7.2.3-1: the highest rate")]
    pub cqi: u8,
}

/// Reports a constant CQI.
#[derive(Clone, Debug)]
pub struct Fixed {
    cqi: Cqi,
}

impl Fixed {
    /// A rule that reports this CQI. The receiver's error model is not used.
    pub fn new(params: Params, _receiver: &Arc<dyn ErrorModel>, _access: &Arc<Access>) -> Fixed {
        Fixed { cqi: Cqi(params.cqi) }
    }
}

impl Amc for Fixed {
    fn cqi(&self, _sinr: Sinr, _blocks: Prbs) -> Cqi {
        self.cqi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model;
    use crate::tables::mcs_of;
    use airwnd_units::Db;

    #[test]
    fn the_mcs_is_the_same_on_any_channel() {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build().into();
        for (cqi, mcs) in [(1, 0), (3, 4), (5, 8), (7, 12), (9, 16), (11, 20), (13, 24), (15, 28)] {
            let rule = Fixed::new(Params { cqi }, &receiver, &Arc::new(Access::lte(Prbs(50))));
            for sinr in [-20.0, 5.0, 40.0] {
                assert_eq!(mcs_of(rule.cqi(Sinr::Flat(Db(sinr)), Prbs(50))).0, mcs);
            }
        }
    }
}

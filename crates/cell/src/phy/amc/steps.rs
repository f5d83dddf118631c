//! SINR thresholds of CQIs.

use super::Amc;
use crate::phy::{Cqi, Prbs, Sinr};
use airwnd_units::Db;

/// Minimum SINR of each CQI for a number of resource blocks over which the channel is flat.
///
/// A rule that evaluates an error model is computed once for each threshold instead of for each report of a fading
/// channel.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Thresholds from CQI 1 on, ascending.
    begin: [Db; Cqi::MAX.0 as usize],
}

impl Steps {
    /// The thresholds of a rule for `blocks` resource blocks, between -40 and 60 dB.
    pub fn new(amc: &dyn Amc, blocks: Prbs) -> Steps {
        let begin = |cqi: u8| {
            let (mut low, mut high) = (-40.0, 60.0);
            // Resolution of a ten-millionth of a decibel: 100 dB / 2^30.
            for _ in 0..30 {
                let middle = (low + high) / 2.0;
                if amc.cqi(Sinr::Flat(Db(middle)), blocks) < Cqi(cqi) { low = middle } else { high = middle }
            }
            Db(high)
        };
        Steps { begin: std::array::from_fn(|index| begin(index as u8 + 1)) }
    }

    /// The CQI at this SINR.
    pub fn cqi(&self, sinr: Db) -> Cqi {
        Cqi(self.begin.partition_point(|begin| *begin <= sinr) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::phy::amc::Spec;
    use crate::phy::error_model;

    #[test]
    fn thresholds_reproduce_the_rule() {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build().into();
        let access = Access::lte(Prbs(50)).into();
        for spec in [
            Spec::BlockErrorTarget(Default::default()),
            Spec::PiroEw2010(Default::default()),
            Spec::Fixed(Default::default()),
        ] {
            let rule = spec.build(&receiver, &access);
            for blocks in [Prbs(2), Prbs(3), Prbs(50)] {
                let steps = Steps::new(&*rule, blocks);
                for hundredth in -2000..3500 {
                    let sinr = Db(f64::from(hundredth) / 100.0);
                    assert_eq!(steps.cqi(sinr), rule.cqi(Sinr::Flat(sinr), blocks), "{sinr:?} {blocks:?}");
                }
            }
        }
    }
}

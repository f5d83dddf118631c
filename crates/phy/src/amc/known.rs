//! CQIs that have been computed before.

use crate::Cqi;
use airwnd_units::Db;

/// Number of CQI values.
const CQIS: usize = Cqi::MAX.0 as usize + 1;

/// CQIs of flat channels under a rule for a number of resource blocks.
///
/// A CQI never falls as the channel improves: between two SINRs with the same CQI it is the same, too. A rule that
/// evaluates an error model is computed a few times for each CQI instead of for each report.
#[derive(Clone, Debug)]
pub struct KnownCqis {
    /// The lowest and the highest SINR at which each CQI was computed; the lowest one is above the highest one before.
    ranges: [(Db, Db); CQIS],
}

impl Default for KnownCqis {
    /// Nothing is known.
    fn default() -> KnownCqis {
        KnownCqis { ranges: [(Db(f64::INFINITY), Db(f64::NEG_INFINITY)); CQIS] }
    }
}

impl KnownCqis {
    /// The CQI at this SINR, computed by the rule if it is not known.
    pub fn cqi(&mut self, sinr: Db, rule: impl FnOnce() -> Cqi) -> Cqi {
        let is_in = |(lowest, highest): &(Db, Db)| *lowest <= sinr && sinr <= *highest;
        if let Some(cqi) = self.ranges.iter().position(is_in) {
            return Cqi(cqi as u8);
        }
        let cqi = rule();
        let (lowest, highest) = &mut self.ranges[usize::from(cqi.0)];
        (lowest.0, highest.0) = (lowest.0.min(sinr.0), highest.0.max(sinr.0));
        cqi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::amc::Spec;
    use crate::{Prbs, Sinr, error_model};
    use airwnd_kernel::Stream;

    #[test]
    fn what_is_known_is_what_the_rule_gives() {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build().into();
        let access = Access::lte(Prbs(50)).into();
        let mut draws = Stream::new(1, "SINR");
        for spec in [
            Spec::BlockErrorTarget(Default::default()),
            Spec::PiroEw2010(Default::default()),
            Spec::Fixed(Default::default()),
        ] {
            let rule = spec.build(&receiver, &access);
            let (mut known, mut computed) = (KnownCqis::default(), 0);
            for _ in 0..4000 {
                let sinr = Db(-15.0 + 45.0 * draws.uniform());
                let of_rule = rule.cqi(Sinr::Flat(sinr), Prbs(3));
                let cqi = known.cqi(sinr, || {
                    computed += 1;
                    of_rule
                });
                assert_eq!(cqi, of_rule, "{sinr:?}");
            }
            assert!(computed < 400, "{computed}");
        }
    }
}

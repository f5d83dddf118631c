//! SINR thresholds of CQIs.

use super::Amc;
use crate::capacity::{ROUNDING, effective, growth};
use crate::{Cqi, Prbs, Sinr};
use airwnd_units::Db;

/// Minimum SINR of each CQI for a number of resource blocks over which the channel is flat.
///
/// A rule that evaluates an error model is computed once for each threshold instead of for each report of a fading
/// channel.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Thresholds from CQI 1 on, ascending.
    begin: [Db; Cqi::MAX.0 as usize],
    /// The [growth] of one PRB, two, and so on at each threshold.
    growths: Vec<[f64; Cqi::MAX.0 as usize]>,
}

impl Steps {
    /// The thresholds of a rule for `blocks` resource blocks, between -40 and 60 dB.
    pub fn new(amc: &dyn Amc, blocks: Prbs) -> Steps {
        let begin = |cqi: u8| {
            let (mut low, mut high) = (-40.0, 60.0);
            // Resolution of a ten-millionth of a decibel: 100 dB / 2^30.
            for _ in 0..30 {
                let middle = (low + high) / 2.0;
                if amc.reaches(Cqi(cqi), Sinr::Flat(Db(middle)), blocks) {
                    high = middle
                } else {
                    low = middle
                }
            }
            Db(high)
        };
        let begin: [Db; Cqi::MAX.0 as usize] = std::array::from_fn(|index| begin(index as u8 + 1));
        let growths = |prbs: u16| begin.map(|begin| libm::pow(1.0 + begin.linear(), prbs.into()));
        Steps { begin, growths: (1..=blocks.0).map(growths).collect() }
    }

    /// The CQI at this SINR.
    pub fn cqi(&self, sinr: Db) -> Cqi {
        Cqi(self.begin.partition_point(|begin| *begin <= sinr) as u8)
    }

    /// The CQI at the [effective] SINR of these PRBs, whose SINR is linear; at most as many as the thresholds are for.
    pub fn cqi_over(&self, prbs: &[f64]) -> Cqi {
        let (begin, growth) = (&self.growths[prbs.len() - 1], growth(prbs));
        let cqi = begin.partition_point(|begin| *begin <= growth);
        let is_near = |begin: &f64| (begin - growth).abs() < ROUNDING * growth;
        match begin[cqi.saturating_sub(1)..].iter().take(2).any(is_near) {
            true => self.cqi(effective(prbs)),
            false => Cqi(cqi as u8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::amc::Spec;
    use crate::error_model;
    use airwnd_kernel::Stream;

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

    #[test]
    fn capacity_decides_as_the_effective_sinr_does() {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build().into();
        let rule = Spec::BlockErrorTarget(Default::default()).build(&receiver, &Access::lte(Prbs(50)).into());
        let steps = Steps::new(&*rule, Prbs(3));
        let mut draws = Stream::new(1, "SINR");
        for number in 0..20_000 {
            let (centre, spread) = (Db(-15.0 + 45.0 * draws.uniform()), 10.0 * draws.uniform());
            let mut sinr = || (centre + Db(spread * (draws.uniform() - 0.5))).linear();
            let prbs: Vec<f64> = (0..number % 3 + 1).map(|_| sinr()).collect();
            assert_eq!(steps.cqi_over(&prbs), steps.cqi(effective(&prbs)), "{prbs:?}");
        }
        // the thresholds themselves
        for begin in steps.begin {
            let prbs = [begin.linear(); 3];
            assert_eq!(steps.cqi_over(&prbs), steps.cqi(effective(&prbs)), "{begin:?}");
        }
        assert_eq!((steps.cqi_over(&[0.0; 3]), steps.cqi_over(&[1e9; 3])), (Cqi(0), Cqi(15)));
    }
}

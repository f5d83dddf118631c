//! Shannon capacity with an SINR gap.

use super::{Amc, ErrorModel};
use crate::access::Access;
use crate::{Cqi, Prbs, Sinr};
use airwnd_catalog::Params;
use airwnd_units::Db;
use std::sync::Arc;

/// PiroEW2010: CQI from Shannon capacity with an SINR gap that depends on the target bit error rate.
///
/// ```math
/// \eta = \mathrm{log}_2(1 + \frac{\mathrm{SINR}}{\mathrm{gap}})
/// ```
///
/// ```math
/// \mathrm{gap} = \frac{-\mathrm{ln}(5 \, \mathrm{BER})}{1.5}
/// ```
///
/// The gap is 7.4 dB at a BER of 5e-5. The CQI of a resource block is the highest one whose efficiency is below the
/// spectral efficiency eta. A report over several blocks is the mean of their CQIs, rounded down. The rule is
/// conservative: it requires 4 to 5 dB more than `block-error-target`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Piro, Grieco, Boggia, Camarda: A Two-Level Scheduling Algorithm for QoS Support in the \
              Downlink of LTE Cellular Networks, European Wireless 2010; ns-3 LteAmc")]
pub struct Params {
    /// Target bit error rate.
    #[param(basic, default = 5e-5, range = 1e-9..=0.1, unit = "1", source = "ns-3 LteAmc::Ber")]
    pub ber: f64,
}

/// Shannon capacity with an SINR gap.
#[derive(Clone, Debug)]
pub struct PiroEw2010 {
    gap: f64,
    access: Arc<Access>,
}

impl PiroEw2010 {
    /// A rule with these parameters. The receiver's error model is not used.
    pub fn new(params: Params, _receiver: &Arc<dyn ErrorModel>, access: &Arc<Access>) -> PiroEw2010 {
        PiroEw2010 { gap: -libm::log(5.0 * params.ber) / 1.5, access: access.clone() }
    }

    /// The CQI of one resource block.
    pub fn block_cqi(&self, sinr: Db) -> Cqi {
        self.access.cqi_below(libm::log2(1.0 + sinr.linear() / self.gap))
    }
}

impl Amc for PiroEw2010 {
    fn cqi(&self, sinr: Sinr, _blocks: Prbs) -> Cqi {
        Cqi(sinr.mean(|sinr| f64::from(self.block_cqi(sinr).0)) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_model;

    fn rule() -> PiroEw2010 {
        let receiver = error_model::Spec::MutualInformation(Default::default()).build();
        PiroEw2010::new(Params::default(), &receiver.into(), &Arc::new(Access::lte(Prbs(50))))
    }

    #[test]
    fn gap_is_that_of_the_bit_error_rate() {
        // -ln(5 x 5e-5) / 1.5 = 8.29405 / 1.5 = 5.5294, 7.43 dB
        assert!((rule().gap - 5.5294).abs() < 1e-4);
        assert!((Db::from_linear(rule().gap).0 - 7.427).abs() < 1e-3);
    }

    #[test]
    fn a_cqi_begins_where_shannon_exceeds_its_efficiency() {
        // CQI 7, 1.48 bit: SINR = gap (2^1.48 - 1) = 5.5294 x 1.7895 = 9.8949, 9.9541 dB
        assert_eq!(rule().block_cqi(Db(9.953)), Cqi(6));
        assert_eq!(rule().block_cqi(Db(9.955)), Cqi(7));
        assert_eq!(rule().block_cqi(Db(-100.0)), Cqi(0));
        assert_eq!(rule().block_cqi(Db(100.0)), Cqi(15));
    }

    #[test]
    fn a_wide_report_is_the_mean_rounded_down() {
        // CQI 6 on 3 blocks and 7 on 1: 6.25; 7 on 3 and 6 on 1: 6.75
        for (six, seven) in [(3, 1), (1, 3)] {
            let groups = [(Db(9.0), Prbs(six)), (Db(10.0), Prbs(seven))];
            assert_eq!(rule().cqi(Sinr::Groups(&groups), Prbs(4)), Cqi(6));
        }
    }
}

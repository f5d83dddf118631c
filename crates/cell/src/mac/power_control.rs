//! Uplink power control.

use crate::phy::Prbs;
use airwnd_catalog::Params;
use airwnd_units::{Db, Dbm};

/// Uplink power control: each PRB aims at a nominal power at the base station.
///
/// P = min(P_max, P0 + 10 log10(PRBs) + alpha PL) for PUSCH and, over the whole carrier, for the sounding
/// reference signal. Closed-loop corrections are zero, as ns-3 LENA sends them.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.213 §5.1.1.1 and §5.1.3.1", check)]
pub struct Params {
    /// Nominal received power per PRB.
    #[param(default = Dbm(-80.0), range = Dbm(-126.0)..=Dbm(24.0))]
    #[param(unit = "dBm", source = "ns-3 LteUePowerControl::PoNominalPusch")]
    pub p0: Dbm,
    /// Fraction of the path loss that is compensated.
    #[param(default = 1.0, range = 0.0..=1.0, unit = "1", source = "ns-3 LteUePowerControl::Alpha")]
    pub alpha: f64,
    /// The terminal's largest power.
    #[param(default = Dbm(23.0), range = Dbm(-40.0)..=Dbm(120.0))]
    #[param(unit = "dBm", source = "TS 36.101 §6.2.2, power class 3")]
    pub max_power: Dbm,
    /// The terminal's smallest power.
    #[param(default = Dbm(-40.0), range = Dbm(-60.0)..=Dbm(23.0), unit = "dBm", source = "TS 36.101 §6.3.2")]
    pub min_power: Dbm,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let Params { max_power, min_power, .. } = self;
        if min_power > max_power {
            return Err((
                "max_power",
                format!("the largest power {max_power} is below the smallest {min_power}"),
            ));
        }
        Ok(())
    }

    /// The total power of a transmission over `prbs`, given the downlink loss with antenna gains.
    pub fn total_power(&self, prbs: Prbs, loss: Db) -> Dbm {
        //= exception no-closed-loop-power
        let wanted = self.p0.0 + 10.0 * libm::log10(f64::from(prbs.0)) + self.alpha * loss.0;
        Dbm(wanted.clamp(self.min_power.0, self.max_power.0.max(self.min_power.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_terminal_arrives_at_the_nominal_power() {
        // -80 + 10 log10(50) + 80 = 16.99 dBm in total, hence 0 dBm per PRB minus 80 dB
        let power = Params::default().total_power(Prbs(50), Db(80.0));
        assert!((power.0 - 16.9897).abs() < 1e-4);
    }

    #[test]
    fn a_far_terminal_is_capped() {
        // the cap is reached at PL = 103 - 10 log10(M): 86.0 dB over 50 PRBs, 98.2 dB over 3
        let params = Params::default();
        assert_eq!(params.total_power(Prbs(50), Db(86.1)), Dbm(23.0));
        assert!(params.total_power(Prbs(3), Db(98.1)) < Dbm(23.0));
        assert_eq!(params.total_power(Prbs(3), Db(98.3)), Dbm(23.0));
    }
}

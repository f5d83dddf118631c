//! Uplink power control.

use airwnd_catalog::{Choice, Params};
use airwnd_phy::Prbs;
use airwnd_units::{Db, Dbm};

/// Correction of the UEs' power by the eNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Mode {
    /// No correction.
    #[word = "open-loop"]
    OpenLoop,
    /// TPC commands sent with grants.
    #[word = "closed-loop"]
    ClosedLoop,
}

/// Uplink power control: compensates path loss towards a nominal received power per PRB; optional closed loop.
///
/// The transmit power over M PRBs is
///
/// ```math
/// P = \min(P_{\max}, P_0 + 10 \, \mathrm{log}_{10}(M) + \alpha \, \mathit{PL} + f)
/// ```
///
/// for the PUSCH and, with M the whole carrier, for the sounding reference signal. f is the sum of the TPC commands
/// sent with grants: -1, 0, 1 or 3 dB, at most one in 6 TTIs, towards the target SINR without interference. With an
/// open loop f is zero. Delta_TF is zero, as without deltaMCS-Enabled.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.213 §5.1.1.1 and §5.1.3.1", check)]
pub struct Params {
    /// Nominal received power per PRB.
    #[param(basic, default = Dbm(-80.0), range = Dbm(-126.0)..=Dbm(24.0))]
    #[param(unit = "dBm", source = "ns-3 LteUePowerControl::PoNominalPusch")]
    pub p0: Dbm,
    /// Fraction of the path loss that is compensated.
    #[param(basic, default = 1.0, range = 0.0..=1.0, unit = "1", source = "ns-3 LteUePowerControl::Alpha")]
    pub alpha: f64,
    /// Correction of the UEs' power by the eNB.
    #[param(default = Mode::ClosedLoop)]
    #[param(
        unit = "word",
        source = "TS 36.213 §5.1.1.1; ns-3 LteUePowerControl::ClosedLoop sends corrections of zero"
    )]
    pub mode: Mode,
    /// Target SINR of the closed loop, without interference.
    #[param(default = Db(15.0), range = Db(-10.0)..=Db(40.0))]
    #[param(
        unit = "dB",
        source = "a choice: with 20 dB, for the highest MCS, interference blocks UEs at the edge"
    )]
    pub target_sinr: Db,
    /// Maximum power of the UE.
    #[param(basic, default = Dbm(23.0), range = Dbm(-40.0)..=Dbm(120.0))]
    #[param(unit = "dBm", source = "TS 36.101 §6.2.2, power class 3")]
    pub max_power: Dbm,
    /// Minimum power of the UE.
    #[param(default = Dbm(-40.0), range = Dbm(-60.0)..=Dbm(23.0), unit = "dBm", source = "TS 36.101 §6.3.2")]
    pub min_power: Dbm,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let Params { max_power, min_power, .. } = self;
        if min_power > max_power {
            return Err((
                "max_power",
                format!("the maximum power {max_power} is below the minimum {min_power}"),
            ));
        }
        Ok(())
    }

    /// The power required for a transmission over `prbs`, given the downlink loss with antenna gains and the sum of TPC
    /// commands.
    fn required(&self, prbs: Prbs, loss: Db, commanded: Db) -> f64 {
        self.p0.0 + 10.0 * libm::log10(f64::from(prbs.0)) + self.alpha * loss.0 + commanded.0
    }

    /// The total power of a transmission over `prbs`, given the downlink loss with antenna gains and the sum of TPC
    /// commands.
    //= TS 36.213 §5.1.1.1
    //= exception no-closed-loop-power
    pub fn total_power(&self, prbs: Prbs, loss: Db, commanded: Db) -> Dbm {
        let required = self.required(prbs, loss, commanded);
        Dbm(required.clamp(self.min_power.0, self.max_power.0.max(self.min_power.0)))
    }

    /// The power of such a transmission on each PRB in mW.
    pub fn power_per_prb(&self, prbs: Prbs, loss: Db, commanded: Db) -> f64 {
        let total = self.total_power(prbs, loss, commanded);
        (total - Db::from_linear(f64::from(prbs.0))).milliwatts()
    }

    /// Power headroom of a transmission over `prbs`: negative if it requires more power than the UE has.
    //= TS 36.213 §5.1.1.2
    pub fn headroom(&self, prbs: Prbs, loss: Db, commanded: Db) -> Db {
        Db(self.max_power.0 - self.required(prbs, loss, commanded))
    }

    /// The sum of TPC commands after another command for a transmission over `prbs`. Positive commands have no effect
    /// at the maximum power, negative ones at the minimum.
    //= TS 36.213 §5.1.1.1
    pub fn accumulate(&self, commanded: Db, command: Db, prbs: Prbs, loss: Db) -> Db {
        let required = self.required(prbs, loss, commanded);
        let stuck = command.0 > 0.0 && required >= self.max_power.0
            || command.0 < 0.0 && required <= self.min_power.0;
        if stuck { commanded } else { commanded + command }
    }

    /// The TPC command that brings an SINR closest to the target without passing it.
    //= TS 36.213 Table 5.1.1.1-2
    pub fn command(&self, sinr: Db) -> Db {
        let missing = (self.target_sinr - sinr).0;
        Db(if missing >= 3.0 {
            3.0
        } else if missing >= 1.0 {
            1.0
        } else if missing > -1.0 {
            0.0
        } else {
            -1.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_ue_arrives_at_the_nominal_power() {
        // -80 + 10 log10(50) + 80 = 16.99 dBm in total, hence 0 dBm per PRB minus 80 dB
        let power = Params::default().total_power(Prbs(50), Db(80.0), Db(0.0));
        assert!((power.0 - 16.9897).abs() < 1e-4);
    }

    #[test]
    fn a_far_ue_is_limited() {
        // the cap is reached at PL = 103 - 10 log10(M): 86.0 dB over 50 PRBs, 98.2 dB over 3
        let params = Params::default();
        let power = |prbs, loss| params.total_power(Prbs(prbs), Db(loss), Db(0.0));
        assert_eq!(power(50, 86.1), Dbm(23.0));
        assert!(power(3, 98.1) < Dbm(23.0));
        assert_eq!(power(3, 98.3), Dbm(23.0));
    }

    #[test]
    fn headroom_is_the_remaining_power() {
        // 23 - (-80 + 10 log10(10) + 80) = 13 dB
        let params = Params::default();
        assert!((params.headroom(Prbs(10), Db(80.0), Db(0.0)).0 - 13.0).abs() < 1e-9);
        assert!((params.headroom(Prbs(10), Db(80.0), Db(3.0)).0 - 10.0).abs() < 1e-9);
        assert!(params.headroom(Prbs(50), Db(100.0), Db(0.0)) < Db(0.0));
    }

    #[test]
    fn commands_lead_to_the_target_and_power_stays_within_its_limits() {
        let params = Params { mode: Mode::ClosedLoop, ..Params::default() };
        let stream = airwnd_kernel::Stream::new(1, "commands");
        for number in 0..500 {
            let at = |place| stream.child(number).at(place);
            let (loss, prbs) = (Db(40.0 + 110.0 * at(0)), Prbs(1 + (99.0 * at(1)) as u16));
            // The eNB has a noise of -116 dBm per PRB.
            let sinr = |commanded| {
                let power = params.total_power(prbs, loss, commanded);
                assert!((params.min_power..=params.max_power).contains(&power));
                power - loss - Db(10.0 * libm::log10(f64::from(prbs.0))) - Dbm(-116.0)
            };
            let mut commanded = Db(0.0);
            for _ in 0..100 {
                commanded = params.accumulate(commanded, params.command(sinr(commanded)), prbs, loss);
            }
            let power = params.total_power(prbs, loss, commanded);
            let limited = power == params.max_power || power == params.min_power;
            assert!(limited || (sinr(commanded) - params.target_sinr).0.abs() < 1.0, "{loss:?} {prbs:?}");
        }
    }
}

//! SmRED-i: smart RED.

use super::QueueContext;
use super::parts::early::{Common, Curve, Early, Settings, Spacing, Verdict, in_order, place};
use airwnd_catalog::Params;
use airwnd_units::Time;

/// SmRED-i: RED with a lower drop probability below the midpoint of the thresholds and a higher one above it.
///
/// The drop probability depends on the position x of the average between the thresholds and changes form at Target =
/// (min_th + max_th) / 2:
///
/// ```math
/// x = \frac{\mathrm{avg} - \mathrm{min\_th}}{\mathrm{max\_th} - \mathrm{min\_th}}
/// ```
///
/// ```math
/// p = \begin{cases}
/// \mathrm{max\_p} \, x^i & \mathrm{avg} < \mathrm{Target} \\
/// \mathrm{max\_p} \, x^{1/i} & \mathrm{avg} \ge \mathrm{Target}
/// \end{cases}
/// ```
///
/// At Target the probability jumps, with i = 4 from max_p / 16 to 0.84 max_p. At or above max_th every packet is
/// dropped.
///
/// Where the paper is silent, a parameter decides: by default the average is that of [`red`](#red), and drops are not
/// spaced.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Paul, Kawakami, Tachibana, Hasegawa: Effect of AQM-Based RLC Buffer Management on the eNB \
              Scheduling Algorithm in LTE Network, Electronics (MDPI) 2017",
    check
)]
pub struct Params {
    /// Exponent i of SmRED-i.
    #[param(basic, default = 4, range = 2..=1000, unit = "1", source = "SmRED 2017 §6: SmRED-4")]
    pub i: u32,
    /// Average queue at which dropping begins.
    #[param(basic, default = 20.0, range = 0.0..=1e9, unit = "packets", source = "SmRED 2017 §5.1")]
    pub min_th: f64,
    /// Average queue at which every packet is dropped.
    #[param(basic, default = 60.0, range = 0.0..=1e9, unit = "packets", source = "SmRED 2017 §5.1: 3 min_th")]
    pub max_th: f64,
    /// Drop probability at `max_th`.
    #[param(basic, default = 0.1, range = 0.0..=1.0, unit = "1", source = "SmRED 2017 §5.1")]
    pub max_p: f64,
    /// Weight of the current queue in the average.
    #[param(default = 0.002, range = 1e-9..=1.0)]
    #[param(unit = "1", source = "not in the paper: Floyd and Jacobson 1993 §5")]
    pub weight: f64,
    /// Spacing of drops.
    #[param(expert, default = Spacing::None)]
    #[param(unit = "word", source = "SmRED 2017, equation 5: the drop probability")]
    pub spacing: Spacing,
    /// The parameters of [`Common`].
    #[param(flatten)]
    pub common: Common,
}

/// A queue with SmRED-i.
pub type Smred = Early<Params>;

impl Params {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        in_order(self.min_th, self.max_th)
    }
}

impl Curve for Params {
    fn settings(&self, _ctx: &QueueContext) -> Settings {
        Settings { common: self.common.clone(), weight: self.weight, spacing: self.spacing }
    }

    //= SmRED 2017, equation 5
    fn verdict(&mut self, _now: Time, average: f64) -> Verdict {
        let Params { min_th, max_th, max_p, .. } = *self;
        let i = f64::from(self.i);
        let target = min_th + (max_th - min_th) / 2.0;
        let x = place(average, min_th, max_th);
        if average < min_th {
            Verdict::Pass
        } else if average < target {
            Verdict::Chance(max_p * libm::pow(x, i))
        } else if average < max_th {
            Verdict::Chance(max_p * libm::pow(x, 1.0 / i))
        } else {
            Verdict::Drop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chance(i: u32, average: f64) -> f64 {
        // The thresholds and Pmax of the paper's figure 4.
        let mut params = Params { i, min_th: 20.0, max_th: 80.0, max_p: 0.5, ..Params::default() };
        match params.verdict(Time::ZERO, average) {
            Verdict::Chance(p) => p,
            other => panic!("{other:?}"),
        }
    }

    /// Pmax / 2^i below the midpoint, Pmax / 2^(1/i) above it.
    #[test]
    fn the_probability_jumps_at_target() {
        for i in 2..=5 {
            let power = 2.0_f64.powi(i as i32);
            assert!((chance(i, 50.0 - 1e-9) - 0.5 / power).abs() < 1e-9, "{i}");
            assert!((chance(i, 50.0) - 0.5 / 2.0_f64.powf(1.0 / f64::from(i))).abs() < 1e-12, "{i}");
        }
        assert!((chance(4, 50.0) / 0.5 - 0.84).abs() < 0.001);
    }

    #[test]
    fn the_curve_equals_red_at_the_thresholds() {
        let mut params = Params::default();
        assert_eq!(params.verdict(Time::ZERO, 19.99), Verdict::Pass);
        assert_eq!(params.verdict(Time::ZERO, 20.0), Verdict::Chance(0.0));
        assert_eq!(params.verdict(Time::ZERO, 60.0), Verdict::Drop);
        assert!((chance(3, 80.0 - 1e-9) - 0.5).abs() < 1e-9);
    }
}

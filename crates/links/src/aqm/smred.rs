//! SmRED-i: smart RED.

use super::QueueContext;
use super::parts::early::{Common, Curve, Early, Settings, Spacing, Verdict, in_order, place};
use airwnd_catalog::Params;
use airwnd_units::Time;

/// SmRED-i: RED that drops less below the middle of its thresholds and more above it.
///
/// p = max_p x^i below Target = (min_th + max_th) / 2, max_p x^(1/i) above, with x = (avg - min_th) /
/// (max_th - min_th): at Target it jumps, with i = 4 from max_p / 16 to 0.84 max_p. From max_th on all are dropped.
/// What the paper leaves open is a parameter: the average is [`red`](#red)'s, and its drops are not spaced.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Paul, Kawakami, Tachibana and Hasegawa, Electronics (MDPI), 2017: SmRED", check)]
pub struct Params {
    /// The i of SmRED-i.
    #[param(default = 4, range = 2..=1000, unit = "1", source = "SmRED 2017 §6: SmRED-4")]
    pub i: u32,
    /// Average queue from which on packets are dropped.
    #[param(default = 20.0, range = 0.0..=1e9, unit = "packets", source = "SmRED 2017 §5.1")]
    pub min_th: f64,
    /// Average queue from which on all are.
    #[param(default = 60.0, range = 0.0..=1e9, unit = "packets", source = "SmRED 2017 §5.1: 3 min_th")]
    pub max_th: f64,
    /// Probability of a drop at the upper threshold.
    #[param(default = 0.1, range = 0.0..=1.0, unit = "1", source = "SmRED 2017 §5.1")]
    pub max_p: f64,
    /// Weight of a queue in the average.
    #[param(default = 0.002, range = 1e-9..=1.0, unit = "1", source = "not said; Floyd and Jacobson 1993 §5")]
    pub weight: f64,
    /// How drops are spaced.
    #[param(default = Spacing::None)]
    #[param(unit = "word", source = "SmRED 2017, equation 5: the probability of a drop")]
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

    /// Pmax / 2^i below the middle, Pmax / 2^(1/i) from there on.
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
    fn the_ends_are_those_of_red() {
        let mut params = Params::default();
        assert_eq!(params.verdict(Time::ZERO, 19.99), Verdict::Pass);
        assert_eq!(params.verdict(Time::ZERO, 20.0), Verdict::Chance(0.0));
        assert_eq!(params.verdict(Time::ZERO, 60.0), Verdict::Drop);
        assert!((chance(3, 80.0 - 1e-9) - 0.5).abs() < 1e-9);
    }
}

//! Gentle RED.

use super::QueueContext;
use super::parts::early::{Common, Curve, Early, Settings, Spacing, Verdict, in_order, place};
use airwnd_catalog::Params;
use airwnd_units::Time;

/// Gentle RED: RED whose drop probability rises linearly from max_p to 1 between max_th and 2 max_th.
///
/// Below max_th as [`red`](#red); at or above 2 max_th every packet is dropped.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Floyd: Recommendation on Using the gentle_ Variant of RED, note, 2000", check)]
pub struct Params {
    /// Average queue at which dropping begins.
    #[param(basic, default = 5.0, range = 0.0..=1e9, unit = "packets", source = "Floyd and Jacobson 1993 §5")]
    pub min_th: f64,
    /// Average queue at which the drop probability is `max_p`; at twice this value every packet is dropped.
    #[param(basic)]
    #[param(default = 15.0, range = 0.0..=1e9, unit = "packets", source = "Floyd and Jacobson 1993 §5")]
    pub max_th: f64,
    /// Drop probability at `max_th`.
    #[param(basic)]
    #[param(default = 0.02, range = 0.0..=1.0, unit = "1", source = "Floyd and Jacobson 1993 §5: 1/50")]
    pub max_p: f64,
    /// Weight of the current queue in the average.
    #[param(default = 0.002, range = 1e-9..=1.0, unit = "1", source = "Floyd and Jacobson 1993 §5, w_q")]
    pub weight: f64,
    /// Spacing of drops.
    #[param(expert, default = Spacing::Uniform)]
    #[param(unit = "word", source = "Floyd and Jacobson 1993 §7; `wait`: ns-2 and ns-3, wait_")]
    pub spacing: Spacing,
    /// The parameters of [`Common`].
    #[param(flatten)]
    pub common: Common,
}

/// A queue with gentle RED.
pub type GentleRed = Early<Params>;

impl Params {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        in_order(self.min_th, self.max_th)
    }
}

impl Curve for Params {
    fn settings(&self, _ctx: &QueueContext) -> Settings {
        Settings { common: self.common.clone(), weight: self.weight, spacing: self.spacing }
    }

    fn verdict(&mut self, _now: Time, average: f64) -> Verdict {
        gentle(average, self.min_th, self.max_th, self.max_p)
    }
}

/// Returns the verdict for an average by the curve without a jump at `max_th`.
//= Floyd 2000
pub(super) fn gentle(average: f64, min_th: f64, max_th: f64, max_p: f64) -> Verdict {
    if average < min_th {
        Verdict::Pass
    } else if average < max_th {
        Verdict::Chance(max_p * place(average, min_th, max_th))
    } else if average < 2.0 * max_th {
        Verdict::Chance(max_p + (1.0 - max_p) * place(average, max_th, 2.0 * max_th))
    } else {
        Verdict::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_has_no_jump_below_2_max_th() {
        let at = |average| gentle(average, 5.0, 15.0, 0.02);
        assert_eq!((at(4.99), at(10.0)), (Verdict::Pass, Verdict::Chance(0.01)));
        // From max_p at max_th to 1 at 2 max_th.
        assert_eq!((at(15.0), at(22.5)), (Verdict::Chance(0.02), Verdict::Chance(0.51)));
        assert_eq!(at(30.0), Verdict::Drop);
    }
}

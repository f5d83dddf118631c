//! Adaptive RED.

use super::QueueContext;
use super::gentle_red::gentle;
use super::parts::early::{Common, Curve, Early, Settings, Spacing, Verdict, in_order, place};
use airwnd_catalog::Params;
use airwnd_units::{Span, Time};

/// Adaptive RED: gentle RED that adapts max_p to keep the average queue midway between the thresholds.
///
/// The target range is the middle fifth between the thresholds. Every `interval`, if the average is above the target
/// range and max_p is at most `top`, max_p increases additively:
///
/// ```math
/// \mathrm{max\_p} \leftarrow \mathrm{max\_p} + \min(\alpha, \mathrm{max\_p} / 4)
/// ```
///
/// If the average is below the target range and max_p is at least `bottom`, it decreases multiplicatively:
///
/// ```math
/// \mathrm{max\_p} \leftarrow \beta \cdot \mathrm{max\_p}
/// ```
///
/// Everything else is as in [`gentle-red`](#gentle-red).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Floyd, Gummadi, Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's \
              Active Queue Management, 2001",
    check
)]
pub struct Params {
    /// Average queue at which dropping begins.
    #[param(basic, default = 5.0, range = 0.0..=1e9, unit = "packets", source = "Adaptive RED 2001 §3.4")]
    pub min_th: f64,
    /// Average queue at which the drop probability is max_p; at twice this value every packet is dropped.
    #[param(basic)]
    #[param(default = 15.0, range = 0.0..=1e9, unit = "packets", source = "Adaptive RED 2001 §3.4: 3 min_th")]
    pub max_th: f64,
    /// Initial drop probability at `max_th`.
    #[param(default = 0.02, range = 0.0..=1.0, unit = "1", source = "ns-3 RedQueueDisc::LInterm")]
    pub max_p: f64,
    /// Interval between adaptations of max_p.
    #[param(default = Span::from_millis(500), range = Span::from_millis(1)..=Span::from_secs(1000))]
    #[param(unit = "time", source = "Adaptive RED 2001, figure 4")]
    pub interval: Span,
    /// Maximum increase of max_p per interval.
    #[param(default = 0.01, range = 0.0..=1.0, unit = "1", source = "Adaptive RED 2001, figure 4")]
    pub alpha: f64,
    /// Factor by which max_p decreases.
    #[param(default = 0.9, range = 0.0..=1.0, unit = "1", source = "Adaptive RED 2001, figure 4")]
    pub beta: f64,
    /// Value of max_p above which it does not increase.
    #[param(default = 0.5, range = 0.0..=1.0, unit = "1", source = "Adaptive RED 2001, figure 4")]
    pub top: f64,
    /// Value of max_p below which it does not decrease.
    #[param(default = 0.01, range = 0.0..=1.0, unit = "1", source = "Adaptive RED 2001, figure 4")]
    pub bottom: f64,
    /// Weight of the current queue in the average; `none`: 1 - exp(-1 / C) for a link of C packets per second, 0.002 if
    /// the rate varies.
    #[param(default = None, range = 1e-9..=1.0, unit = "1", source = "Adaptive RED 2001 §3.4, w_q")]
    pub weight: Option<f64>,
    /// Spacing of drops.
    #[param(expert, default = Spacing::Uniform)]
    #[param(unit = "word", source = "Floyd and Jacobson 1993 §7; `wait`: ns-2 and ns-3, wait_")]
    pub spacing: Spacing,
    /// The parameters of [`Common`].
    #[param(flatten)]
    pub common: Common,
}

/// Weight for queues without a known rate.
const WEIGHT: f64 = 0.002;

/// A queue with adaptive RED.
pub type AdaptiveRed = Early<Adaptation>;

/// The curve of adaptive RED, with the current max_p.
pub struct Adaptation {
    params: Params,
    max_p: f64,
    average: f64,
    /// Time of the last adaptation of max_p.
    adapted: Time,
}

impl Params {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        in_order(self.min_th, self.max_th)?;
        if self.bottom > self.top {
            return Err(("bottom", format!("{} exceeds top, {}", self.bottom, self.top)));
        }
        Ok(())
    }
}

impl From<Params> for Adaptation {
    fn from(params: Params) -> Adaptation {
        Adaptation { max_p: params.max_p, params, average: 0.0, adapted: Time::ZERO }
    }
}

impl Adaptation {
    //= Floyd, Gummadi and Shenker 2001, figure 4
    fn adapt(&mut self) {
        let Params { min_th, max_th, alpha, beta, top, bottom, .. } = self.params;
        let place = place(self.average, min_th, max_th);
        if place > 0.6 && self.max_p <= top {
            self.max_p += alpha.min(self.max_p / 4.0);
        } else if place < 0.4 && self.max_p >= bottom {
            self.max_p *= beta;
        }
    }
}

impl Curve for Adaptation {
    fn settings(&self, ctx: &QueueContext) -> Settings {
        let Params { common, spacing, .. } = &self.params;
        //= Floyd, Gummadi and Shenker 2001 §3.4
        let weight = self.params.weight.unwrap_or_else(|| {
            ctx.rate
                .map_or(WEIGHT, |rate| 1.0 - libm::exp(-rate.transmission_time(common.mean_packet).as_secs()))
        });
        Settings { common: common.clone(), weight, spacing: *spacing }
    }

    fn verdict(&mut self, now: Time, average: f64) -> Verdict {
        let Params { min_th, max_th, interval, .. } = self.params;
        // The average does not change without arrivals.
        while now.since(self.adapted) >= interval {
            self.adapted += interval;
            self.adapt();
        }
        self.average = average;
        gentle(average, min_th, max_th, self.max_p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_units::BitRate;

    /// Returns max_p after a number of intervals at a constant average.
    fn after(intervals: u64, average: f64, max_p: f64) -> f64 {
        let mut curve = Adaptation::from(Params { max_p, ..Params::default() });
        curve.verdict(Time::ZERO, average);
        curve.verdict(Time::ZERO + Span::from_millis(500) * intervals, average);
        curve.max_p
    }

    /// Increase by 0.01 or a quarter, decrease by a tenth, no change in the middle fifth: averages of 9 to 11.
    #[test]
    fn max_p_follows_the_average() {
        assert!((after(1, 11.1, 0.1) - 0.11).abs() < 1e-12);
        assert!((after(1, 11.1, 0.02) - 0.025).abs() < 1e-12);
        assert!((after(3, 8.9, 0.1) - 0.1 * 0.9_f64.powi(3)).abs() < 1e-12);
        assert_eq!((after(100, 9.1, 0.1), after(100, 10.9, 0.1)), (0.1, 0.1));
        // The last step may exceed the bounds.
        assert!((0.5..0.51 + 1e-12).contains(&after(1000, 20.0, 0.1)));
        assert!((0.009..0.01).contains(&after(1000, 0.0, 0.1)));
    }

    /// 1 - exp(-1 / C): at 10 Mbit/s, C is 1250 packets of 1000 B per second.
    #[test]
    fn the_weight_follows_from_the_rate() {
        let curve = Adaptation::from(Params::default());
        let ctx = crate::aqm::tests::ctx();
        let weight = |rate| curve.settings(&QueueContext { rate, ..ctx }).weight;
        assert!((weight(Some(BitRate(10_000_000))) - (1.0 - (-1.0 / 1250.0_f64).exp())).abs() < 1e-12);
        assert_eq!(weight(None), 0.002);
    }
}

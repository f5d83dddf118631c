//! Proportional fair.

use super::averages::RateAverages;
use super::metric::{Metric, MetricScheduler};
use super::{Grid, UeView};
use crate::phy::Cqi;
use airwnd_catalog::Params;

/// Proportional fair: each group to the user with the highest rate relative to its own average.
///
/// Metric R / T with R the rate of one group at the user's sub-band CQI and T a moving average of what
/// the user was granted as new data. T changes once per TTI, not from group to group, so on a flat
/// channel one user gets the whole TTI. Equal metrics go to the lower RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 pf-ff-mac-scheduler.cc; Sesia, Toufik, Baker, LTE, §12.3.1")]
pub struct Params {
    /// Window of the average, in TTIs: T <- (1 - 1/window) T + bytes / (window * 1 ms).
    #[param(default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pf-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
}

/// The proportional-fair scheduler.
pub type Pf = MetricScheduler<RelativeRate>;

impl Pf {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::by(RelativeRate::new(params.window, grid))
    }
}

/// R / T: what a group carries, relative to the user's average rate.
pub struct RelativeRate {
    rate_by_cqi: [f64; 16],
    averages: RateAverages,
}

impl RelativeRate {
    /// No users; the averages have a window of so many TTIs.
    pub(crate) fn new(window: f64, grid: &Grid) -> Self {
        RelativeRate { rate_by_cqi: grid.rate_by_cqi, averages: RateAverages::new(window) }
    }
}

impl Metric for RelativeRate {
    fn averages(&mut self) -> Option<&mut RateAverages> {
        Some(&mut self.averages)
    }

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        self.rate_by_cqi[cqi.0 as usize] / self.averages.of(ue.slot)
    }
}

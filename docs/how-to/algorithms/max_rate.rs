//! Maximum rate.

use super::metric::{Metric, MetricScheduler};
use super::{Grid, UeView};
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// Maximum rate: assigns each RBG to the UE with the highest rate in it, without regard to fairness.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Sesia, Toufik and Baker, LTE: The UMTS Long Term Evolution, 2nd ed., section 12.3.1")]
pub struct Params {}

/// Maximum-rate scheduler.
pub type MaxRate = MetricScheduler<GroupRate>;

impl MaxRate {
    /// Creates a scheduler without UEs.
    pub fn new(_params: Params, grid: &Grid) -> Self {
        MetricScheduler::by(GroupRate { by_cqi: grid.rate_by_cqi })
    }
}

/// Rate of a UE in one RBG, by CQI.
pub struct GroupRate {
    by_cqi: [f64; 16],
}

impl Metric for GroupRate {
    fn of(&self, _ue: &UeView, cqi: Cqi) -> f64 {
        self.by_cqi[cqi.0 as usize]
    }
}

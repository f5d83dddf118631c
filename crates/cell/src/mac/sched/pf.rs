//! Proportional fair.

use super::{Candidates, Grants, Grid, LinkAdaptation, RateAverages, Rbgs, Scheduler};
use crate::settings::Bearer;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Tti};

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
pub struct Pf {
    rate_by_cqi: [f64; 16],
    averages: RateAverages,
}

impl Pf {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Pf { rate_by_cqi: grid.rate_by_cqi, averages: RateAverages::new(params.window) }
    }
}

impl Scheduler for Pf {
    fn admit(&mut self, slot: u16, _bearer: &Bearer) {
        self.averages.admit(slot);
    }

    fn release(&mut self, _slot: u16) {}

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        super::best_per_group(free, ues, grants, |ue, cqi| {
            self.rate_by_cqi[cqi.0 as usize] / self.averages.of(ue.slot)
        });
    }

    fn on_served(&mut self, served: &[(u16, Bytes)]) {
        self.averages.update(served);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }

    fn link_adaptation(&self) -> LinkAdaptation {
        LinkAdaptation::LowestSubband
    }
}

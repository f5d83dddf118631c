//! Proportional fair.

use super::averages::RateAverages;
use super::metric::{Metric, MetricScheduler};
use super::{Grid, UeView};
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// Proportional fair: each RBG goes to the UE with the highest ratio of achievable rate to average throughput.
///
/// ```math
/// \frac{R}{T}
/// ```
///
/// ```math
/// T \leftarrow (1 - \frac{1}{w}) T + \frac{1}{w} \cdot \frac{\mathrm{bytes}}{1\,\mathrm{ms}}
/// ```
///
/// R is the rate of one RBG at the UE's sub-band CQI. T is a moving average, with the window w, of the bytes granted to
/// the UE as new data. T changes once per TTI, not from RBG to RBG. On a flat channel, one UE therefore gets the whole
/// TTI. Equal metrics go to the lower RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 pf-ff-mac-scheduler.cc; Sesia, Toufik, Baker: LTE: The UMTS Long Term Evolution, \
              section 12.3.1")]
pub struct Params {
    /// Averaging window: T <- (1 - 1/window) T + bytes / (window * TTI). In NR a TTI is a slot in which the cell can
    /// decide.
    #[param(basic, default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pf-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
}

/// The proportional-fair scheduler.
pub type Pf = MetricScheduler<RelativeRate>;

impl Pf {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::by(RelativeRate::new(params.window, grid))
    }
}

/// R / T: rate of an RBG relative to the UE's average throughput.
pub struct RelativeRate {
    rate_by_cqi: [f64; 16],
    averages: RateAverages,
}

impl RelativeRate {
    /// A metric without UEs; the averages have a window of this many TTIs.
    pub(crate) fn new(window: f64, grid: &Grid) -> Self {
        RelativeRate {
            rate_by_cqi: grid.rate_by_cqi,
            averages: RateAverages::new(window, grid.decisions_per_second),
        }
    }
}

impl Metric for RelativeRate {
    fn averages(&mut self) -> Option<&mut RateAverages> {
        Some(&mut self.averages)
    }

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        ue.rate(&self.rate_by_cqi, cqi) / self.averages.of(ue.slot)
    }
}

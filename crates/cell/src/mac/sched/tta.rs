//! Throughput to average.

use super::metric::{Metric, MetricScheduler};
use super::{Domain, Grid, Ties, UeView};
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// Throughput to average: each RBG goes to the UE with the highest ratio of its rate there to its wideband rate.
///
/// ```math
/// \frac{R_{\mathrm{RBG}}}{R_{\mathrm{wideband}}}
/// ```
///
/// Both are rates of one RBG: at the UE's sub-band CQI there and at its wideband CQI. The metric distributes the RBGs
/// of a frequency-selective channel. On a flat channel it is 1 for all UEs, and `ties` alone decides; the rule of ns-3
/// LENA then serves only the UE with the lowest RNTI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi, Piro, Grieco, Boggia, Camarda: Downlink Packet Scheduling in LTE Cellular Networks: \
              Key Design Issues and a Survey, IEEE Communications Surveys and Tutorials 15(2), 2013, \
              section V-B; ns-3 tta-ff-mac-scheduler.cc"
)]
pub struct Params {
    /// Order of UEs with equal metrics; ns-3 LENA uses `lowest-rnti`.
    #[param(expert, default = Ties::InTurn)]
    #[param(unit = "word", source = "airwnd: UEs share a flat channel")]
    pub ties: Ties,
}

/// The throughput-to-average scheduler.
//= exception tta-ties
pub type Tta = MetricScheduler<RateToWideband>;

impl Tta {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        let metric = RateToWideband { rate_by_cqi: grid.rate_by_cqi };
        MetricScheduler::with(metric, Domain::Frequency, params.ties)
    }
}

/// R_RBG / R_wideband.
pub struct RateToWideband {
    rate_by_cqi: [f64; 16],
}

impl Metric for RateToWideband {
    const USES_WIDEBAND: bool = true;

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        // A UE without a wideband CQI can still use an RBG: the lowest rate replaces its wideband rate.
        self.rate_by_cqi[cqi.0 as usize] / self.rate_by_cqi[ue.wideband.0.max(1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{grants_of, scheduler, selective};

    #[test]
    fn each_rbg_goes_to_the_ue_with_the_highest_relative_rate() {
        // UE 0 has the higher rates everywhere. RBG 1 suits UE 1: at CQI 7 and wideband 5, 47 of 32 B, against 79 of
        // 109 B. RBG 0: 185 of 109 B against 22 of 32.
        let (users, reports) = selective(&[[15, 10, 11], [4, 7, 4]]);
        let mut tta = scheduler("tta");
        assert_eq!(grants_of(&mut *tta, &users, &reports), [(0, 0b101), (1, 0b010)]);
    }

    #[test]
    fn an_rbg_can_be_usable_without_a_wideband_cqi() {
        let (mut users, reports) = selective(&[[0, 3, 0]]);
        users[0].wideband = airwnd_phy::Cqi::OUT_OF_RANGE;
        assert_eq!(grants_of(&mut *scheduler("tta"), &users, &reports), [(0, 0b010)]);
    }
}

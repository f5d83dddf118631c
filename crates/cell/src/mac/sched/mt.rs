//! Maximum throughput.

use super::metric::{Metric, MetricScheduler};
use super::{Domain, Grid, Ties, UeView};
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// Maximum throughput: each RBG goes to the UE with the highest achievable rate, regardless of fairness.
///
/// The metric is the rate R of one RBG: at the UE's sub-band CQI in the frequency domain, at its wideband CQI in the
/// time domain. CQI is coarse, so several UEs often have the highest rate. Their shares then depend on `ties` only; the
/// cell's throughput does not.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi, Piro, Grieco, Boggia, Camarda: Downlink Packet Scheduling in LTE Cellular Networks: \
              Key Design Issues and a Survey, IEEE Communications Surveys and Tutorials 15(2), 2013, \
              section V-B; ns-3 fdmt-ff-mac-scheduler.cc and tdmt-ff-mac-scheduler.cc"
)]
pub struct Params {
    /// Scheduling domain: RBGs or whole TTIs.
    #[param(basic, default = Domain::Frequency)]
    #[param(unit = "word", source = "ns-3 FdMtFfMacScheduler and TdMtFfMacScheduler")]
    pub domain: Domain,
    /// Order of UEs with equal rates.
    #[param(expert)]
    #[param(default = Ties::LowestRnti, unit = "word", source = "ns-3 fdmt-ff-mac-scheduler.cc: lowest-rnti")]
    pub ties: Ties,
}

/// The maximum-throughput scheduler.
pub type Mt = MetricScheduler<Rate>;

impl Mt {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::with(Rate { by_cqi: grid.rate_by_cqi }, params.domain, params.ties)
    }
}

/// R: rate of an RBG.
pub struct Rate {
    by_cqi: [f64; 16],
}

impl Metric for Rate {
    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        ue.rate(&self.by_cqi, cqi)
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{S2, grants_of, saturate_with, scheduler, selective};

    #[test]
    fn the_best_ue_gets_all_ttis() {
        for domain in ["time", "frequency"] {
            let sent = saturate_with(scheduler(&format!(r#""kind": "mt", "domain": "{domain}""#)), &S2, 1000);
            assert_eq!(sent.blocks, [1000, 0, 0, 0, 0, 0, 0, 0, 0, 0], "{domain}");
        }
    }

    #[test]
    fn each_rbg_goes_to_its_best_ue_or_all_to_the_best_wideband_cqi() {
        let (users, reports) = selective(&[[9, 2, 4], [5, 8, 8]]);
        let mut frequency = scheduler("mt");
        assert_eq!(grants_of(&mut *frequency, &users, &reports), [(0, 0b001), (1, 0b110)]);
        let mut time = scheduler(r#""kind": "mt", "domain": "time""#);
        // wideband 5 and 7
        assert_eq!(grants_of(&mut *time, &users, &reports), [(1, 0b111)]);
    }
}

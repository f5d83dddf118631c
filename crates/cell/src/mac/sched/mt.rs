//! Maximum throughput.

use super::metric::{Metric, MetricScheduler};
use super::{Domain, Grid, Ties, UeView};
use crate::phy::Cqi;
use airwnd_catalog::Params;

/// Maximum throughput: the user with the highest rate, however little the others get.
///
/// Metric R: in the frequency domain what one group carries at the user's sub-band CQI, in the time domain what it
/// carries at the wideband CQI. A CQI is coarse, so that several users often have the highest rate: what they get
/// depends on `ties` only, the cell's throughput does not.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi et al., IEEE Communications Surveys and Tutorials 15(2), 2013, section V-B; ns-3 \
              fdmt-ff-mac-scheduler.cc and tdmt-ff-mac-scheduler.cc"
)]
pub struct Params {
    /// Whether groups or whole TTIs are given away.
    #[param(default = Domain::Frequency)]
    #[param(unit = "word", source = "ns-3 FdMtFfMacScheduler and TdMtFfMacScheduler")]
    pub domain: Domain,
    /// Who goes first among users with equal rates.
    #[param(default = Ties::LowestRnti, unit = "word", source = "ns-3 fdmt-ff-mac-scheduler.cc: lowest-rnti")]
    pub ties: Ties,
}

/// The maximum-throughput scheduler.
pub type Mt = MetricScheduler<Rate>;

impl Mt {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        MetricScheduler::with(Rate { by_cqi: grid.rate_by_cqi }, params.domain, params.ties)
    }
}

/// R: what a group carries.
pub struct Rate {
    by_cqi: [f64; 16],
}

impl Metric for Rate {
    fn of(&self, _ue: &UeView, cqi: Cqi) -> f64 {
        self.by_cqi[cqi.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{S2, grants_of, saturate_with, scheduler, selective};

    #[test]
    fn the_best_user_has_it_all() {
        for domain in ["time", "frequency"] {
            let sent = saturate_with(scheduler(&format!(r#""kind": "mt", "domain": "{domain}""#)), &S2, 1000);
            assert_eq!(sent.blocks, [1000, 0, 0, 0, 0, 0, 0, 0, 0, 0], "{domain}");
        }
    }

    #[test]
    fn each_group_goes_to_its_best_user_or_all_to_the_best_on_the_whole() {
        let (users, reports) = selective(&[[9, 2, 4], [5, 8, 8]]);
        let mut frequency = scheduler("mt");
        assert_eq!(grants_of(&mut *frequency, &users, &reports), [(0, 0b001), (1, 0b110)]);
        let mut time = scheduler(r#""kind": "mt", "domain": "time""#);
        // wideband 5 and 7
        assert_eq!(grants_of(&mut *time, &users, &reports), [(1, 0b111)]);
    }
}

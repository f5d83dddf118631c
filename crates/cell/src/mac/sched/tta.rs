//! Throughput to average.

use super::metric::{Metric, MetricScheduler};
use super::{Domain, Grid, Ties, UeView};
use crate::phy::Cqi;
use airwnd_catalog::Params;

/// Throughput to average: each group to the user to whom it is best compared with the rest of its carrier.
///
/// Metric R_group / R_wideband, the rates of one group at the user's sub-band CQI there and at its wideband CQI. It
/// shares out the groups of a selective channel, and says nothing on a flat one, where it is 1 for everybody:
/// there `ties` decides alone. ns-3 LENA's rule then serves the first of all users and nobody else.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Capozzi et al., IEEE Communications Surveys and Tutorials 15(2), 2013, section V-B; ns-3 \
              tta-ff-mac-scheduler.cc"
)]
pub struct Params {
    /// Who goes first among users with equal metrics: `lowest-rnti` is what ns-3 LENA does.
    #[param(default = Ties::InTurn)]
    #[param(unit = "word", source = "airwnd: a channel without preferences is shared")]
    pub ties: Ties,
}

/// The throughput-to-average scheduler.
//= exception tta-ties
pub type Tta = MetricScheduler<RateToWideband>;

impl Tta {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        let metric = RateToWideband { rate_by_cqi: grid.rate_by_cqi };
        MetricScheduler::with(metric, Domain::Frequency, params.ties)
    }
}

/// R_group / R_wideband.
pub struct RateToWideband {
    rate_by_cqi: [f64; 16],
}

impl Metric for RateToWideband {
    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        // A user without a wideband CQI can still have a group in reach: the lowest rate stands for the rest.
        self.rate_by_cqi[cqi.0 as usize] / self.rate_by_cqi[ue.wideband.0.max(1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{grants_of, scheduler, selective};

    #[test]
    fn each_group_goes_to_whom_it_is_best_compared_with_the_rest() {
        // The first user has the higher rates everywhere, and group 1 is the one that suits the other: at CQI 7
        // and wideband 5, 47 of 32 B, against 79 of 109 B. Group 0: 185 of 109 B against 22 of 32.
        let (users, reports) = selective(&[[15, 10, 11], [4, 7, 4]]);
        let mut tta = scheduler("tta");
        assert_eq!(grants_of(&mut *tta, &users, &reports), [(0, 0b101), (1, 0b010)]);
    }

    #[test]
    fn a_group_can_be_in_reach_of_a_user_that_is_not() {
        let (mut users, reports) = selective(&[[0, 3, 0]]);
        users[0].wideband = crate::phy::Cqi::OUT_OF_RANGE;
        assert_eq!(grants_of(&mut *scheduler("tta"), &users, &reports), [(0, 0b010)]);
    }
}

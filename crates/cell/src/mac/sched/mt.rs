//! Maximum throughput.

use super::{Candidates, Domain, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, Ties, Turn};
use crate::phy::Cqi;
use crate::settings::Bearer;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Tti};

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
pub struct Mt {
    domain: Domain,
    turn: Turn,
    rate_by_cqi: [f64; 16],
}

impl Mt {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Mt { domain: params.domain, turn: Turn::new(params.ties), rate_by_cqi: grid.rate_by_cqi }
    }
}

impl Scheduler for Mt {
    fn admit(&mut self, _slot: u16, _bearer: &Bearer) {}

    fn release(&mut self, _slot: u16) {}

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let rate = |cqi: Cqi| self.rate_by_cqi[cqi.0 as usize];
        let leader = match self.domain {
            Domain::Time => super::best_of_tti(self.turn.first(), free, ues, grants, |ue| rate(ue.wideband)),
            Domain::Frequency => {
                super::best_per_group_in_turn(self.turn.first(), free, ues, grants, |_, cqi| rate(cqi))
            }
        };
        self.turn.pass(leader);
    }

    fn on_served(&mut self, _served: &[(u16, Bytes)]) {}

    fn on_idle(&mut self, _ttis: u64) {}

    fn link_adaptation(&self) -> LinkAdaptation {
        self.domain.link_adaptation()
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

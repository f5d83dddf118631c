//! Exponential proportional fair.

use super::{Candidates, Grants, Grid, LinkAdaptation, RateAverages, Rbgs, Scheduler, Urgency};
use crate::phy::Cqi;
use crate::settings::Bearer;
use airwnd_catalog::params;
use airwnd_units::{Bytes, Tti};

params! {
    /// EXP/PF: proportional fair, times an exponential of how much later a real-time user is than real-time users are.
    ///
    /// Metric exp((a D - m) / (1 + sqrt(m))) R / T for bearers of the classes 1, 2, 3, 5 and 7 (`qci`) and R / T
    /// for the others; R the rate of one group at the sub-band CQI, T a moving average of what the user was
    /// granted, D the waiting time of the oldest packet, a = -ln(violation) / budget, m the mean of a D over the
    /// real-time users that wait. Equal metrics go to the lower RNTI.
    pub struct Params ("Capozzi et al., IEEE Communications Surveys and Tutorials 15(2), 2013, section V-C; Rhee, Holtzman and Kim, VTC 2003 Fall") {
        /// Part of the packets that may exceed the delay budget.
        pub violation: f64 = 0.02, unit "1", range 1e-9..=0.99, source "TS 23.203 §6.1.7.2: a confidence of 98 percent";
        /// Window of the average, in TTIs: T <- (1 - 1/window) T + bytes / (window * 1 ms).
        pub window: f64 = 99.0, unit "TTI", range 1.0..=1e6, source "ns-3 pf-ff-mac-scheduler.cc, m_timeWindow";
    }
}

/// The EXP/PF scheduler.
pub struct ExpPf {
    rate_by_cqi: [f64; 16],
    averages: RateAverages,
    urgency: Urgency,
    /// The factor of each user, by slot, in this TTI.
    factors: Vec<f64>,
}

impl ExpPf {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        ExpPf {
            rate_by_cqi: grid.rate_by_cqi,
            averages: RateAverages::new(params.window),
            urgency: Urgency::new(params.violation),
            factors: Vec::new(),
        }
    }
}

impl Scheduler for ExpPf {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        self.averages.admit(slot);
        self.urgency.admit(slot, bearer);
        super::settle(&mut self.factors, slot, 1.0);
    }

    fn release(&mut self, _slot: u16) {}

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let reachable = || ues.users.iter().filter(|ue| ue.flat != Some(Cqi::OUT_OF_RANGE));
        let urgent = || reachable().filter_map(|ue| Some((ue.slot, self.urgency.of_real_time(ue)?)));
        let mean = urgent().map(|(_, urgency)| urgency).sum::<f64>() / urgent().count().max(1) as f64;
        for (slot, urgency) in urgent() {
            self.factors[usize::from(slot)] = libm::exp((urgency - mean) / (1.0 + libm::sqrt(mean)));
        }
        super::best_per_group(free, ues, grants, |ue, cqi| {
            self.factors[usize::from(ue.slot)] * self.rate_by_cqi[cqi.0 as usize] / self.averages.of(ue.slot)
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

    fn heeds_delay(&self) -> bool {
        true
    }
}

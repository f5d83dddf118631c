//! Largest weighted delay first.

use super::{Candidates, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, Urgency};
use crate::phy::Cqi;
use crate::settings::Bearer;
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Tti};

/// Largest weighted delay first: the user whose oldest packet has used up most of its delay budget.
///
/// Metric D / budget with D the waiting time of the oldest packet and the delay budget of the bearer's class
/// (`qci`). The channel does not count but for who can be reached at all, so that a cell with a poor user
/// that is always late serves it before all others.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Stolyar and Ramanan, Annals of Applied Probability 11(1), 2001, with one violation probability \
              for all"
)]
pub struct Params {}

/// The largest-weighted-delay-first scheduler.
pub struct Lwdf {
    urgency: Urgency,
}

impl Lwdf {
    /// A scheduler without users.
    pub fn new(_params: Params, _grid: &Grid) -> Self {
        // A common violation probability scales all metrics alike.
        Lwdf { urgency: Urgency::new(libm::exp(-1.0)) }
    }
}

impl Scheduler for Lwdf {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        self.urgency.admit(slot, bearer);
    }

    fn release(&mut self, _slot: u16) {}

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        super::best_per_group(free, ues, grants, |ue, cqi| {
            if cqi > Cqi::OUT_OF_RANGE { self.urgency.of(ue) } else { 0.0 }
        });
    }

    fn on_served(&mut self, _served: &[(u16, Bytes)]) {}

    fn on_idle(&mut self, _ttis: u64) {}

    fn link_adaptation(&self) -> LinkAdaptation {
        LinkAdaptation::LowestSubband
    }

    fn heeds_delay(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::mac::sched::tests::{bearer, grants_of, scheduler, user};
    use airwnd_units::Span;

    #[test]
    fn the_one_nearest_its_budget_goes_first() {
        let mut lwdf = scheduler("lwdf");
        lwdf.admit(0, &bearer(9, 0));
        lwdf.admit(1, &bearer(7, 0));
        let mut serve = |first: u64, second: u64| {
            let users = [(0, first), (1, second)].map(|(slot, ms)| super::super::UeView {
                head_of_line: Span::from_millis(ms),
                ..user(slot, 9, 9)
            });
            grants_of(&mut *lwdf, &users, &[])
        };
        // budgets of 280 and 80 ms: 27 / 80 > 94 / 280 > 26 / 80
        assert_eq!(serve(94, 27), [(1, 0b111)]);
        assert_eq!(serve(94, 26), [(0, 0b111)]);
    }
}

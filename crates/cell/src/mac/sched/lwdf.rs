//! Largest weighted delay first.

use super::delay::Urgency;
use super::metric::{Metric, MetricScheduler};
use super::{Grid, UeView};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::qci::Qci;
use airwnd_catalog::Params;
use airwnd_phy::Cqi;

/// Largest weighted delay first: serves the UE with the highest ratio of head-of-line delay to delay budget.
///
/// ```math
/// \frac{D}{\mathrm{budget}}
/// ```
///
/// D is the head-of-line delay, and the budget is the packet delay budget of the bearer's QCI (`qci`). Channel quality
/// only decides which UEs can be served at all. A UE with a poor channel that is always late is therefore served before
/// all others.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Stolyar, Ramanan: Largest Weighted Delay First Scheduling: Large Deviations and Optimality, \
              Annals of Applied Probability 11(1), 2001, with one violation probability for all"
)]
pub struct Params {}

/// The largest-weighted-delay-first scheduler.
pub type Lwdf = MetricScheduler<WeightedDelay>;

impl Lwdf {
    /// A scheduler without UEs.
    pub fn new(_params: Params, _grid: &Grid) -> Self {
        // A common violation probability scales all metrics alike.
        MetricScheduler::by(WeightedDelay { urgency: Urgency::new(libm::exp(-1.0)) })
    }
}

/// D / budget of every UE within reach.
pub struct WeightedDelay {
    urgency: Urgency,
}

impl Metric for WeightedDelay {
    const USES_DELAY: bool = true;

    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        self.urgency.set(slot, bearer.qci);
    }

    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.urgency.set(slot, class);
    }

    fn of(&self, ue: &UeView, cqi: Cqi) -> f64 {
        if cqi > Cqi::OUT_OF_RANGE { self.urgency.of(ue) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::identity::UeSlot;
    use crate::mac::sched::tests::{bearer, grants_of, scheduler, user};
    use airwnd_units::Span;

    #[test]
    fn the_ue_nearest_its_budget_is_served_first() {
        let mut lwdf = scheduler("lwdf");
        lwdf.admit(UeSlot(0), &bearer(9, 0));
        lwdf.admit(UeSlot(1), &bearer(7, 0));
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

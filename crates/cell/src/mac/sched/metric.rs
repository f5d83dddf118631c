//! The scheduler of all algorithms that are a metric: groups go to the user with the highest one.

use super::averages::RateAverages;
use super::best::{Turn, best_of_tti, best_per_group};
use super::{Candidates, Domain, Grants, LinkAdaptation, Rbgs, Scheduler, Ties, UeView};
use crate::bearer::Bearer;
use crate::phy::Cqi;
use airwnd_units::{Bytes, Tti};

/// How much a user is worth serving.
///
/// The scheduler calls [`admit`](Metric::admit) for each user that joins, [`begin`](Metric::begin) at the start of
/// each TTI that it allocates, and then [`of`](Metric::of) any number of times.
pub trait Metric: Send {
    /// Whether it reads [`UeView::head_of_line`].
    const HEEDS_DELAY: bool = false;

    /// A user joins the cell at a slot, with nothing of its predecessor there.
    fn admit(&mut self, _slot: u16, _bearer: &Bearer) {}

    /// The users' average rates, if it needs them: the scheduler keeps them up to date, from admission on.
    fn averages(&mut self) -> Option<&mut RateAverages> {
        None
    }

    /// What depends on all users together is computed here, once for each TTI.
    fn begin(&mut self, _users: &[UeView]) {}

    /// The metric of a user for a group in which it reports this CQI, which may be out of range. A user whose metric
    /// is zero is not served.
    fn of(&self, ue: &UeView, cqi: Cqi) -> f64;
}

/// Gives groups to the user with the highest [`Metric`].
///
/// In the frequency domain each group goes to the user with the highest metric at its sub-band CQI there, in the time
/// domain all groups go to the one with the highest metric at its wideband CQI.
pub struct MetricScheduler<M> {
    metric: M,
    domain: Domain,
    turn: Turn,
}

impl<M: Metric> MetricScheduler<M> {
    /// A scheduler without users, which chooses in the frequency domain; equal metrics go to the lowest RNTI.
    pub(crate) fn by(metric: M) -> Self {
        Self::with(metric, Domain::Frequency, Ties::LowestRnti)
    }

    /// A scheduler without users, which chooses in this domain and among equal metrics like this.
    pub(crate) fn with(metric: M, domain: Domain, ties: Ties) -> Self {
        MetricScheduler { metric, domain, turn: Turn::new(ties) }
    }
}

impl<M: Metric> Scheduler for MetricScheduler<M> {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        if let Some(averages) = self.metric.averages() {
            averages.admit(slot);
        }
        self.metric.admit(slot, bearer);
    }

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.metric.begin(ues.users);
        let (metric, first) = (&self.metric, self.turn.first());
        let leader = match self.domain {
            Domain::Time => best_of_tti(first, free, ues, grants, |ue| metric.of(ue, ue.wideband)),
            Domain::Frequency => best_per_group(first, free, ues, grants, |ue, cqi| metric.of(ue, cqi)),
        };
        self.turn.pass(leader);
    }

    fn on_served(&mut self, served: &[(u16, Bytes)]) {
        if let Some(averages) = self.metric.averages() {
            averages.update(served);
        }
    }

    fn on_idle(&mut self, ttis: u64) {
        if let Some(averages) = self.metric.averages() {
            averages.idle(ttis);
        }
    }

    fn link_adaptation(&self) -> LinkAdaptation {
        self.domain.link_adaptation()
    }

    fn heeds_delay(&self) -> bool {
        M::HEEDS_DELAY
    }
}

//! Generic scheduler for algorithms defined by a metric: resources go to the UE with the highest one.

use super::averages::RateAverages;
use super::best::{Turn, best_of_tti, best_per_group};
use super::{
    ByDelay, Candidates, Capabilities, Domain, Grants, PerUe, Properties, Rbgs, Scheduler, Ties, UeView,
    Weighted,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::qci::Qci;
use airwnd_phy::Cqi;
use airwnd_units::{Bytes, Tti};

/// Scheduling metric of a UE.
///
/// The scheduler calls [`admit`](Metric::admit) for each UE that joins, [`begin`](Metric::begin) at the start of each
/// TTI that it allocates, and then [`of`](Metric::of) any number of times.
pub trait Metric: Send {
    /// Whether it reads [`UeView::head_of_line`].
    const USES_DELAY: bool = false;
    /// Whether it reads [`UeView::wideband`].
    const USES_WIDEBAND: bool = false;

    /// A UE joins the cell at a slot; state of the slot's previous UE is discarded.
    fn admit(&mut self, _slot: UeSlot, _bearer: &Bearer) {}

    /// From now on the UE of a slot is ranked by a bearer of this class ([`ByDelay::lead`]).
    fn lead(&mut self, _slot: UeSlot, _class: Qci) {}

    /// The UEs' average throughputs, if the metric needs them. The scheduler updates them from admission on.
    fn averages(&mut self) -> Option<&mut RateAverages> {
        None
    }

    /// Computes, once per TTI, what depends on all UEs together.
    fn begin(&mut self, _users: &[UeView]) {}

    /// The metric of a UE for an RBG in which it reports this CQI, which may be out of range. A UE with a metric of
    /// zero is not served.
    fn of(&self, ue: &UeView, cqi: Cqi) -> f64;
}

/// Gives RBGs to the UE with the highest [`Metric`].
///
/// In the frequency domain, each RBG goes to the UE with the highest metric at its sub-band CQI there. In the time
/// domain, all RBGs go to the UE with the highest metric at its wideband CQI.
pub struct MetricScheduler<M> {
    metric: M,
    domain: Domain,
    turn: Turn,
}

impl<M: Metric> MetricScheduler<M> {
    /// A frequency-domain scheduler without UEs; equal metrics go to the lowest RNTI.
    pub(crate) fn by(metric: M) -> Self {
        Self::with(metric, Domain::Frequency, Ties::LowestRnti)
    }

    /// A scheduler without UEs for this domain and this rule for equal metrics.
    pub(crate) fn with(metric: M, domain: Domain, ties: Ties) -> Self {
        MetricScheduler { metric, domain, turn: Turn::new(ties) }
    }
}

impl<M: Metric> Scheduler for MetricScheduler<M> {
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.metric.begin(ues.users);
        let (metric, first) = (&self.metric, self.turn.first());
        let leader = match self.domain {
            Domain::Time => best_of_tti(first, free, ues, grants, |ue| metric.of(ue, ue.wideband)),
            Domain::Frequency => best_per_group(first, free, ues, grants, |ue, cqi| metric.of(ue, cqi)),
        };
        self.turn.pass(leader);
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        if let Some(averages) = self.metric.averages() {
            averages.update(served);
        }
    }
}

impl<M: Metric> Capabilities for MetricScheduler<M> {
    fn properties(&self) -> Properties {
        let uses_wideband = M::USES_WIDEBAND || self.domain == Domain::Time;
        Properties { uses_wideband, ..Properties::new(self.domain.link_adaptation()) }
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn by_delay(&mut self) -> Option<&mut dyn ByDelay> {
        if M::USES_DELAY { Some(self) } else { None }
    }

    fn weighted(&mut self) -> Option<&mut dyn Weighted> {
        Some(self.metric.averages()?)
    }
}

impl<M: Metric> PerUe for MetricScheduler<M> {
    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        if let Some(averages) = self.metric.averages() {
            averages.admit(slot);
        }
        self.metric.admit(slot, bearer);
    }

    fn on_idle(&mut self, ttis: u64) {
        if let Some(averages) = self.metric.averages() {
            averages.idle(ttis);
        }
    }
}

impl<M: Metric> ByDelay for MetricScheduler<M> {
    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.metric.lead(slot, class);
    }
}

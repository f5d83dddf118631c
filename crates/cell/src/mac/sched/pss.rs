//! Priority set scheduler.

use super::averages::RateAverages;
use super::best::best_per_group;
use super::{Candidates, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use crate::bearer::Bearer;
use crate::phy::Cqi;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Tti};
use std::cmp::Ordering;

/// Metric of the frequency-domain step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FrequencyMetric {
    /// Proportional fair over the scheduled TTIs only.
    #[word = "pfsch"]
    PfSch,
    /// The group's CQI over the sum of the user's CQIs (carrier over interference to average).
    #[word = "coita"]
    Coita,
}

/// Which users may be selected in the time domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Contenders {
    /// Users that at least one group can serve.
    #[word = "reachable"]
    Reachable,
    /// Users with a wideband CQI above zero, as in ns-3 LENA. Where no group can serve them they are selected in vain:
    /// their averages fall to nothing, and a few of them take all places and silence the cell.
    #[word = "wideband"]
    Wideband,
}

/// Priority set: users below their guaranteed rate first, the others proportionally fair.
///
/// Time domain: users whose average T is below their target rate form set 1 with metric 1/T, the others
/// set 2 with metric R/T (R at the wideband CQI). The best half of all, set 1 first, goes on to the
/// frequency domain, where each group goes to the highest weight max(1, target/T) times the frequency
/// metric. Without guaranteed rates everybody is in set 2. Equal metrics go to the higher RNTI in the time
/// domain and to the lower one in the frequency domain, as in ns-3 LENA.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Monghal et al., VTC 2008 Spring; ns-3 pss-ff-mac-scheduler.cc")]
pub struct Params {
    /// Window of both averages, in TTIs.
    #[param(default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pss-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
    /// Users that go on to the frequency domain; none: half of them, at least one.
    #[param(default = None, range = 1..=1000, unit = "users", source = "ns-3 PssFfMacScheduler::nMux")]
    pub multiplexed: Option<u16>,
    /// Metric of the frequency domain.
    #[param(default = FrequencyMetric::PfSch)]
    #[param(unit = "word", source = "ns-3 PssFfMacScheduler::PssFdSchedulerType")]
    pub frequency_metric: FrequencyMetric,
    /// Which users compete for a place in the frequency domain.
    #[param(default = Contenders::Reachable)]
    #[param(unit = "word", source = "airwnd; ns-3 pss-ff-mac-scheduler.cc: wideband")]
    pub contenders: Contenders,
}

/// The priority-set scheduler.
pub struct Pss {
    params: Params,
    rate_by_cqi: [f64; 16],
    targets: Vec<f64>,
    averages: RateAverages,
    /// Averages over the TTIs in which the user reached the frequency domain.
    scheduled_averages: RateAverages,
    /// Groups of the carrier.
    groups: u8,
    ranks: Vec<Ranked>,
    order: Vec<Ranked>,
    selected: Vec<UeView>,
}

/// A user's rank in the time domain; the order is that of precedence.
#[derive(Clone, Copy)]
struct Ranked {
    below_target: bool,
    metric: f64,
    slot: u16,
}

impl Ranked {
    /// Set 1 before set 2, then the higher metric, then the higher RNTI.
    fn precedence(&self, other: &Ranked) -> Ordering {
        (other.below_target.cmp(&self.below_target))
            .then(other.metric.total_cmp(&self.metric))
            .then(other.slot.cmp(&self.slot))
    }
}

impl Pss {
    /// A scheduler without users.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Pss {
            rate_by_cqi: grid.rate_by_cqi,
            targets: Vec::new(),
            averages: RateAverages::new(params.window),
            scheduled_averages: RateAverages::new(params.window),
            groups: grid.rbgs,
            ranks: Vec::new(),
            order: Vec::new(),
            selected: Vec::new(),
            params,
        }
    }

    fn rank(&self, ue: &UeView) -> Ranked {
        let average = self.averages.of(ue.slot);
        let below_target = average < self.targets[ue.slot as usize];
        let rate = self.rate_by_cqi[ue.wideband.0 as usize];
        let metric = if below_target { 1.0 / average } else { rate / average };
        Ranked { below_target, metric, slot: ue.slot }
    }

    /// Fills `selected` with the users that go on to the frequency domain, by ascending slot.
    fn time_domain(&mut self, ues: &[UeView]) {
        self.selected.clear();
        //= exception pss-out-of-reach
        let wideband_only = self.params.contenders == Contenders::Wideband;
        let contends =
            |ue: &&UeView| ue.wideband.0 > 0 && (wideband_only || ue.flat != Some(Cqi::OUT_OF_RANGE));
        self.selected.extend(ues.iter().filter(contends));
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.clear();
        ranks.extend(self.selected.iter().map(|ue| self.rank(ue)));
        let users = ranks.len();
        let wanted = self.params.multiplexed.map_or((users / 2).max(1), usize::from);
        if wanted < users {
            self.order.clone_from(&ranks);
            let (_, first_out, _) = self.order.select_nth_unstable_by(wanted, Ranked::precedence);
            let mut rank = ranks.iter();
            self.selected
                .retain(|_| rank.next().is_some_and(|rank| rank.precedence(first_out) == Ordering::Less));
        }
        self.ranks = ranks;
    }
}

impl Scheduler for Pss {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        settle(&mut self.targets, slot, (bearer.gbr.0 / 8) as f64);
        self.averages.admit(slot);
        self.scheduled_averages.admit(slot);
    }

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.time_domain(ues.users);
        let weight = |ue: &UeView| {
            let target = self.targets[ue.slot as usize];
            if target > 0.0 { (target / self.averages.of(ue.slot)).max(1.0) } else { 1.0 }
        };
        let selected = Candidates { users: &self.selected, ..ues };
        best_per_group(0, free, selected, grants, |ue, cqi| {
            let metric = match self.params.frequency_metric {
                FrequencyMetric::PfSch => {
                    self.rate_by_cqi[cqi.0 as usize] / self.scheduled_averages.of(ue.slot)
                }
                // ns-3 keeps the sum in eight bits and turns a metric of zero into one; both favour the worst
                // channels.
                FrequencyMetric::Coita => {
                    let all = (0..self.groups).map(|group| f64::from(ues.subband(ue, group).0));
                    f64::from(cqi.0) / all.sum::<f64>().max(1.0)
                }
            };
            weight(ue) * metric
        });
    }

    fn on_served(&mut self, served: &[(u16, Bytes)]) {
        for ue in &self.selected {
            let bytes =
                served.iter().find(|(slot, _)| *slot == ue.slot).map_or(Bytes::ZERO, |(_, bytes)| *bytes);
            self.scheduled_averages.update_one(ue.slot, bytes);
        }
        self.averages.update(served);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }

    fn link_adaptation(&self) -> LinkAdaptation {
        LinkAdaptation::LowestSubband
    }
}

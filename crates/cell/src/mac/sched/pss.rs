//! Priority set scheduler.

use super::averages::RateAverages;
use super::best::best_per_group_of;
use super::{Candidates, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use crate::bearer::Bearer;
use crate::phy::Cqi;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Tti};

/// Metric of the frequency-domain step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FrequencyMetric {
    /// PF, with the average taken only over the TTIs in which the UE was selected.
    #[word = "pfsch"]
    PfSch,
    /// Carrier over interference to average (CoItA): the RBG's CQI over the sum of the UE's CQIs.
    #[word = "coita"]
    Coita,
}

/// UEs that the time domain can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Contenders {
    /// UEs that can be served in at least one RBG.
    #[word = "reachable"]
    Reachable,
    /// UEs with a wideband CQI above zero, as in ns-3 LENA. A UE that no RBG can serve is selected without effect and
    /// its average decays to zero; a few such UEs occupy all places and block the cell.
    #[word = "wideband"]
    Wideband,
}

/// Priority set: selects UEs below their guaranteed rate first, the others by PF; assigns RBGs by a weighted metric.
///
/// Time domain: UEs whose average throughput T is below their target rate form set 1, all others set 2. Set 1 precedes
/// set 2; the metrics within the sets are
///
/// ```math
/// m_1 = \frac{1}{T}
/// ```
///
/// ```math
/// m_2 = \frac{R}{T}
/// ```
///
/// with R the rate at the wideband CQI. The first `multiplexed` UEs, by default half of them, are selected for the
/// frequency domain.
///
/// Frequency domain: each RBG goes to the selected UE with the highest
///
/// ```math
/// \max(1, \frac{\mathrm{target}}{T}) \cdot m
/// ```
///
/// where m is the `frequency_metric` and the target is the bearer's guaranteed rate. Without guaranteed rates all UEs
/// are in set 2. Equal metrics go to the higher RNTI in the time domain and to the lower one in the frequency domain,
/// as in ns-3 LENA.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Monghal, Pedersen, Kovács, Mogensen: QoS Oriented Time and Frequency Domain Packet \
              Schedulers for The UTRAN Long Term Evolution, VTC Spring 2008; ns-3 pss-ff-mac-scheduler.cc")]
pub struct Params {
    /// Window of both averages.
    #[param(default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pss-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
    /// Number of UEs selected for the frequency domain; `none`: half of the UEs, at least one.
    #[param(default = None, range = 1..=1000, unit = "UEs", source = "ns-3 PssFfMacScheduler::nMux")]
    pub multiplexed: Option<u16>,
    /// Metric of the frequency domain.
    #[param(default = FrequencyMetric::PfSch)]
    #[param(unit = "word", source = "ns-3 PssFfMacScheduler::PssFdSchedulerType")]
    pub frequency_metric: FrequencyMetric,
    /// UEs that compete for selection in the time domain.
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
    /// Averages over the TTIs in which the UE was selected for the frequency domain.
    scheduled_averages: RateAverages,
    /// RBGs of the carrier.
    groups: u8,
    /// Ranks of the UEs of this TTI.
    ranks: Vec<Rank>,
    // Scratch list, kept for its capacity.
    order: Vec<Rank>,
    /// The UEs selected for the frequency domain: place among all UEs, and slot.
    selected: Vec<(u16, u16)>,
}

/// A UE's rank in the time domain; the higher one precedes, and of equal ones that of the higher slot. The highest bit
/// is set for UEs in set 1; the others are those of the metric. The bits of floating-point numbers that are not
/// negative are in the order of the numbers.
type Rank = u64;

fn rank(below_target: bool, metric: f64) -> Rank {
    u64::from(below_target) << 63 | metric.to_bits()
}

impl Pss {
    /// A scheduler without UEs.
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

    fn rank(&self, ue: &UeView) -> Rank {
        let average = self.averages.of(ue.slot);
        let below_target = average < self.targets[ue.slot as usize];
        let rate = ue.rate(&self.rate_by_cqi, ue.wideband);
        let metric = if below_target { 1.0 / average } else { rate / average };
        rank(below_target, metric)
    }

    /// Selects UEs for the frequency domain: notes them in descending order.
    fn time_domain(&mut self, ues: &[UeView]) {
        let mut ranks = std::mem::take(&mut self.ranks);
        //= exception pss-out-of-reach
        let wideband_only = self.params.contenders == Contenders::Wideband;
        let mut contenders = 0;
        ranks.clear();
        ranks.extend(ues.iter().map(|ue| {
            let contends = ue.wideband.0 > 0 && (wideband_only || ue.flat != Some(Cqi::OUT_OF_RANGE));
            contenders += usize::from(contends);
            if contends { self.rank(ue) } else { 0 }
        }));
        let wanted = self.params.multiplexed.map_or((contenders / 2).max(1), usize::from);
        let (lowest, mut equal) = if wanted < contenders {
            self.order.clone_from(&ranks);
            let (_, lowest, higher) = self.order.select_nth_unstable(ues.len() - wanted);
            (*lowest, wanted - higher.iter().filter(|rank| **rank > *lowest).count())
        } else {
            (1, wanted)
        };
        self.selected.clear();
        for (place, (rank, ue)) in ranks.iter().zip(ues).enumerate().rev() {
            if *rank > lowest || *rank == lowest && equal > 0 {
                equal -= usize::from(*rank == lowest);
                self.selected.push((place as u16, ue.slot));
            }
        }
        self.ranks = ranks;
    }

    /// Assigns RBGs to the selected UEs.
    fn frequency_domain(&self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let weight = |ue: &UeView| {
            let target = self.targets[ue.slot as usize];
            if target > 0.0 { (target / self.averages.of(ue.slot)).max(1.0) } else { 1.0 }
        };
        let selected = self.selected.iter().rev().map(|(place, _)| &ues.users[usize::from(*place)]);
        best_per_group_of(selected, free, ues.reports, grants, |ue, cqi| {
            let metric = match self.params.frequency_metric {
                FrequencyMetric::PfSch => {
                    ue.rate(&self.rate_by_cqi, cqi) / self.scheduled_averages.of(ue.slot)
                }
                // ns-3 keeps the sum in eight bits and turns a metric of zero into one; both favour UEs with the worst
                // channels.
                FrequencyMetric::Coita => {
                    let all = (0..self.groups).map(|group| f64::from(ues.subband(ue, group).0));
                    f64::from(cqi.0) / all.sum::<f64>().max(1.0)
                }
            };
            weight(ue) * metric
        });
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
        self.frequency_domain(free, ues, grants);
    }

    fn allocate_again(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.selected.clear();
        let all = ues.users.iter().enumerate().rev();
        self.selected.extend(all.map(|(place, ue)| (place as u16, ue.slot)));
        self.frequency_domain(free, ues, grants);
    }

    fn on_served(&mut self, served: &[(u16, Bytes)]) {
        self.scheduled_averages.update_some(self.selected.iter().map(|(_, slot)| *slot), served);
        self.averages.update(served);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }

    fn link_adaptation(&self) -> LinkAdaptation {
        LinkAdaptation::LowestSubband
    }
}

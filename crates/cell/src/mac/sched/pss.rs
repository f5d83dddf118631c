//! Priority set scheduler.

use super::averages::{LANES, RateAverages, settle_in_lanes};
use super::best::best_per_group_of;
use super::{Candidates, Grants, Grid, LinkAdaptation, Rbgs, Scheduler, UeView, settle};
use crate::bearer::Bearer;
use crate::mac::make_room;
use crate::mac::slots::Slots;
use crate::phy::Cqi;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Tti};
use std::cmp::Reverse;

/// Moves per slot after which slots are sorted anew, because many ranks have changed.
const MOST_MOVES: usize = 4;

/// Factor from a metric to a number below it that is above nearly all lower metrics.
const BELOW: f64 = 1.0 - 1e-9;

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
    /// By slot.
    targets: Vec<f64>,
    /// Whether any target is above zero.
    has_targets: bool,
    averages: RateAverages,
    /// Averages over the TTIs in which the UE was selected for the frequency domain.
    scheduled_averages: RateAverages,
    /// RBGs of the carrier.
    groups: u8,
    contest: Contest,
    /// Ranks of the UEs of this TTI, by slot; zero: it does not compete.
    ranks: Vec<Rank>,
    /// Scratch: the metrics of the time domain, and those of the frequency domain, by slot.
    metrics: [Vec<[f64; LANES]>; 2],
    /// All slots in descending order of rank when they were last sorted.
    order: Vec<u16>,
    /// What the time-domain metrics of the UEs selected in this TTI reach, and no others; `None`: they are listed.
    threshold: Option<f64>,
    /// A number between the metrics selected last and the others.
    limit: f64,
    /// The UEs selected for the frequency domain, in any order, if there is no threshold.
    selected: Vec<u16>,
    /// Scratch: the same UEs in ascending order of slots.
    ascending: Slots,
}

/// What follows from the UEs of a TTI and their reports alone.
#[derive(Default)]
struct Contest {
    /// Version of the candidates.
    version: Option<u64>,
    /// Number of UEs that compete in the time domain.
    count: usize,
    /// Rates at the wideband CQI, by slot; zero: the UE does not compete.
    rates: Vec<f64>,
    /// Rates at the CQI of all RBGs, by slot, and whether each UE has one.
    flat_rates: Vec<f64>,
    all_flat: bool,
    /// Places among all UEs, by slot.
    places: Vec<u16>,
}

/// A UE's rank in the time domain; the higher one precedes, and of equal ones that of the higher slot. The highest bit
/// is set for UEs in set 1; the others are those of the metric. The bits of floating-point numbers that are not
/// negative are in the order of the numbers.
type Rank = u64;

fn ranked(below_target: bool, metric: f64) -> Rank {
    u64::from(below_target) << 63 | metric.to_bits()
}

impl Pss {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Pss {
            rate_by_cqi: grid.rate_by_cqi,
            targets: Vec::new(),
            has_targets: false,
            averages: RateAverages::new(params.window),
            scheduled_averages: RateAverages::new(params.window),
            groups: grid.rbgs,
            contest: Contest::default(),
            ranks: Vec::new(),
            metrics: [Vec::new(), Vec::new()],
            threshold: None,
            limit: 0.0,
            order: Vec::new(),
            selected: Vec::new(),
            ascending: Slots::default(),
            params,
        }
    }

    /// Updates what follows from the UEs and their reports alone.
    fn enter(&mut self, ues: Candidates<'_>) {
        let Contest { version, count, rates, flat_rates, all_flat, places } = &mut self.contest;
        if version.is_some() && *version == ues.version {
            return;
        }
        //= exception pss-out-of-reach
        let wideband_only = self.params.contenders == Contenders::Wideband;
        (*version, *count, *all_flat) = (ues.version, 0, true);
        rates.fill(0.0);
        for (place, ue) in (0..).zip(ues.users) {
            let slot = usize::from(ue.slot);
            if ue.wideband.0 > 0 && (wideband_only || ue.flat != Some(Cqi::OUT_OF_RANGE)) {
                *count += 1;
                rates[slot] = ue.rate(&self.rate_by_cqi, ue.wideband);
            }
            flat_rates[slot] = ue.rate(&self.rate_by_cqi, ue.flat.unwrap_or(Cqi::OUT_OF_RANGE));
            *all_flat &= ue.flat.is_some();
            places[slot] = place;
        }
    }

    /// Selects UEs for the frequency domain.
    fn time_domain(&mut self) {
        let Contest { count, rates, .. } = &self.contest;
        let users = rates.iter().zip(self.averages.all().as_flattened());
        if self.has_targets {
            for ((rank, (rate, average)), target) in self.ranks.iter_mut().zip(users).zip(&self.targets) {
                let below_target = *rate > 0.0 && average < target;
                *rank = ranked(below_target, if below_target { 1.0 } else { *rate } / average);
            }
        } else {
            let ranks = self.ranks.iter_mut().zip(users);
            ranks.for_each(|(rank, (rate, average))| *rank = ranked(false, rate / average));
        }
        let wanted = self.params.multiplexed.map_or((count / 2).max(1), usize::from).min(*count);
        self.sort();
        self.selected.clear();
        self.selected.extend_from_slice(&self.order[..wanted]);
        self.threshold = None;
        self.limit =
            self.selected.last().map_or(0.0, |slot| f64::from_bits(self.ranks[usize::from(*slot)])) * BELOW;
    }

    /// Gives the RBGs to the best of the selected UEs without sorting, if channels are flat; returns whether it did.
    ///
    /// From TTI to TTI mostly the UE served last leaves the selection and the next one enters it.
    fn allocate_flat(&mut self, free: Rbgs, grants: &mut Grants) -> bool {
        let Contest { count, rates, flat_rates, all_flat, .. } = &self.contest;
        // With a shorter window averages reach zero, and a metric may be no number.
        let is_regular = *all_flat && !self.has_targets && self.params.window >= 2.0;
        let wanted = self.params.multiplexed.map_or((count / 2).max(1), usize::from).min(*count);
        if !is_regular || wanted == 0 || self.params.frequency_metric != FrequencyMetric::PfSch {
            return false;
        }
        // Since the last decision all metrics have risen alike.
        let expected = self.limit / (1.0 - 1.0 / self.params.window);
        let mut time = Division::default();
        let [of_time, of_frequency] = &mut self.metrics;
        let averages = self.averages.all();
        for ((rates, averages), metrics) in rates.as_chunks().0.iter().zip(averages).zip(&mut *of_time) {
            time.add(rates, averages, expected, metrics);
        }
        let above = time.above.iter().sum::<u64>() as usize;
        let threshold = match wanted.checked_sub(above) {
            Some(0) => expected,
            Some(1) => time.highest_below.into_iter().fold(0.0, f64::max),
            _ => return false,
        };
        let mut selection = Selection::default();
        let (rates, averages) = (flat_rates.as_chunks().0.iter(), self.scheduled_averages.all());
        for (((rates, averages), metrics), of_time) in
            rates.zip(averages).zip(&mut *of_frequency).zip(&*of_time)
        {
            selection.add(rates, averages, (of_time, threshold), metrics);
        }
        // Sorting decides between equal metrics.
        if selection.count.iter().sum::<u64>() as usize != wanted {
            return false;
        }
        self.threshold = Some(threshold);
        self.limit = if above == wanted { threshold } else { threshold * BELOW };
        let highest = selection.highest.into_iter().fold(0.0, f64::max);
        if highest > 0.0 {
            let is_in =
                |metrics: &[f64; LANES]| metrics.iter().fold(false, |is_in, own| is_in | (*own == highest));
            let first = LANES * of_frequency.iter().position(is_in).expect("it is one of the metrics");
            let slot = (first..).zip(of_frequency[first / LANES]).find(|(_, metric)| *metric == highest);
            grants.give(slot.expect("it is one of these metrics").0 as u16, free);
        }
        true
    }

    /// Sorts the slots by rank.
    // From TTI to TTI the averages decay alike, so that few UEs change their places, mostly the one served last, which
    // moves down: insertion from below takes one comparison for each of the others.
    fn sort(&mut self) {
        let Pss { order, ranks, .. } = self;
        let ranks = &ranks[..];
        let ranked = |slot: u16| (ranks[usize::from(slot)], slot);
        let mut moves = MOST_MOVES * order.len();
        let (mut unsorted, mut below) = (order.len(), (0, 0));
        let falls = |slot: &u16, below: &mut (Rank, u16)| {
            let own = ranked(*slot);
            // Mostly the rank alone decides.
            let falls = own.0 <= below.0 && own < *below;
            *below = own;
            falls
        };
        while let Some(start) = order[..unsorted].iter().rposition(|slot| falls(slot, &mut below)) {
            let passed = order[start + 1..].partition_point(|other| ranked(*other) > below);
            order[start..=start + passed].rotate_left(1);
            match moves.checked_sub(passed) {
                Some(left) => moves = left,
                None => return order.sort_unstable_by_key(|slot| Reverse(ranked(*slot))),
            }
            (unsorted, below) = (start, ranked(order[start]));
        }
    }

    /// Assigns RBGs to the selected UEs.
    fn frequency_domain(&mut self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let Contest { places, .. } = &self.contest;
        self.ascending.clear();
        self.selected.iter().for_each(|slot| self.ascending.insert(*slot));
        let weight = |ue: &UeView| {
            let target = self.targets[usize::from(ue.slot)];
            if target > 0.0 { (target / self.averages.of(ue.slot)).max(1.0) } else { 1.0 }
        };
        let selected = self.ascending.iter().map(|slot| &ues.users[usize::from(places[usize::from(slot)])]);
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

/// Comparison of the metrics of the time domain with a threshold.
#[derive(Default)]
struct Division {
    above: [u64; LANES],
    highest_below: [f64; LANES],
}

impl Division {
    /// Divides the rates by the averages, and compares the metrics.
    #[inline(always)]
    fn add(
        &mut self,
        rates: &[f64; LANES],
        averages: &[f64; LANES],
        threshold: f64,
        metrics: &mut [f64; LANES],
    ) {
        for lane in 0..LANES {
            let metric = rates[lane] / averages[lane];
            let is_above = metric > threshold;
            self.above[lane] += u64::from(is_above);
            let below = if is_above { 0.0 } else { metric };
            let highest = &mut self.highest_below[lane];
            *highest = if below > *highest { below } else { *highest };
            metrics[lane] = metric;
        }
    }
}

/// The UEs selected by their metrics of the time domain, compared in the frequency domain.
#[derive(Default)]
struct Selection {
    count: [u64; LANES],
    highest: [f64; LANES],
}

impl Selection {
    /// Divides the rates by the averages, and finds the highest metric. The metrics of UEs below the threshold of the
    /// time domain are zero.
    #[inline(always)]
    fn add(
        &mut self,
        rates: &[f64; LANES],
        averages: &[f64; LANES],
        (of_time, threshold): (&[f64; LANES], f64),
        metrics: &mut [f64; LANES],
    ) {
        for lane in 0..LANES {
            let is_selected = of_time[lane] >= threshold;
            self.count[lane] += u64::from(is_selected);
            let metric = rates[lane] / averages[lane];
            let metric = if is_selected { metric } else { 0.0 };
            let highest = &mut self.highest[lane];
            *highest = if metric > *highest { metric } else { *highest };
            metrics[lane] = metric;
        }
    }
}

impl Scheduler for Pss {
    fn admit(&mut self, slot: u16, bearer: &Bearer) {
        settle(&mut self.targets, slot, (bearer.gbr.0 / 8) as f64);
        self.has_targets = self.targets.iter().any(|target| *target > 0.0);
        self.averages.admit(slot);
        self.scheduled_averages.admit(slot);
        settle(&mut self.ranks, slot, 0);
        let Contest { version, rates, flat_rates, places, .. } = &mut self.contest;
        *version = None;
        settle_in_lanes(rates, slot, 0.0, 0.0);
        settle_in_lanes(flat_rates, slot, 0.0, 0.0);
        settle(places, slot, 0);
        let lanes = rates.len() / LANES;
        self.metrics.iter_mut().for_each(|metrics| metrics.resize(lanes, [0.0; LANES]));
        if usize::from(slot) == self.order.len() {
            self.order.push(slot);
        }
        make_room(&mut self.selected, self.order.len());
        self.ascending.reserve(self.order.len());
    }

    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.enter(ues);
        if !self.allocate_flat(free, grants) {
            self.time_domain();
            self.frequency_domain(free, ues, grants);
        }
    }

    fn allocate_again(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.enter(ues);
        self.threshold = None;
        self.selected.clear();
        self.selected.extend(ues.users.iter().map(|ue| ue.slot));
        self.frequency_domain(free, ues, grants);
    }

    fn on_served(&mut self, served: &[(u16, Bytes)]) {
        match self.threshold {
            Some(threshold) => {
                self.scheduled_averages.update_where(&self.metrics[0], threshold, served);
            }
            None => self.scheduled_averages.update_some(&self.selected, served),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::tests::{bearer, grid, user};
    use proptest::prelude::*;

    proptest! {
        /// While the UEs and their reports remain, a scheduler that knows it decides as one that does not; and those
        /// selected are the ones with the highest ranks.
        #[test]
        fn what_is_kept_does_not_change_decisions(
            steps in prop::collection::vec((any::<bool>(), prop::collection::vec((any::<bool>(), 0u8..16), 40)), 1..50),
            gbr in prop_oneof![Just(0u64), Just(80_000)],
            is_served: bool,
        ) {
            let params = || Params {
                window: 9.0,
                multiplexed: None,
                frequency_metric: FrequencyMetric::PfSch,
                contenders: Contenders::Reachable,
            };
            let mut both = [Pss::new(params(), &grid()), Pss::new(params(), &grid())];
            for pss in &mut both {
                (0..40).for_each(|slot| pss.admit(slot, &bearer(1, if slot % 3 == 0 { gbr } else { 0 })));
                if is_served {
                    (0..40).for_each(|slot| pss.averages.update(&[(slot, Bytes(100 + u64::from(slot)))]));
                }
            }
            let (mut users, mut version) = (Vec::new(), 0);
            for (changes, drawn) in steps {
                if changes || version == 0 {
                    version += 1;
                    let drawn = (0..).zip(drawn).filter(|(_, (is_ready, _))| *is_ready);
                    users = drawn.map(|(slot, (_, cqi))| user(slot, cqi, cqi)).collect();
                }
                let [kept, anew] = [Some(version), None].map(|version| {
                    let pss = &mut both[usize::from(version.is_none())];
                    let mut grants = Grants::default();
                    let ues = Candidates { users: &users, reports: &[], version };
                    pss.allocate(Tti(0), Rbgs::first(7), ues, &mut grants);
                    let served: Vec<_> = grants.iter().map(|(slot, rbgs)| (slot, Bytes(rbgs.0.into()))).collect();
                    pss.on_served(&served);
                    let mut selected: Vec<u16> = match pss.threshold {
                        None => pss.selected.clone(),
                        Some(threshold) => {
                            let metrics = pss.metrics[0].as_flattened();
                            (0..40).filter(|slot| metrics[usize::from(*slot)] >= threshold).collect()
                        }
                    };
                    selected.sort_unstable();
                    (served, selected)
                });
                prop_assert_eq!(&kept, &anew);
                let mut slots: Vec<u16> = (0..40).collect();
                let Pss { threshold, ranks, metrics: [metrics, _], .. } = &both[0];
                slots.sort_by_key(|slot| {
                    let place = usize::from(*slot);
                    Reverse((threshold.map_or(ranks[place], |_| metrics.as_flattened()[place].to_bits()), *slot))
                });
                let mut highest = slots[..kept.1.len()].to_vec();
                highest.sort_unstable();
                prop_assert_eq!(kept.1, highest);
            }
        }
    }
}

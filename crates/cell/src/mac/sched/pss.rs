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

/// Passes over the metrics to find the limit of a selection, the first one with that expected.
const ATTEMPTS: usize = 2;

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
    /// Scratch: what follows from the metrics of a TTI with a threshold.
    sheet: Sheet,
    /// All slots in descending order of rank when they were last sorted.
    order: Vec<u16>,
    /// What the time-domain metrics of the UEs selected in this TTI exceed, and no others; `None`: they are listed.
    threshold: Option<Threshold>,
    /// A number that will be between the metrics selected next and the others, if they rise as those of UEs that are not
    /// served.
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
            averages: RateAverages::new(params.window, grid.decisions_per_second),
            scheduled_averages: RateAverages::new(params.window, grid.decisions_per_second),
            groups: grid.rbgs,
            contest: Contest::default(),
            ranks: Vec::new(),
            sheet: Sheet::default(),
            threshold: None,
            limit: 0.0,
            order: Vec::new(),
            selected: Vec::new(),
            ascending: Slots::default(),
            params,
        }
    }

    /// Updates what follows from the UEs and their reports alone.
    #[inline]
    fn enter(&mut self, ues: Candidates<'_>) {
        let version = self.contest.version;
        if version.is_none() || version != ues.version {
            self.enter_anew(ues);
        }
    }

    #[inline(never)]
    fn enter_anew(&mut self, ues: Candidates<'_>) {
        let Contest { version, count, rates, flat_rates, all_flat, places } = &mut self.contest;
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
        // Without a rate the quotient may be no number: in a short window averages reach zero.
        let metric = |rate: &f64, average: &f64| if *rate > 0.0 { rate / average } else { 0.0 };
        if self.has_targets {
            for ((rank, (rate, average)), target) in self.ranks.iter_mut().zip(users).zip(&self.targets) {
                let below_target = *rate > 0.0 && average < target;
                *rank =
                    ranked(below_target, if below_target { 1.0 / average } else { metric(rate, average) });
            }
        } else {
            let ranks = self.ranks.iter_mut().zip(users);
            ranks.for_each(|(rank, (rate, average))| *rank = ranked(false, metric(rate, average)));
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
        let Contest { count, all_flat, .. } = &self.contest;
        // With a shorter window averages reach zero, and a metric may be no number.
        let is_regular = *all_flat && !self.has_targets && self.params.window >= 2.0;
        let wanted = self.params.multiplexed.map_or((count / 2).max(1), usize::from).min(*count);
        if !is_regular || wanted == 0 || self.params.frequency_metric != FrequencyMetric::PfSch {
            return false;
        }
        // Since the last decision all metrics have risen alike.
        let mut limit = self.limit / self.averages.kept();
        let mut selection = Selection::default();
        for _ in 0..ATTEMPTS {
            selection = self.select(limit);
            if selection.count() + 1 != wanted {
                break;
            }
            limit = selection.highest_below() * BELOW;
        }
        // Sorting decides between equal metrics.
        if selection.count() != wanted {
            return false;
        }
        self.threshold = Some(Threshold { limit, highest_below: selection.highest_below() });
        let highest = selection.highest.into_iter().fold(0.0, f64::max);
        if highest > 0.0 {
            grants.give(self.sheet.first_with(highest), free);
        }
        true
    }

    /// Selects the UEs whose metrics of the time domain are above a limit, and compares them in the frequency domain.
    #[inline(always)]
    fn select(&mut self, limit: f64) -> Selection {
        let Contest { rates, flat_rates, .. } = &self.contest;
        let [averages, scheduled] = [&self.averages, &self.scheduled_averages].map(RateAverages::all);
        let kept = self.averages.kept();
        let count = averages.len();
        // Of one length, so that none is checked in the loop.
        let (rates, flat_rates) = (&rates.as_chunks().0[..count], &flat_rates.as_chunks().0[..count]);
        let Sheet { metrics, averages: [next, next_scheduled] } = &mut self.sheet;
        let (scheduled, metrics) = (&scheduled[..count], &mut metrics[..count]);
        let (next, next_scheduled) =
            (&mut next.as_chunks_mut().0[..count], &mut next_scheduled.as_chunks_mut().0[..count]);
        let mut selection = Selection::default();
        for index in 0..count {
            metrics[index] = selection.add(
                (&rates[index], &averages[index]),
                (&flat_rates[index], &scheduled[index]),
                (limit, kept),
                (&mut next[index], &mut next_scheduled[index]),
            );
        }
        selection
    }

    /// Adopts the averages of a TTI with a threshold, and expects the next one.
    fn advance(&mut self, Threshold { limit, highest_below }: Threshold, served: &[(u16, Bytes)]) {
        let [averages, scheduled] = &mut self.sheet.averages;
        self.averages.adopt(averages, served);
        self.scheduled_averages.adopt(scheduled, served);
        self.limit = limit;
        if let [(slot, _)] = served {
            // As of this TTI, like the other metrics.
            let metric =
                self.contest.rates[usize::from(*slot)] / self.averages.of(*slot) * self.averages.kept();
            if metric <= limit {
                self.limit = highest_below.max(metric) * BELOW;
            }
        }
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

/// What a pass over the metrics of a TTI leaves.
#[derive(Default)]
struct Sheet {
    /// Metrics of the frequency domain by slot; zero: the UE is not selected.
    metrics: Vec<[f64; LANES]>,
    /// The averages after the TTI without its grants, and those over the TTIs in which the UE was selected, by slot.
    averages: [Vec<f64>; 2],
}

impl Sheet {
    /// Adds a slot.
    fn admit(&mut self, slot: u16) {
        self.averages.iter_mut().for_each(|averages| settle_in_lanes(averages, slot, 0.0, 0.0));
        self.metrics.resize(self.averages[0].len() / LANES, [0.0; LANES]);
    }

    /// The first slot with this metric of the frequency domain.
    fn first_with(&self, metric: f64) -> u16 {
        let is_in =
            |metrics: &[f64; LANES]| metrics.iter().fold(false, |is_in, own| is_in | (*own == metric));
        let place = self.metrics.iter().position(is_in).expect("it is one of the metrics");
        let mut slots = (LANES * place..).zip(self.metrics[place]);
        slots.find(|(_, own)| *own == metric).expect("it is one of these metrics").0 as u16
    }
}

/// Borders of the metrics of the time domain in a TTI.
#[derive(Clone, Copy)]
struct Threshold {
    /// Those selected are above it, the others are not.
    limit: f64,
    /// The highest one that is not selected.
    highest_below: f64,
}

/// The number, or zero if it is not selected: by a mask, as a branch around the division would keep lanes apart.
#[inline(always)]
fn masked(number: f64, is_selected: bool) -> f64 {
    f64::from_bits(number.to_bits() & u64::from(is_selected).wrapping_neg())
}

/// The UEs selected by their metrics of the time domain, and their comparison in the frequency domain.
#[derive(Default)]
struct Selection {
    count: [u64; LANES],
    highest_below: [f64; LANES],
    highest: [f64; LANES],
}

impl Selection {
    /// Compares the metrics of the time domain, which are rates divided by averages, with a limit. Returns the metrics of
    /// the frequency domain, zero for UEs that are not selected, and stores the averages after the TTI, of which a part
    /// is `kept`.
    #[inline(always)]
    fn add(
        &mut self,
        (rates, averages): (&[f64; LANES], &[f64; LANES]),
        (flat_rates, scheduled): (&[f64; LANES], &[f64; LANES]),
        (limit, kept): (f64, f64),
        (next, next_scheduled): (&mut [f64; LANES], &mut [f64; LANES]),
    ) -> [f64; LANES] {
        let mut metrics = [0.0; LANES];
        for lane in 0..LANES {
            let of_time = rates[lane] / averages[lane];
            let is_selected = of_time > limit;
            self.count[lane] += u64::from(is_selected);
            let below = if is_selected { 0.0 } else { of_time };
            let highest_below = &mut self.highest_below[lane];
            *highest_below = if below > *highest_below { below } else { *highest_below };
            let metric = masked(flat_rates[lane] / scheduled[lane], is_selected);
            let highest = &mut self.highest[lane];
            *highest = if metric > *highest { metric } else { *highest };
            metrics[lane] = metric;
            next[lane] = averages[lane] * kept;
            next_scheduled[lane] = scheduled[lane] * if is_selected { kept } else { 1.0 };
        }
        metrics
    }

    /// Number of UEs selected.
    fn count(&self) -> usize {
        self.count.iter().sum::<u64>() as usize
    }

    /// The highest metric of the time domain that is not selected.
    fn highest_below(&self) -> f64 {
        self.highest_below.into_iter().fold(0.0, f64::max)
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
        self.sheet.admit(slot);
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
            Some(threshold) => self.advance(threshold, served),
            None => {
                self.scheduled_averages.update_some(&self.selected, served);
                self.averages.update(served);
            }
        }
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
    use crate::mac::sched::tests::{bearer, grid, scheduler_on, user};
    use proptest::prelude::*;

    proptest! {
        /// While the UEs and their reports remain, a scheduler that knows it decides as one that does not; those selected
        /// are the ones with the highest ranks, and their averages alone advance in the frequency domain.
        #[test]
        fn what_is_kept_does_not_change_decisions(
            steps in prop::collection::vec((any::<bool>(), prop::collection::vec((any::<bool>(), 0u8..16), 40)), 1..50),
            gbr in prop_oneof![Just(0u64), Just(80_000)],
            is_served: bool,
            window in prop_oneof![Just(1.0), Just(9.0)],
        ) {
            let params = || Params {
                window,
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
                    if pss.threshold.is_some() {
                        let users = pss.contest.rates.iter().zip(pss.averages.all().as_flattened());
                        pss.ranks = users.take(40).map(|(rate, average)| ranked(false, rate / average)).collect();
                    }
                    let mut selected: Vec<u16> = match pss.threshold {
                        None => pss.selected.clone(),
                        Some(threshold) => {
                            (0..40).filter(|slot| f64::from_bits(pss.ranks[usize::from(*slot)]) > threshold.limit).collect()
                        }
                    };
                    selected.sort_unstable();
                    let [mut averages, mut scheduled] = [&pss.averages, &pss.scheduled_averages].map(Clone::clone);
                    averages.update(&served);
                    scheduled.update_some(&selected, &served);
                    pss.on_served(&served);
                    assert_eq!(averages.all(), pss.averages.all());
                    assert_eq!(scheduled.all(), pss.scheduled_averages.all());
                    (served, selected)
                });
                prop_assert_eq!(&kept, &anew);
                let mut slots: Vec<u16> = (0..40).collect();
                slots.sort_by_key(|slot| Reverse((both[0].ranks[usize::from(*slot)], *slot)));
                let mut highest = slots[..kept.1.len()].to_vec();
                highest.sort_unstable();
                prop_assert_eq!(kept.1, highest);
            }
        }
    }

    /// A UE with a guarantee above its fair share gets it per second: here that of four of five slots.
    #[test]
    fn a_guaranteed_rate_counts_per_second() {
        for (numerology, pattern) in [(0, ""), (2, ""), (3, ""), (1, "DDDSU"), (3, "DSUUU")] {
            let grid = Grid::of(&crate::mac::sched::tests::nr(numerology, pattern));
            let mut pss = scheduler_on(r#""kind": "pss", "multiplexed": 1"#, &grid);
            let users = [user(0, 4, 4), user(1, 15, 15)];
            let [block, other] =
                [0, 1].map(|place: usize| grid.block(&users[place], users[place].wideband, 12));
            let per_slot = 0.8 * block.bits() as f64;
            pss.admit(0, &bearer(1, (per_slot * grid.decisions_per_second) as u64));
            pss.admit(1, &bearer(9, 0));
            let mut served = [0; 2];
            for tti in 0..10_000 {
                let mut grants = Grants::default();
                let ues = Candidates { users: &users, reports: &[], version: None };
                pss.allocate(Tti(tti), Rbgs::first(grid.rbgs), ues, &mut grants);
                let (slot, _) = grants.iter().next().unwrap();
                served[usize::from(slot)] += 1;
                pss.on_served(&[(slot, [block, other][usize::from(slot)])]);
            }
            assert!((7800..8200).contains(&served[0]), "{numerology} {pattern}: {served:?}");
        }
    }
}

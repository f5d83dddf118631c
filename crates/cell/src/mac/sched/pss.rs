//! Priority set scheduler.

use super::averages::{LANES, RateAverages, settle_in_lanes};
use super::best::best_per_group_of;
use super::top_k::{Lanes, NextLanes, Ranking, Selection, Threshold, limit_below, ranked};
use super::{
    Candidates, Capabilities, Grants, Grid, LinkAdaptation, PerUe, Properties, Rbgs, Scheduler, SecondPass,
    UeView, settle,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::mac::make_room;
use crate::mac::slots::Slots;
use airwnd_catalog::{Choice, Params};
use airwnd_phy::Cqi;
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

/// Quirks of ns-3's PSS.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 PssFfMacScheduler")]
pub struct Quirks {
    /// UEs that compete for selection in the time domain.
    #[param(default = Contenders::Reachable)]
    #[param(unit = "word", source = "ns-3 PssFfMacScheduler::DoSchedDlTriggerReq: wideband")]
    pub contenders: Contenders,
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
    #[param(basic, default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 pss-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
    /// Number of UEs selected for the frequency domain; `none`: half of the UEs, at least one.
    #[param(default = None, range = 1..=1000, unit = "UEs", source = "ns-3 PssFfMacScheduler::nMux")]
    pub multiplexed: Option<u16>,
    /// Metric of the frequency domain.
    #[param(default = FrequencyMetric::PfSch)]
    #[param(unit = "word", source = "ns-3 PssFfMacScheduler::PssFdSchedulerType")]
    pub frequency_metric: FrequencyMetric,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
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
    /// Ranks of the UEs of this TTI; zero: it does not compete. UEs of set 1 have priority.
    ranking: Ranking,
    /// Scratch: what follows from the metrics of a TTI with a threshold.
    sheet: Sheet,
    /// Metric threshold of this TTI; `None`: `selected` lists the UEs.
    threshold: Option<Threshold>,
    /// Predicted selection threshold of the next TTI.
    limit: f64,
    /// The UEs selected for the frequency domain, in any order, if there is no threshold.
    selected: Vec<UeSlot>,
    /// Scratch: the same UEs in ascending order of slots.
    ascending: Slots,
}

/// Values that depend on the UEs of a TTI and their reports alone.
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
            ranking: Ranking::default(),
            sheet: Sheet::default(),
            threshold: None,
            limit: 0.0,
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
        let wideband_only = self.params.quirks.contenders == Contenders::Wideband;
        (*version, *count, *all_flat) = (ues.version, 0, true);
        rates.fill(0.0);
        for (place, ue) in (0..).zip(ues.users) {
            let slot = ue.slot.index();
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
            for ((rank, (rate, average)), target) in
                self.ranking.ranks.iter_mut().zip(users).zip(&self.targets)
            {
                let below_target = *rate > 0.0 && average < target;
                *rank =
                    ranked(below_target, if below_target { 1.0 / average } else { metric(rate, average) });
            }
        } else {
            let ranks = self.ranking.ranks.iter_mut().zip(users);
            ranks.for_each(|(rank, (rate, average))| *rank = ranked(false, metric(rate, average)));
        }
        let wanted = self.params.multiplexed.map_or((count / 2).max(1), usize::from).min(*count);
        self.selected.clear();
        self.selected.extend_from_slice(self.ranking.highest(wanted));
        self.threshold = None;
        let lowest = self.selected.last().map(|slot| self.ranking.ranks[slot.index()]);
        self.limit = limit_below(lowest.map_or(0.0, f64::from_bits));
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
        let limit = self.limit / self.averages.kept();
        let Some((threshold, highest)) = Threshold::search(limit, wanted, |limit| self.select(limit)) else {
            return false;
        };
        self.threshold = Some(threshold);
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
            let lanes = Lanes {
                rates: &rates[index],
                averages: &averages[index],
                compared_rates: &flat_rates[index],
                compared_averages: &scheduled[index],
            };
            let next =
                NextLanes { averages: &mut next[index], compared_averages: &mut next_scheduled[index] };
            metrics[index] = selection.add(&lanes, limit, kept, next);
        }
        selection
    }

    /// Adopts the averages of a TTI with a threshold, and expects the next one.
    fn advance(&mut self, threshold: Threshold, served: &[(UeSlot, Bytes)]) {
        let [averages, scheduled] = &mut self.sheet.averages;
        self.averages.adopt(averages, served);
        self.scheduled_averages.adopt(scheduled, served);
        self.limit = match served {
            // As of this TTI, like the other metrics.
            [(slot, _)] => threshold.next_limit(
                self.contest.rates[slot.index()] / self.averages.of(*slot) * self.averages.kept(),
            ),
            _ => threshold.limit,
        };
    }

    /// Assigns RBGs to the selected UEs.
    fn frequency_domain(&mut self, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let Contest { places, .. } = &self.contest;
        self.ascending.clear();
        self.selected.iter().for_each(|slot| self.ascending.insert(*slot));
        let weight = |ue: &UeView| {
            let target = self.targets[ue.slot.index()];
            if target > 0.0 { (target / self.averages.of(ue.slot)).max(1.0) } else { 1.0 }
        };
        let selected = self.ascending.iter().map(|slot| &ues.users[usize::from(places[slot.index()])]);
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

/// Result of a pass over the metrics of a TTI.
#[derive(Default)]
struct Sheet {
    /// Metrics of the frequency domain by slot; zero: the UE is not selected.
    metrics: Vec<[f64; LANES]>,
    /// The averages after the TTI without its grants, and those over the TTIs in which the UE was selected, by slot.
    averages: [Vec<f64>; 2],
}

impl Sheet {
    /// Adds a slot.
    fn admit(&mut self, slot: UeSlot) {
        self.averages.iter_mut().for_each(|averages| settle_in_lanes(averages, slot, 0.0, 0.0));
        self.metrics.resize(self.averages[0].len() / LANES, [0.0; LANES]);
    }

    /// The first slot with this metric of the frequency domain.
    fn first_with(&self, metric: f64) -> UeSlot {
        let is_in =
            |metrics: &[f64; LANES]| metrics.iter().fold(false, |is_in, own| is_in | (*own == metric));
        let place = self.metrics.iter().position(is_in).expect("it is one of the metrics");
        let mut slots = (LANES * place..).zip(self.metrics[place]);
        UeSlot(slots.find(|(_, own)| *own == metric).expect("it is one of these metrics").0 as u16)
    }
}

impl Scheduler for Pss {
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.enter(ues);
        if !self.allocate_flat(free, grants) {
            self.time_domain();
            self.frequency_domain(free, ues, grants);
        }
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        match self.threshold {
            Some(threshold) => self.advance(threshold, served),
            None => {
                self.scheduled_averages.update_some(&self.selected, served);
                self.averages.update(served);
            }
        }
    }
}

impl Capabilities for Pss {
    fn properties(&self) -> Properties {
        Properties::new(LinkAdaptation::LowestSubband)
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn second_pass(&mut self) -> Option<&mut dyn SecondPass> {
        Some(self)
    }
}

impl PerUe for Pss {
    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        settle(&mut self.targets, slot, (bearer.gbr.0 / 8) as f64);
        self.has_targets = self.targets.iter().any(|target| *target > 0.0);
        self.averages.admit(slot);
        self.scheduled_averages.admit(slot);
        self.ranking.admit(slot);
        let Contest { version, rates, flat_rates, places, .. } = &mut self.contest;
        *version = None;
        settle_in_lanes(rates, slot, 0.0, 0.0);
        settle_in_lanes(flat_rates, slot, 0.0, 0.0);
        settle(places, slot, 0);
        self.sheet.admit(slot);
        make_room(&mut self.selected, self.ranking.len());
        self.ascending.reserve(self.ranking.len());
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }
}

impl SecondPass for Pss {
    fn allocate_again(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        self.enter(ues);
        self.threshold = None;
        self.selected.clear();
        self.selected.extend(ues.users.iter().map(|ue| ue.slot));
        self.frequency_domain(free, ues, grants);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::tests::{bearer, grid, scheduler_on, user};
    use proptest::prelude::*;
    use std::cmp::Reverse;

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
                quirks: Quirks::default(),
            };
            let mut both = [Pss::new(params(), &grid()), Pss::new(params(), &grid())];
            for pss in &mut both {
                (0..40).for_each(|slot| pss.admit(UeSlot(slot), &bearer(1, if slot % 3 == 0 { gbr } else { 0 })));
                if is_served {
                    (0..40).for_each(|slot| pss.averages.update(&[(UeSlot(slot), Bytes(100 + u64::from(slot)))]));
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
                        pss.ranking.ranks = users.take(40).map(|(rate, average)| ranked(false, rate / average)).collect();
                    }
                    let mut selected: Vec<UeSlot> = match pss.threshold {
                        None => pss.selected.clone(),
                        Some(threshold) => {
                            let rank = |slot: &UeSlot| f64::from_bits(pss.ranking.ranks[slot.index()]);
                            UeSlot::all().take(40).filter(|slot| rank(slot) > threshold.limit).collect()
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
                let mut slots: Vec<UeSlot> = UeSlot::all().take(40).collect();
                slots.sort_by_key(|slot| Reverse((both[0].ranking.ranks[slot.index()], *slot)));
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
            pss.admit(UeSlot(0), &bearer(1, (per_slot * grid.decisions_per_second) as u64));
            pss.admit(UeSlot(1), &bearer(9, 0));
            let mut served = [0; 2];
            for tti in 0..10_000 {
                let mut grants = Grants::default();
                let ues = Candidates { users: &users, reports: &[], version: None };
                pss.allocate(Tti(tti), Rbgs::first(grid.rbgs), ues, &mut grants);
                let (slot, _) = grants.iter().next().unwrap();
                served[slot.index()] += 1;
                pss.on_served(&[(slot, [block, other][slot.index()])]);
            }
            assert!((7800..8200).contains(&served[0]), "{numerology} {pattern}: {served:?}");
        }
    }
}

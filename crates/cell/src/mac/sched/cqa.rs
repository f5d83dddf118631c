//! Channel and QoS aware scheduler.

use super::averages::RateAverages;
use super::{
    ByDelay, Candidates, Capabilities, Grants, Grid, LinkAdaptation, PerUe, Properties, Rbgs, Scheduler,
    UeView, settle,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use crate::qci::Qci;
use airwnd_catalog::{Choice, Params};
use airwnd_phy::Cqi;
use airwnd_units::{Bytes, Span, Tti};

/// Channel term of the frequency-domain metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum ChannelMetric {
    /// Frequency-selective gain: the RBG's CQI over the sum of the UE's CQIs.
    #[word = "ff"]
    FrequencyFading,
    /// Proportional fair: the rate of the RBG at its CQI over the UE's average throughput.
    #[word = "pf"]
    ProportionalFair,
}

/// CQA: classes of head-of-line delay in strict priority; within a class, RBGs by delay, GBR shortfall and channel.
///
/// Time domain: UEs are grouped into classes by head-of-line delay D and class width d (`grouping`). UEs with a
/// guaranteed-rate bearer precede all others; within each of the two sets, the class with the longest delay is served
/// first.
///
/// ```math
/// \mathrm{class} = \mathrm{ceil}(\frac{D}{d})
/// ```
///
/// Frequency domain: within a class, RBGs are assigned one after the other, each to the UE with the highest metric
///
/// ```math
/// m = D \cdot \max(1, \frac{\mathrm{GBR}}{T}) \cdot c
/// ```
///
/// where c is the channel term (`metric`) and T a moving average of the UE's granted throughput. A UE leaves the class
/// once 1.1 times its grant covers its backlog. RBGs that a class leaves free go to the next class. Equal metrics go to
/// the higher RNTI, as in ns-3 LENA.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Bojovic, Baldo: A New Channel and QoS Aware Scheduler to Enhance the Capacity of Voice over \
              LTE Systems, SSD 2014; ns-3 LTE module documentation, Channel and QoS Aware Scheduler"
)]
pub struct Params {
    /// Channel term of the frequency-domain metric.
    #[param(basic, default = ChannelMetric::FrequencyFading)]
    #[param(unit = "word", source = "ns-3 CqaFfMacScheduler::CqaMetric")]
    pub metric: ChannelMetric,
    /// Width of the delay classes.
    #[param(basic, default = Span::from_secs(1), range = Span::from_millis(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "ns-3 cqa-ff-mac-scheduler.cc, grouping_parameter")]
    pub grouping: Span,
    /// Averaging window: T <- (1 - 1/window) T + bytes / (window * TTI). In NR a TTI is a slot in which the cell can
    /// decide.
    #[param(default = 99.0, range = 1.0..=1e6)]
    #[param(unit = "TTI", source = "ns-3 cqa-ff-mac-scheduler.cc, m_timeWindow")]
    pub window: f64,
}

/// The channel and QoS aware scheduler.
pub struct Cqa {
    params: Params,
    grid: Grid,
    bearers: Vec<Bearer>,
    averages: RateAverages,
    /// Competing UEs, the most urgent class first.
    order: Vec<Contender>,
}

/// A UE that competes for RBGs.
#[derive(Clone, Copy)]
struct Contender {
    ue: UeView,
    /// Class: UEs with a guaranteed rate precede the others, then the longer delay precedes the shorter.
    class: (bool, u64),
    /// Factor of the metric that is independent of the RBG: D max(1, GBR / T).
    urgency: f64,
    /// Sum of its CQIs over the carrier.
    cqis: f64,
    granted: Rbgs,
}

impl Cqa {
    /// A scheduler without UEs.
    pub fn new(params: Params, grid: &Grid) -> Self {
        Cqa {
            averages: RateAverages::new(params.window, grid.decisions_per_second),
            grid: grid.clone(),
            bearers: Vec::new(),
            order: Vec::new(),
            params,
        }
    }

    fn contender(&self, ue: &UeView, ues: Candidates<'_>) -> Contender {
        let bearer = &self.bearers[ue.slot.index()];
        let waited = ue.head_of_line.max(self.grid.access.clock.slot());
        let target = if bearer.qci.is_guaranteed() { (bearer.gbr.0 / 8) as f64 } else { 0.0 };
        let missing = (target / self.averages.of(ue.slot)).max(1.0);
        Contender {
            ue: *ue,
            class: (bearer.qci.is_guaranteed(), waited.0.div_ceil(self.params.grouping.0)),
            urgency: waited.as_secs() * missing,
            cqis: (0..self.grid.rbgs).map(|group| f64::from(ues.subband(ue, group).0)).sum(),
            granted: Rbgs::default(),
        }
    }

    /// The metric of a UE for an RBG in which it reports this CQI.
    fn metric(&self, user: &Contender, cqi: Cqi) -> f64 {
        user.urgency
            * match self.params.metric {
                ChannelMetric::FrequencyFading => f64::from(cqi.0) / user.cqis,
                ChannelMetric::ProportionalFair => {
                    user.ue.rate(&self.grid.rate_by_cqi, cqi) / self.averages.of(user.ue.slot)
                }
            }
    }

    /// Assigns RBGs to the UEs of one class, in ascending order; returns the RBGs left free.
    fn serve(&self, class: &mut [Contender], free: Rbgs, ues: Candidates<'_>) -> Rbgs {
        let mut left = free;
        let mut waiting = class.len();
        for group in free.iter() {
            if waiting == 0 {
                break;
            }
            let mut best: Option<(usize, f64)> = None;
            for (place, user) in class.iter().enumerate() {
                if self.is_satisfied(user, ues) {
                    continue;
                }
                let metric = self.metric(user, ues.subband(&user.ue, group));
                if metric > 0.0 && best.is_none_or(|(_, highest)| metric >= highest) {
                    best = Some((place, metric));
                }
            }
            let Some((place, _)) = best else { continue };
            class[place].granted = class[place].granted.union(Rbgs::one(group));
            left = left.without(Rbgs::one(group));
            waiting -= usize::from(self.is_satisfied(&class[place], ues));
        }
        left
    }

    /// Whether 1.1 times a UE's grant covers its backlog.
    fn is_satisfied(&self, user: &Contender, ues: Candidates<'_>) -> bool {
        let block = self.grid.block(&user.ue, ues.lowest(&user.ue, user.granted), user.granted.count());
        !user.granted.is_empty() && 10 * user.ue.queue.0 <= 11 * block.0
    }
}

impl Scheduler for Cqa {
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(ues.users.iter().map(|ue| self.contender(ue, ues)).filter(|user| user.cqis > 0.0));
        // By class, then by slot: `serve` prefers the last of several equal metrics, hence the higher slot.
        order.sort_unstable_by_key(|user| (std::cmp::Reverse(user.class), user.ue.slot));
        let mut left = free;
        for class in order.chunk_by_mut(|one, other| one.class == other.class) {
            if left.is_empty() {
                break;
            }
            left = self.serve(class, left, ues);
        }
        for user in order.iter().filter(|user| !user.granted.is_empty()) {
            grants.give(user.ue.slot, user.granted);
        }
        self.order = order;
    }

    fn on_served(&mut self, served: &[(UeSlot, Bytes)]) {
        self.averages.update(served);
    }
}

impl Capabilities for Cqa {
    fn properties(&self) -> Properties {
        Properties::new(LinkAdaptation::LowestSubband)
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn by_delay(&mut self) -> Option<&mut dyn ByDelay> {
        Some(self)
    }
}

impl PerUe for Cqa {
    fn admit(&mut self, slot: UeSlot, bearer: &Bearer) {
        settle(&mut self.bearers, slot, *bearer);
        self.averages.admit(slot);
    }

    fn on_idle(&mut self, ttis: u64) {
        self.averages.idle(ttis);
    }
}

impl ByDelay for Cqa {
    fn lead(&mut self, slot: UeSlot, class: Qci) {
        self.bearers[slot.index()].qci = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::tests::{bearer, grants_of, grid, scheduler, selective, user};
    use proptest::prelude::*;

    /// A UE with CQI 9 and this head-of-line delay.
    fn waiting(slot: u16, ms: u64) -> UeView {
        UeView { head_of_line: Span::from_millis(ms), ..user(slot, 9, 9) }
    }

    fn with_bearers(settings: &str, bearers: &[Bearer]) -> Box<dyn Scheduler> {
        let mut cqa = scheduler(settings);
        (0..).zip(bearers).for_each(|(slot, bearer)| cqa.admit(UeSlot(slot), bearer));
        cqa
    }

    #[test]
    fn the_class_with_the_longest_delay_is_served_first_and_leaves_the_rest() {
        // Classes of 10 ms: 21 ms is in the third, 19 and 11 ms in the second. Three RBGs of 75 B at CQI 9.
        let settings = r#""kind": "cqa", "grouping": "10ms""#;
        let mut cqa = with_bearers(settings, &[Bearer::default(); 3]);
        let all = [waiting(0, 19), waiting(1, 21), waiting(2, 11)];
        assert_eq!(grants_of(&mut *cqa, &all, &[]), [(1, 0b111)]);
        // 60 B fit into one RBG; in the second class the UE with the longer delay gets the others
        let little = UeView { queue: Bytes(60), ..all[1] };
        assert_eq!(grants_of(&mut *cqa, &[all[0], little, all[2]], &[]), [(0, 0b110), (1, 0b001)]);
    }

    #[test]
    fn bearers_with_a_guaranteed_rate_precede_longer_delays() {
        let mut cqa = with_bearers("cqa", &[Bearer::default(), bearer(1, 0)]);
        assert_eq!(grants_of(&mut *cqa, &[waiting(0, 5000), waiting(1, 1)], &[]), [(1, 0b111)]);
    }

    #[test]
    fn a_gbr_shortfall_multiplies_the_delay() {
        // T is initially 1 B/s: GBR / T is 3 for 24 bit/s and 1 for less than 8
        let mut cqa = with_bearers("cqa", &[bearer(1, 24), bearer(1, 0)]);
        assert_eq!(grants_of(&mut *cqa, &[waiting(0, 10), waiting(1, 29)], &[]), [(0, 0b111)]);
        assert_eq!(grants_of(&mut *cqa, &[waiting(0, 10), waiting(1, 31)], &[]), [(1, 0b111)]);
    }

    #[test]
    fn rbgs_go_to_the_ue_with_the_highest_selective_gain() {
        // CQI over the sum: about a third everywhere for UE 0; a half, a quarter and a quarter for UE 1
        let mut cqa = with_bearers("cqa", &[Bearer::default(); 2]);
        let (mut users, reports) = selective(&[[15, 14, 15], [8, 4, 4]]);
        users.iter_mut().for_each(|ue| ue.head_of_line = Span::from_millis(10));
        assert_eq!(grants_of(&mut *cqa, &users, &reports), [(0, 0b110), (1, 0b001)]);
        // by rate over average, all go to UE 0
        let mut cqa = with_bearers(r#""kind": "cqa", "metric": "pf""#, &[Bearer::default(); 2]);
        assert_eq!(grants_of(&mut *cqa, &users, &reports), [(0, 0b111)]);
    }

    #[test]
    fn equal_metrics_go_to_the_higher_rnti_and_nothing_to_ues_out_of_reach() {
        let mut cqa = with_bearers("cqa", &[Bearer::default(); 3]);
        let beyond = UeView { head_of_line: Span::from_secs(9), ..user(2, 1, 0) };
        assert_eq!(grants_of(&mut *cqa, &[waiting(0, 10), waiting(1, 10), beyond], &[]), [(1, 0b111)]);
    }

    /// Reference implementation, RBG by RBG, with lists: the number of RBGs out of seven for each UE.
    fn reference(users: &[UeView], bearers: &[Bearer], grouping_ms: u64) -> Vec<(u16, u32)> {
        let grid = grid();
        let ceil = |ue: &UeView| ue.head_of_line.0.div_ceil(Span::from_millis(grouping_ms).0);
        let class = |ue: &UeView| (bearers[ue.slot.index()].qci.is_guaranteed(), ceil(ue));
        let mut classes: Vec<_> = users.iter().map(class).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut given = vec![0u32; bearers.len()];
        let mut group = 0;
        for wanted in classes.into_iter().rev() {
            let mut members: Vec<&UeView> = users.iter().filter(|ue| class(ue) == wanted).collect();
            while group < 7 && !members.is_empty() {
                let gbr = |ue: &UeView| (bearers[ue.slot.index()].gbr.0 / 8) as f64;
                let metric = |ue: &UeView| ue.head_of_line.as_secs() * gbr(ue).max(1.0) * (1.0 / 7.0);
                let best = members.iter().enumerate().fold(0, |best, (place, ue)| {
                    if metric(ue) >= metric(members[best]) { place } else { best }
                });
                let chosen = members[best];
                given[chosen.slot.index()] += 1;
                group += 1;
                let block = grid.block(chosen, chosen.wideband, given[chosen.slot.index()]);
                if block.0 * 11 >= chosen.queue.0 * 10 {
                    members.remove(best);
                }
            }
        }
        (0..).zip(given).filter(|(_, groups)| *groups > 0).collect()
    }

    proptest! {
        #[test]
        fn grants_match_the_reference(
            drawn in prop::collection::vec((1u64..60, 1u64..2000, 1u8..=15, any::<bool>(), 0u64..200), 1..12),
        ) {
            let bearers: Vec<Bearer> =
                drawn.iter().map(|user| bearer(if user.3 { 1 } else { 9 }, if user.3 { user.4 } else { 0 })).collect();
            let users: Vec<UeView> = (0..)
                .zip(&drawn)
                .map(|(slot, (ms, queue, cqi, ..))| UeView {
                    queue: Bytes(*queue),
                    head_of_line: Span::from_millis(*ms),
                    ..user(slot, *cqi, *cqi)
                })
                .collect();
            let mut cqa = with_bearers(r#""kind": "cqa", "grouping": "20ms""#, &bearers);
            let mut grants = Grants::default();
            let ues = Candidates { users: &users, reports: &[], version: None };
            cqa.allocate(Tti(0), Rbgs::first(7), ues, &mut grants);
            let mut given: Vec<_> = grants.iter().map(|(slot, rbgs)| (slot.0, rbgs.count())).collect();
            given.sort_unstable();
            prop_assert_eq!(given, reference(&users, &bearers, 20));
        }
    }
}

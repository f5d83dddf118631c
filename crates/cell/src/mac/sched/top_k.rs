//! Selection of the UEs with the highest metrics, TTI by TTI.
//!
//! From TTI to TTI the averages in the metrics decay alike, so that mostly the UE served last leaves the selection and the
//! next one enters it. [`Ranking`] sorts the few that change; [`Selection`] needs no order: it counts the metrics above a
//! limit that was predicted in the TTI before, in one pass.

use super::averages::LANES;
use crate::identity::UeSlot;
use std::cmp::Reverse;

/// Moves per slot after which slots are sorted anew, because many ranks have changed.
const MAX_MOVES: usize = 4;

/// Factor from a metric to a number below it that is above nearly all lower metrics.
const BELOW: f64 = 1.0 - 1e-9;

/// Passes over the metrics to find the limit of a selection, the first one with that expected.
const ATTEMPTS: usize = 2;

/// A UE's rank; the higher one precedes, and of equal ones that of the higher slot.
pub(super) type Rank = u64;

/// The rank of a UE with this metric, which is not negative. All with priority precede the others.
// The bits of floating-point numbers that are not negative are in the order of the numbers.
pub(super) fn ranked(has_priority: bool, metric: f64) -> Rank {
    u64::from(has_priority) << 63 | metric.to_bits()
}

/// All slots in descending order of rank.
#[derive(Default)]
pub(super) struct Ranking {
    /// By slot.
    pub ranks: Vec<Rank>,
    /// The slots as they were last sorted.
    order: Vec<UeSlot>,
}

impl Ranking {
    /// Adds a slot with the lowest rank, or resets that of a slot.
    pub fn admit(&mut self, slot: UeSlot) {
        super::settle(&mut self.ranks, slot, 0);
        if slot.index() == self.order.len() {
            self.order.push(slot);
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The `count` slots with the highest ranks, the highest first.
    pub fn highest(&mut self, count: usize) -> &[UeSlot] {
        self.sort();
        &self.order[..count]
    }

    /// Sorts the slots by rank.
    // Few UEs change their places, mostly the one served last, which moves down: insertion from below takes one comparison
    // for each of the others.
    fn sort(&mut self) {
        let Ranking { order, ranks } = self;
        let ranks = &ranks[..];
        let ranked = |slot: UeSlot| (ranks[slot.index()], slot);
        let mut moves = MAX_MOVES * order.len();
        let (mut unsorted, mut below) = (order.len(), (0, UeSlot(0)));
        let falls = |slot: &UeSlot, below: &mut (Rank, UeSlot)| {
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
}

/// Borders of the metrics in a TTI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold {
    /// The selected metrics are above it, the others are not.
    pub limit: f64,
    /// The highest metric that is not selected.
    pub highest_below: f64,
}

impl Threshold {
    /// The threshold above which there are `wanted` metrics, and the highest one by which the selected UEs are compared;
    /// `None`: it is not found, or sorting decides between equal metrics. `limit` is a first guess, and `select` makes the
    /// selection above a limit.
    #[inline(always)]
    pub fn search(
        mut limit: f64,
        wanted: usize,
        mut select: impl FnMut(f64) -> Selection,
    ) -> Option<(Threshold, f64)> {
        for _ in 0..ATTEMPTS {
            let selection = select(limit);
            let (count, highest_below) = (selection.count(), selection.highest_below());
            if count == wanted {
                return Some((Threshold { limit, highest_below }, selection.highest()));
            }
            if count + 1 != wanted {
                break;
            }
            limit = limit_below(highest_below);
        }
        None
    }

    /// The limit of the next TTI, in which the metric of the UE served alone is `served`.
    pub fn next_limit(self, served: f64) -> f64 {
        if served <= self.limit { limit_below(self.highest_below.max(served)) } else { self.limit }
    }
}

/// A limit that this metric and those above it exceed.
pub(super) fn limit_below(metric: f64) -> f64 {
    metric * BELOW
}

/// Inputs of a selection, for the UEs of adjacent slots.
pub(super) struct Lanes<'a> {
    /// Rates of the metrics that select, and the averages by which they are divided.
    pub rates: &'a [f64; LANES],
    pub averages: &'a [f64; LANES],
    /// Rates and averages of the metrics by which the selected UEs are compared.
    pub compared_rates: &'a [f64; LANES],
    pub compared_averages: &'a [f64; LANES],
}

/// Averages of these UEs after the TTI, without its grants.
pub(super) struct NextLanes<'a> {
    pub averages: &'a mut [f64; LANES],
    pub compared_averages: &'a mut [f64; LANES],
}

/// The UEs selected by their metrics, and the highest of the metrics by which they are compared.
#[derive(Default)]
pub(super) struct Selection {
    count: [u64; LANES],
    highest_below: [f64; LANES],
    highest: [f64; LANES],
}

/// The number, or zero if it is not selected: by a mask, as a branch around the division would keep lanes apart.
#[inline(always)]
fn masked(number: f64, is_selected: bool) -> f64 {
    f64::from_bits(number.to_bits() & u64::from(is_selected).wrapping_neg())
}

impl Selection {
    /// Selects the metrics above a limit. Returns the metrics by which UEs are compared, zero for those that are not
    /// selected, and stores the averages after the TTI, of which a part is `kept`: of the compared ones for selected UEs
    /// alone.
    #[inline(always)]
    pub fn add(&mut self, lanes: &Lanes<'_>, limit: f64, kept: f64, next: NextLanes<'_>) -> [f64; LANES] {
        let Lanes { rates, averages, compared_rates, compared_averages } = lanes;
        let mut metrics = [0.0; LANES];
        for lane in 0..LANES {
            let selects = rates[lane] / averages[lane];
            let is_selected = selects > limit;
            self.count[lane] += u64::from(is_selected);
            let below = if is_selected { 0.0 } else { selects };
            let highest_below = &mut self.highest_below[lane];
            *highest_below = if below > *highest_below { below } else { *highest_below };
            let metric = masked(compared_rates[lane] / compared_averages[lane], is_selected);
            let highest = &mut self.highest[lane];
            *highest = if metric > *highest { metric } else { *highest };
            metrics[lane] = metric;
            next.averages[lane] = averages[lane] * kept;
            next.compared_averages[lane] = compared_averages[lane] * if is_selected { kept } else { 1.0 };
        }
        metrics
    }

    /// Number of UEs selected.
    fn count(&self) -> usize {
        self.count.iter().sum::<u64>() as usize
    }

    /// The highest metric that is not selected.
    fn highest_below(&self) -> f64 {
        self.highest_below.into_iter().fold(0.0, f64::max)
    }

    /// The highest metric by which the selected UEs are compared.
    fn highest(&self) -> f64 {
        self.highest.into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The ranking is that of a sort, however many ranks change between two of them.
        #[test]
        fn a_ranking_is_in_descending_order(
            steps in prop::collection::vec(prop::collection::vec((0usize..30, 0u64..9), 0..40), 1..20),
            count in 0usize..30,
        ) {
            let mut ranking = Ranking::default();
            (0..30).map(UeSlot).for_each(|slot| ranking.admit(slot));
            for changes in steps {
                changes.iter().for_each(|(slot, rank)| ranking.ranks[*slot] = *rank);
                let mut expected: Vec<UeSlot> = UeSlot::all().take(30).collect();
                expected.sort_by_key(|slot| Reverse((ranking.ranks[slot.index()], *slot)));
                prop_assert_eq!(ranking.highest(count), &expected[..count]);
            }
        }

        /// A threshold has the wanted number of metrics above it, and the highest of the others below.
        #[test]
        fn a_threshold_separates_the_wanted_number(
            rates in prop::collection::vec(0.0f64..10.0, 2 * LANES),
            guess in 0.0f64..10.0,
            wanted in 1usize..2 * LANES,
        ) {
            let select = |limit| {
                let mut selection = Selection::default();
                for rates in rates.as_chunks().0 {
                    let one = [1.0; LANES];
                    let lanes = Lanes { rates, averages: &one, compared_rates: rates, compared_averages: &one };
                    let (mut averages, mut compared) = ([0.0; LANES], [0.0; LANES]);
                    let next = NextLanes { averages: &mut averages, compared_averages: &mut compared };
                    let metrics = selection.add(&lanes, limit, 0.5, next);
                    for lane in 0..LANES {
                        let is_selected = rates[lane] > limit;
                        assert_eq!(metrics[lane], if is_selected { rates[lane] } else { 0.0 });
                        assert_eq!((averages[lane], compared[lane]), (0.5, if is_selected { 0.5 } else { 1.0 }));
                    }
                }
                selection
            };
            let mut sorted = rates.clone();
            sorted.sort_by(|one, other| other.total_cmp(one));
            // A guess in the wanted gap, and one below which one more is selected.
            for guess in [guess, (sorted[wanted - 1] + sorted[wanted]) / 2.0, sorted[wanted - 1]] {
                if let Some((threshold, highest)) = Threshold::search(guess, wanted, select) {
                    prop_assert_eq!(rates.iter().filter(|rate| **rate > threshold.limit).count(), wanted);
                    prop_assert_eq!(threshold.highest_below, sorted[wanted]);
                    prop_assert_eq!(highest, sorted[0]);
                }
            }
        }
    }

    #[test]
    fn the_next_limit_is_below_the_metrics_selected_next() {
        let threshold = Threshold { limit: 4.0, highest_below: 3.0 };
        assert_eq!(threshold.next_limit(5.0), 4.0, "the UE served remains above the others");
        let next = threshold.next_limit(2.0);
        assert!(next < 3.0 && next > 2.999_999, "the next one takes its place");
        let next = threshold.next_limit(3.5);
        assert!(next < 3.5 && next > 3.499_999, "it falls, but not below the next one");
    }

    #[test]
    fn priority_precedes_any_metric() {
        assert!(ranked(true, 0.0) > ranked(false, f64::MAX));
        assert!(ranked(false, 2.0) > ranked(false, 1.0));
    }
}

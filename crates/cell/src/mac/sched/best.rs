//! Selection of the UE with the highest metric.

use super::{Candidates, ChannelState, Grants, MAX_RBGS, Rbgs, Ties, UeView};
use crate::identity::UeSlot;
use airwnd_phy::Cqi;

/// Number of CQI values.
const CQIS: usize = Cqi::MAX.0 as usize + 1;

/// Slot at which the search for the best UE starts: the first of several UEs with equal metrics wins.
pub(crate) struct Turn {
    ties: Ties,
    next: UeSlot,
}

impl Turn {
    pub(crate) fn new(ties: Ties) -> Self {
        Turn { ties, next: UeSlot(0) }
    }
    pub(crate) fn first(&self) -> UeSlot {
        match self.ties {
            Ties::LowestRnti => UeSlot(0),
            Ties::InTurn => self.next,
        }
    }
    /// Ends a TTI in which this UE was served first.
    pub(crate) fn pass(&mut self, leader: Option<UeSlot>) {
        self.next = leader.map_or(self.next, UeSlot::next);
    }
}

/// Gives each free RBG to the UE with the highest positive metric for its CQI there. The search starts at the slot
/// `first`, and the first of several equal metrics wins. Returns the slot that got the first RBG.
pub(crate) fn best_per_group(
    first: UeSlot,
    free: Rbgs,
    ues: Candidates<'_>,
    grants: &mut Grants,
    metric: impl Fn(&UeView, Cqi) -> f64,
) -> Option<UeSlot> {
    best_per_group_of(in_turn(first, ues), free, ues.reports, grants, metric)
}

/// Gives each RBG to the best of these UEs, the first of several.
pub(crate) fn best_per_group_of<'a>(
    ues: impl Iterator<Item = &'a UeView> + Clone,
    free: Rbgs,
    reports: &[ChannelState],
    grants: &mut Grants,
    metric: impl Fn(&UeView, Cqi) -> f64,
) -> Option<UeSlot> {
    // UEs with a flat channel need one comparison for all RBGs.
    let (mut anywhere, mut all_flat) = (Best::default(), true);
    for (order, ue) in (0..).zip(ues.clone()) {
        match ue.flat {
            Some(cqi) => anywhere.compare(order, ue, metric(ue, cqi)),
            None => all_flat = false,
        }
    }
    if all_flat {
        grants.give(anywhere.slot?, free);
        return anywhere.slot;
    }
    let groups = MAX_RBGS.min((u32::BITS - free.0.leading_zeros()) as usize);
    let mut best = [Best::default(); MAX_RBGS];
    let mut by_cqi = [0.0; CQIS];
    for (order, ue) in (0..).zip(ues).filter(|(_, ue)| ue.flat.is_none()) {
        // Few CQIs differ, and a metric costs divisions.
        let mut known = 0u32;
        for (best, cqi) in best[..groups].iter_mut().zip(&reports[ue.report as usize].subband) {
            let place = usize::from(cqi.0) % CQIS;
            if known >> place & 1 == 0 {
                known |= 1 << place;
                by_cqi[place] = metric(ue, *cqi);
            }
            best.compare(order, ue, by_cqi[place]);
        }
    }
    let mut leader = None;
    for group in free.iter() {
        if let Some(slot) = best[usize::from(group)].or(anywhere).slot {
            grants.give(slot, Rbgs::one(group));
            leader = leader.or(Some(slot));
        }
    }
    leader
}

/// The UE with the highest positive metric so far, and its place in the order of the search.
#[derive(Clone, Copy, Default)]
struct Best {
    metric: f64,
    slot: Option<UeSlot>,
    order: u32,
}

impl Best {
    fn compare(&mut self, order: u32, ue: &UeView, metric: f64) {
        if metric > self.metric {
            *self = Best { metric, slot: Some(ue.slot), order };
        }
    }

    /// The better one of two; the first one in the search if the metrics are equal.
    fn or(self, other: Best) -> Best {
        let is_other = other.metric > self.metric || other.metric == self.metric && other.order < self.order;
        if is_other { other } else { self }
    }
}

/// Gives all free RBGs to the UE with the highest positive metric and returns its slot. The search starts at the slot
/// `first`, and the first of several equal metrics wins.
pub(crate) fn best_of_tti(
    first: UeSlot,
    free: Rbgs,
    ues: Candidates<'_>,
    grants: &mut Grants,
    metric: impl Fn(&UeView) -> f64,
) -> Option<UeSlot> {
    let mut best = Best::default();
    (0..).zip(in_turn(first, ues)).for_each(|(order, ue)| best.compare(order, ue, metric(ue)));
    grants.give(best.slot?, free);
    best.slot
}

/// The UEs from the slot `first` on, then those before it.
fn in_turn(first: UeSlot, ues: Candidates<'_>) -> impl Iterator<Item = &UeView> + Clone {
    let (before, after) = match first {
        UeSlot(0) => ues.users.split_at(0),
        _ => ues.users.split_at(ues.users.partition_point(|ue| ue.slot < first)),
    };
    after.iter().chain(before)
}

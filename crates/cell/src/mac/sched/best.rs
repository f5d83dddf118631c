//! Selection of the UE with the highest metric.

use super::{Candidates, Grants, Rbgs, Ties, UeView};
use crate::phy::Cqi;

/// Slot at which the search for the best UE starts: the first of several UEs with equal metrics wins.
pub(crate) struct Turn {
    ties: Ties,
    next: u16,
}

impl Turn {
    pub(crate) fn new(ties: Ties) -> Self {
        Turn { ties, next: 0 }
    }
    pub(crate) fn first(&self) -> u16 {
        match self.ties {
            Ties::LowestRnti => 0,
            Ties::InTurn => self.next,
        }
    }
    /// Ends a TTI in which this UE was served first.
    pub(crate) fn pass(&mut self, leader: Option<u16>) {
        self.next = leader.map_or(self.next, |slot| slot + 1);
    }
}

/// Gives each free RBG to the UE with the highest positive metric for its CQI there. The search starts at the slot
/// `first`, and the first of several equal metrics wins. If all UEs report a flat channel, one comparison decides for
/// all RBGs. Returns the slot that got the first RBG.
pub(crate) fn best_per_group(
    first: u16,
    free: Rbgs,
    ues: Candidates<'_>,
    grants: &mut Grants,
    metric: impl Fn(&UeView, Cqi) -> f64,
) -> Option<u16> {
    let best = |group: u8| best(first, ues, |ue| metric(ue, ues.subband(ue, group)));
    if ues.users.iter().all(|ue| ue.flat.is_some()) {
        let slot = best(0)?;
        grants.give(slot, free);
        return Some(slot);
    }
    let mut leader = None;
    for group in free.iter() {
        if let Some(slot) = best(group) {
            grants.give(slot, Rbgs::one(group));
            leader = leader.or(Some(slot));
        }
    }
    leader
}

/// Gives all free RBGs to the UE with the highest positive metric and returns its slot. The search starts at the slot
/// `first`, and the first of several equal metrics wins.
pub(crate) fn best_of_tti(
    first: u16,
    free: Rbgs,
    ues: Candidates<'_>,
    grants: &mut Grants,
    metric: impl Fn(&UeView) -> f64,
) -> Option<u16> {
    let slot = best(first, ues, metric)?;
    grants.give(slot, free);
    Some(slot)
}

/// The UE with the highest positive metric. The search starts at the slot `first`, and the first of several equal
/// metrics wins.
fn best(first: u16, ues: Candidates<'_>, metric: impl Fn(&UeView) -> f64) -> Option<u16> {
    let (before, after) = ues.users.split_at(ues.users.partition_point(|ue| ue.slot < first));
    let mut best = None;
    let mut highest = 0.0;
    for ue in after.iter().chain(before) {
        let metric = metric(ue);
        if metric > highest {
            highest = metric;
            best = Some(ue.slot);
        }
    }
    best
}

//! Choosing the user with the highest metric.

use super::{Candidates, Grants, Rbgs, Ties, UeView};
use crate::phy::Cqi;

/// The slot from which the first of equal users is counted.
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
    /// A TTI is over, in which this user was served first.
    pub(crate) fn pass(&mut self, leader: Option<u16>) {
        self.next = leader.map_or(self.next, |slot| slot + 1);
    }
}

/// Gives each free group to the user with the highest metric above zero for its CQI there, the first of equals counted
/// from the slot `first` on. Where all users report a flat channel one comparison serves for all groups. Returns the
/// slot that got the first group.
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

/// Gives all free groups to the user with the highest metric above zero, the first of equals counted from the slot
/// `first` on. Returns its slot.
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

/// The user with the highest metric above zero, the first of equals counted from the slot `first` on.
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

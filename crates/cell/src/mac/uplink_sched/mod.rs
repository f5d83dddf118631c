//! Uplink schedulers: who gets which PRBs.
//!
//! A scheduler sees the users that wait and the PRBs that retransmissions leave, and hands out runs of PRBs: a
//! UE's PRBs stand together (TS 36.211 §5.3.4). Buffer reports, schemes and HARQ belong to the MAC.

use super::uplink_adaptation::{Link, Schemes};
use crate::phy::Prbs;
use airwnd_catalog::family;
use airwnd_units::Bytes;

/// Uplink MAC scheduler.
#[family(name = "uplink-sched", build = fn() -> Box<dyn UplinkScheduler>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Rr(rr::Params),
    Pf(pf::Params),
}

pub use super::uplink_adaptation::SMALLEST_SHARE;

/// A user that waits and does not repeat anything in this TTI.
#[derive(Clone, Copy, Debug)]
pub struct UplinkView {
    /// The user's place in the cell, ascending with the RNTI.
    pub slot: u16,
    /// What waits in the UE, as far as the base station knows; never zero.
    pub buffer: Bytes,
    /// What its soundings and headroom reports tell; [`Schemes`] makes grants of it.
    pub link: Link,
}

/// The carrier's PRBs, free or not.
#[derive(Clone, Copy, Debug)]
pub struct FreePrbs {
    taken: u128,
    prbs: u16,
}

impl FreePrbs {
    /// A carrier of `prbs` free PRBs.
    pub fn all(prbs: Prbs) -> Self {
        FreePrbs { taken: 0, prbs: prbs.0 }
    }
    /// How many PRBs the carrier has.
    pub fn carrier(self) -> u16 {
        self.prbs
    }
    fn run(first: u16, prbs: u16) -> u128 {
        ((1u128 << prbs) - 1) << first
    }
    /// Whether a run is free.
    pub fn contains(self, first: u16, prbs: u16) -> bool {
        self.taken & Self::run(first, prbs) == 0
    }
    /// Takes a run.
    pub fn take(&mut self, first: u16, prbs: u16) {
        self.taken |= Self::run(first, prbs);
    }
    /// Where the first free run of so many PRBs begins.
    pub fn find(self, prbs: u16) -> Option<u16> {
        (0..=self.prbs.checked_sub(prbs)?).find(|first| self.contains(*first, prbs))
    }
    /// How many PRBs are free.
    pub fn left(self) -> u16 {
        self.prbs - self.taken.count_ones() as u16
    }
    /// The length of the longest free run.
    pub fn longest(self) -> u16 {
        // A run of n + 1 begins where a run of n and its neighbour do.
        let mut runs = !self.taken & Self::run(0, self.prbs);
        let mut length = 0;
        while runs != 0 {
            runs &= runs >> 1;
            length += 1;
        }
        length
    }
}

/// A run of PRBs for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The user.
    pub slot: u16,
    /// Its first PRB.
    pub first: u16,
    /// How many.
    pub prbs: u16,
}

/// An uplink scheduler.
///
/// The MAC calls [`allocate`](UplinkScheduler::allocate) in each TTI in which somebody waits, and then
/// [`on_served`](UplinkScheduler::on_served), which it calls in the other TTIs too.
pub trait UplinkScheduler: Send {
    /// A user joins the cell at a slot, with nothing of its predecessor there.
    fn admit(&mut self, _slot: u16) {}
    /// Hands out free PRBs to `users`, who are not none and ascend by slot; `repeating` others send again. Shares of
    /// users out of reach are not granted.
    fn allocate(
        &mut self,
        free: FreePrbs,
        repeating: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    );
    /// What users were granted for new data: slot and size of the transport block.
    fn on_served(&mut self, _served: &[(u16, Bytes)]) {}
    /// TTIs have passed in which the cell slept.
    fn on_idle(&mut self, _ttis: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_prbs_are_found_as_runs() {
        let mut free = FreePrbs::all(Prbs(15));
        assert_eq!((free.longest(), free.find(15), free.find(16)), (15, Some(0), None));
        free.take(3, 4);
        assert!(free.contains(0, 3) && free.contains(7, 8) && !free.contains(0, 4) && !free.contains(6, 1));
        assert_eq!((free.longest(), free.find(3), free.find(4), free.find(9)), (8, Some(0), Some(7), None));
        assert_eq!(free.left(), 11);
        free.take(0, 3);
        free.take(7, 8);
        assert_eq!((free.longest(), free.find(1)), (0, None));
    }
}

//! Uplink schedulers: assignment of PRBs to UEs.
//!
//! A scheduler reads the backlogged UEs and the PRBs that retransmissions leave free, and assigns runs of PRBs: the
//! PRBs of a UE are contiguous (TS 36.211 §5.3.4). Buffer reports, MCS and HARQ belong to the MAC.

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

/// A backlogged UE without a retransmission in this TTI.
#[derive(Clone, Copy, Debug)]
pub struct UplinkView {
    /// Slot of the UE in the cell, ascending with the RNTI.
    pub slot: u16,
    /// Backlog of the UE known to the eNB; never zero.
    pub buffer: Bytes,
    /// Link state from soundings and headroom reports; [`Schemes`] derives grants from it.
    pub link: Link,
}

/// The carrier's PRBs, free or taken.
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
    /// Number of PRBs of the carrier.
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
    /// First PRB of the first free run of this length.
    pub fn find(self, prbs: u16) -> Option<u16> {
        (0..=self.prbs.checked_sub(prbs)?).find(|first| self.contains(*first, prbs))
    }
    /// Number of free PRBs.
    pub fn left(self) -> u16 {
        self.prbs - self.taken.count_ones() as u16
    }
    /// The length of the longest free run.
    pub fn longest(self) -> u16 {
        // A run of n + 1 starts where two runs of n start at adjacent PRBs.
        let mut runs = !self.taken & Self::run(0, self.prbs);
        let mut length = 0;
        while runs != 0 {
            runs &= runs >> 1;
            length += 1;
        }
        length
    }
}

/// A run of PRBs for a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The UE.
    pub slot: u16,
    /// Its first PRB.
    pub first: u16,
    /// Number of PRBs.
    pub prbs: u16,
}

/// An uplink scheduler.
///
/// The MAC calls [`allocate`](UplinkScheduler::allocate) in each TTI with a backlogged UE, and then
/// [`on_served`](UplinkScheduler::on_served), which it calls in the other TTIs too.
pub trait UplinkScheduler: Send {
    /// A UE joins the cell at a slot; state of the slot's previous UE is discarded.
    fn admit(&mut self, _slot: u16) {}
    /// Assigns free PRBs to `users`, which is not empty and ascends by slot. `repeating` is the number of UEs with a
    /// retransmission. Shares of UEs out of reach are not granted.
    fn allocate(
        &mut self,
        free: FreePrbs,
        repeating: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    );
    /// New data granted in this TTI: slot and transport block size.
    fn on_served(&mut self, _served: &[(u16, Bytes)]) {}
    /// TTIs have passed without scheduling.
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

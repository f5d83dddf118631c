//! Uplink schedulers: assignment of PRBs to UEs.
//!
//! A scheduler reads the backlogged UEs and the PRBs that retransmissions leave free, and assigns runs of PRBs: the
//! PRBs of a UE are contiguous (TS 36.211 §5.3.4). Buffer reports, MCS and HARQ belong to the MAC.

use super::sched;
use super::uplink_adaptation::{Link, Schemes};
use crate::identity::UeSlot;
use airwnd_catalog::family;
use airwnd_phy::Prbs;
use airwnd_units::Bytes;

/// Uplink MAC scheduler.
#[family(name = "uplink-sched", build = fn(downlink: &sched::Spec) -> Box<dyn UplinkScheduler>)]
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
    pub slot: UeSlot,
    /// Backlog of the UE known to the eNB; never zero.
    pub buffer: Bytes,
    /// Link state from soundings and headroom reports; [`Schemes`] derives grants from it.
    pub link: Link,
}

/// The carrier's PRBs, free or taken.
#[derive(Clone, Copy, Debug)]
pub struct FreePrbs {
    /// One bit per PRB.
    taken: [u64; WORDS],
    prbs: u16,
}

/// Words of bits for 275 PRBs, the most of an NR carrier (TS 38.211 §4.4.2).
const WORDS: usize = 5;

impl FreePrbs {
    /// A carrier of `prbs` free PRBs.
    pub fn all(prbs: Prbs) -> Self {
        FreePrbs { taken: [0; WORDS], prbs: prbs.0 }
    }
    /// Number of PRBs of the carrier.
    pub fn carrier(&self) -> u16 {
        self.prbs
    }
    /// The words of a run, each with the bits of the run in it.
    fn run(first: u16, prbs: u16) -> impl Iterator<Item = (usize, u64)> {
        let (mut next, end) = (u32::from(first), u32::from(first) + u32::from(prbs));
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let (word, bit) = (next / u64::BITS, next % u64::BITS);
                let count = (end - next).min(u64::BITS - bit);
                next += count;
                (word as usize, (u64::MAX >> (u64::BITS - count)) << bit)
            })
        })
    }
    /// Whether a run is free.
    pub fn contains(&self, first: u16, prbs: u16) -> bool {
        Self::run(first, prbs).all(|(word, bits)| self.taken[word] & bits == 0)
    }
    /// Takes a run.
    pub fn take(&mut self, first: u16, prbs: u16) {
        Self::run(first, prbs).for_each(|(word, bits)| self.taken[word] |= bits);
    }
    /// The first free run from a PRB on: its first PRB and its length.
    fn run_from(&self, prb: u16) -> Option<(u16, u16)> {
        let bits = u64::BITS as u16;
        let rest = |prb: u16| (self.taken[usize::from(prb / bits)] >> (prb % bits), bits - prb % bits);
        let mut first = prb;
        while first < self.prbs {
            let (word, left) = rest(first);
            let taken = word.trailing_ones() as u16;
            first += taken;
            if taken < left {
                break;
            }
        }
        let mut end = first;
        while end < self.prbs {
            let (word, left) = rest(end);
            let free = (word.trailing_zeros() as u16).min(left);
            end += free;
            if free < left {
                break;
            }
        }
        (first < self.prbs).then(|| (first, end.min(self.prbs) - first))
    }
    fn runs(&self) -> impl Iterator<Item = (u16, u16)> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let (first, length) = self.run_from(next)?;
            next = first + length;
            Some((first, length))
        })
    }
    /// First PRB of the first free run of this length.
    pub fn find(&self, prbs: u16) -> Option<u16> {
        self.runs().find(|(_, length)| *length >= prbs).map(|(first, _)| first)
    }
    /// Number of free PRBs.
    pub fn left(&self) -> u16 {
        self.prbs - self.taken.iter().map(|word| word.count_ones() as u16).sum::<u16>()
    }
    /// The length of the longest free run.
    pub fn longest(&self) -> u16 {
        self.runs().map(|(_, length)| length).max().unwrap_or(0)
    }
}

/// A run of PRBs for a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The UE.
    pub slot: UeSlot,
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
    fn admit(&mut self, _slot: UeSlot) {}
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
    /// Assigns the free PRBs anew, to those of the UEs with a share from [`allocate`](UplinkScheduler::allocate) that the
    /// PDCCH has room for. Called in its TTI, without the shares so far, if it has no room for some.
    fn allocate_again(
        &mut self,
        free: FreePrbs,
        repeating: u16,
        users: &[UplinkView],
        schemes: &Schemes,
        shares: &mut Vec<Share>,
    ) {
        self.allocate(free, repeating, users, schemes, shares);
    }
    /// New data granted in this TTI: slot and transport block size.
    fn on_served(&mut self, _served: &[(UeSlot, Bytes)]) {}
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

    #[test]
    fn runs_are_those_of_a_list_of_prbs() {
        let stream = airwnd_kernel::Stream::new(1, "runs");
        for number in 0..300 {
            let draws = stream.child(number);
            let prbs = 1 + (275.0 * draws.at(0)) as u16;
            let (mut free, mut list) = (FreePrbs::all(Prbs(prbs)), vec![true; prbs.into()]);
            for step in 1..12 {
                let first = (f64::from(prbs) * draws.at(2 * step)) as u16;
                let count = 1 + (f64::from(prbs - first) * draws.at(2 * step + 1) * 0.3) as u16;
                let count = count.min(prbs - first);
                assert_eq!(
                    free.contains(first, count),
                    list[first.into()..][..count.into()].iter().all(|free| *free)
                );
                free.take(first, count);
                list[first.into()..][..count.into()].fill(false);
                let runs = list.split(|free| !free).map(<[bool]>::len);
                let longest = runs.max().unwrap_or(0) as u16;
                assert_eq!(free.longest(), longest, "{list:?}");
                assert_eq!(usize::from(free.left()), list.iter().filter(|free| **free).count());
                let place = list.windows(count.into()).position(|run| run.iter().all(|free| *free));
                assert_eq!(free.find(count).map(usize::from), place);
            }
        }
    }
}

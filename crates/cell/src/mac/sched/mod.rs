//! Downlink schedulers: who gets which resource-block groups.
//!
//! A scheduler sees a view of the users that may be served and writes grants. HARQ retransmissions,
//! transport blocks, buffers and link adaptation belong to the MAC.

use crate::phy::Cqi;
use airwnd_catalog::family;
use airwnd_units::{BitRate, Bytes, Tti};

family! {
    /// Downlink MAC scheduler.
    pub family Spec ("sched") { rr: Rr, pf: Pf, pss: Pss }
    build fn build(grid: &Grid) -> Box<dyn Scheduler>;
}

/// The most resource-block groups that a carrier has (TS 36.213 Table 7.1.6.1-1: 110 PRBs in groups of 4).
pub const MAX_RBGS: usize = 28;

/// A set of resource-block groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rbgs(pub u32);

impl Rbgs {
    /// The first `count` groups.
    pub fn first(count: u8) -> Rbgs {
        Rbgs(((1u64 << count) - 1) as u32)
    }
    /// One group.
    pub fn one(index: u8) -> Rbgs {
        Rbgs(1 << index)
    }
    /// How many groups are in the set.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }
    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Whether a group is in the set.
    pub fn contains(self, index: u8) -> bool {
        self.0 >> index & 1 == 1
    }
    /// The groups in either set.
    pub fn union(self, other: Rbgs) -> Rbgs {
        Rbgs(self.0 | other.0)
    }
    /// The groups that are not in `other`.
    pub fn without(self, other: Rbgs) -> Rbgs {
        Rbgs(self.0 & !other.0)
    }
    /// The indices, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let index = rest.trailing_zeros() as u8;
            (rest != 0).then(|| {
                rest &= rest - 1;
                index
            })
        })
    }
}

/// The carrier as a scheduler sees it.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Groups that can be scheduled; PRBs beyond the last whole group are never used.
    pub rbgs: u8,
    /// What one group carries in one second, in bytes, by CQI 0..=15 (zero at CQI 0).
    pub rate_by_cqi: [f64; 16],
}

/// A channel report of a user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelState {
    /// CQI for a block over the whole carrier.
    pub wideband: Cqi,
    /// CQI for a block in a group, where it is the same in all of them.
    pub flat: Option<Cqi>,
    /// CQI for a block in each group.
    pub subband: [Cqi; MAX_RBGS],
}

impl ChannelState {
    /// A report from the CQI of the whole carrier and those of its groups.
    pub fn new(wideband: Cqi, groups: impl IntoIterator<Item = Cqi>) -> Self {
        let mut subband = [Cqi::OUT_OF_RANGE; MAX_RBGS];
        let mut count = 0;
        for (cqi, place) in groups.into_iter().zip(&mut subband) {
            *place = cqi;
            count += 1;
        }
        let flat = subband[..count].iter().all(|cqi| *cqi == subband[0]).then_some(subband[0]);
        ChannelState { wideband, flat, subband }
    }
}

/// A user that may be served in this TTI: it has data waiting, a free HARQ process and no retransmission.
#[derive(Clone, Copy, Debug)]
pub struct UeView {
    /// What waits in its buffer, as far as the MAC knows.
    pub queue: Bytes,
    /// Where its latest report lies.
    pub(crate) report: u32,
    /// The user's place in the cell, ascending with the RNTI.
    pub slot: u16,
    /// CQI for a block over the whole carrier.
    pub wideband: Cqi,
    /// CQI for a block in a group, where it is the same in all of them.
    pub flat: Option<Cqi>,
}

/// The users that may be served, ascending by slot, with their channel reports.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    /// The users.
    pub users: &'a [UeView],
    pub(crate) reports: &'a [ChannelState],
}

impl Candidates<'_> {
    /// A user's CQI for a block in one group.
    pub fn subband(&self, ue: &UeView, group: u8) -> Cqi {
        ue.flat.unwrap_or_else(|| self.reports[ue.report as usize].subband[group as usize])
    }
    /// A user's lowest CQI over some groups.
    pub(crate) fn lowest(&self, ue: &UeView, groups: Rbgs) -> Cqi {
        let all = || groups.iter().map(|group| self.subband(ue, group)).min();
        ue.flat.or_else(all).unwrap_or(Cqi::OUT_OF_RANGE)
    }
}

/// Which report the transport format of a grant follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAdaptation {
    /// The wideband CQI.
    Wideband,
    /// The lowest sub-band CQI over the granted groups.
    LowestSubband,
}

/// What a scheduler hands out in a TTI.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    granted: Vec<(u16, Rbgs)>,
}

impl Grants {
    /// Gives groups to a user, besides those it has.
    pub fn give(&mut self, slot: u16, rbgs: Rbgs) {
        match self.granted.iter_mut().find(|(holder, _)| *holder == slot) {
            Some((_, held)) => *held = held.union(rbgs),
            None => self.granted.push((slot, rbgs)),
        }
    }
    /// Takes everything back.
    pub fn clear(&mut self) {
        self.granted.clear();
    }
    /// Users and their groups.
    pub fn iter(&self) -> impl Iterator<Item = (u16, Rbgs)> + '_ {
        self.granted.iter().copied()
    }
}

/// A downlink scheduler.
///
/// In each TTI in which new data can be sent the MAC calls [`allocate`](Scheduler::allocate) and then
/// [`on_served`](Scheduler::on_served), both also with nobody to serve. A TTI whose groups are all taken by
/// retransmissions is not announced, as in ns-3 LENA.
pub trait Scheduler: Send {
    /// A user joins the cell at a slot, the first free one, with nothing of its predecessor there. `gbr` is its
    /// guaranteed bit rate, zero for none.
    fn admit(&mut self, slot: u16, gbr: BitRate);
    /// The user of a slot leaves the cell; it is not seen again before somebody is admitted there.
    fn release(&mut self, slot: u16);
    /// Hands out the free groups. A user's CQI may be out of range; its queue is never empty.
    fn allocate(&mut self, tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants);
    /// What the users got as new data: slot and size of the transport block. Users without a grant are not
    /// listed.
    fn on_served(&mut self, served: &[(u16, Bytes)]);
    /// TTIs have passed in which the cell slept because nobody had anything to send.
    fn on_idle(&mut self, ttis: u64);
    /// Which report the MAC shall follow.
    fn link_adaptation(&self) -> LinkAdaptation;
}

/// A moving average of each user's rate, in bytes per second.
#[derive(Clone, Debug)]
pub(crate) struct RateAverages {
    averages: Vec<f64>,
    weight: f64,
}

impl RateAverages {
    /// No users; the newest TTI weighs 1 / `window`.
    pub(crate) fn new(window: f64) -> Self {
        RateAverages { averages: Vec::new(), weight: 1.0 / window }
    }
    /// A user joins with 1 B/s, so that its metric is finite.
    pub(crate) fn admit(&mut self, slot: u16) {
        settle(&mut self.averages, slot, 1.0);
    }
    pub(crate) fn of(&self, slot: u16) -> f64 {
        self.averages[slot as usize]
    }
    /// A TTI passes for everybody; `served` got their bytes in it.
    pub(crate) fn update(&mut self, served: &[(u16, Bytes)]) {
        for average in &mut self.averages {
            *average *= 1.0 - self.weight;
        }
        for (slot, bytes) in served {
            self.averages[*slot as usize] += self.weight * bytes.0 as f64 * 1000.0;
        }
    }
    /// A TTI passes for one user.
    pub(crate) fn update_one(&mut self, slot: u16, bytes: Bytes) {
        let average = &mut self.averages[slot as usize];
        *average = (1.0 - self.weight) * *average + self.weight * bytes.0 as f64 * 1000.0;
    }
    /// TTIs pass in which nobody was served.
    pub(crate) fn idle(&mut self, ttis: u64) {
        let factor = libm::pow(1.0 - self.weight, ttis as f64);
        for average in &mut self.averages {
            *average = (*average * factor).max(f64::MIN_POSITIVE);
        }
    }
}

/// Sets the entry of a slot that somebody joins at: the one behind all others, or one that was left.
pub(crate) fn settle<T>(slots: &mut Vec<T>, slot: u16, entry: T) {
    match slots.get_mut(usize::from(slot)) {
        Some(place) => *place = entry,
        None => {
            assert_eq!(slots.len(), usize::from(slot), "slots are taken without gaps");
            slots.push(entry);
        }
    }
}

/// Gives each free group to the user with the highest metric for its CQI there, the first of equals; a metric
/// of zero never wins. Where all users report a flat channel one comparison serves for all groups.
pub(crate) fn best_per_group(
    free: Rbgs,
    ues: Candidates<'_>,
    grants: &mut Grants,
    metric: impl Fn(&UeView, Cqi) -> f64,
) {
    let best = |group: u8| {
        let mut best: Option<u16> = None;
        let mut highest = 0.0;
        for ue in ues.users {
            let metric = metric(ue, ues.subband(ue, group));
            if metric > highest {
                highest = metric;
                best = Some(ue.slot);
            }
        }
        best
    };
    if ues.users.iter().all(|ue| ue.flat.is_some()) {
        if let Some(slot) = best(0) {
            grants.give(slot, free);
        }
        return;
    }
    for group in free.iter() {
        if let Some(slot) = best(group) {
            grants.give(slot, Rbgs::one(group));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::Param;

    /// What one group and the whole carrier of 15 PRBs carry, in bytes, by CQI (TS 36.213 Table
    /// 7.1.7.2.1-1 at 2 and 14 PRBs; ns-3's MCS of each CQI).
    const ONE_GROUP: [u64; 16] = [0, 7, 11, 22, 22, 32, 37, 47, 61, 75, 79, 97, 109, 0, 0, 185];
    const WHOLE: [u64; 16] = [0, 49, 73, 129, 185, 241, 277, 349, 453, 533, 0, 693, 0, 0, 0, 1287];

    fn grid() -> Grid {
        Grid { rbgs: 7, rate_by_cqi: ONE_GROUP.map(|bytes| bytes as f64 * 1000.0) }
    }

    fn scheduler(kind: &str) -> Box<dyn Scheduler> {
        let node = airwnd_catalog::Node::from_json(&format!("\"{kind}\""), "test").unwrap();
        Spec::read(&node).unwrap().build(&grid())
    }

    /// Saturated users with these (wideband, sub-band) CQIs for `ttis`: blocks sent to each.
    fn saturate(mut scheduler: Box<dyn Scheduler>, cqis: &[(u8, u8)], ttis: u64) -> Vec<u64> {
        let users: Vec<UeView> = (0..)
            .zip(cqis)
            .map(|(slot, (wideband, subband))| UeView {
                queue: Bytes(10_000),
                report: 0,
                slot,
                wideband: Cqi(*wideband),
                flat: Some(Cqi(*subband)),
            })
            .collect();
        (0..).zip(cqis).for_each(|(slot, _)| scheduler.admit(slot, BitRate(0)));
        let mut blocks = vec![0; cqis.len()];
        let mut grants = Grants::default();
        let mut served = Vec::new();
        for tti in 0..ttis {
            grants.clear();
            served.clear();
            let ues = Candidates { users: &users, reports: &[] };
            scheduler.allocate(Tti(tti), Rbgs::first(7), ues, &mut grants);
            for (slot, rbgs) in grants.iter() {
                blocks[slot as usize] += 1;
                let cqi = cqis[slot as usize].1 as usize;
                served.push((slot, Bytes(if rbgs.count() == 7 { WHOLE[cqi] } else { ONE_GROUP[cqi] })));
            }
            scheduler.on_served(&served);
        }
        blocks
    }

    /// The users of the ns-3 run S2 at 13 dBm; the third one's wideband CQI exceeds its sub-band CQI.
    const S2: [(u8, u8); 10] =
        [(15, 15), (11, 11), (10, 9), (8, 8), (7, 7), (6, 6), (5, 5), (5, 5), (4, 4), (4, 4)];

    #[test]
    fn proportional_fair_serves_as_often_as_in_ns3() {
        let blocks = saturate(scheduler("pf"), &S2, 9987);
        assert_eq!(blocks, [1072, 1050, 1050, 1005, 1004, 1004, 1003, 1003, 898, 898]);
    }

    #[test]
    fn priority_set_serves_as_often_as_in_ns3() {
        let blocks = saturate(scheduler("pss"), &S2, 9987);
        let reference = [1071, 1044, 1102, 1000, 999, 999, 998, 998, 888, 888u64];
        for (ours, theirs) in blocks.iter().zip(reference) {
            assert!(ours.abs_diff(theirs) <= 1, "{blocks:?}");
        }
    }

    #[test]
    fn a_newcomer_inherits_nothing_of_the_slot() {
        let users = [0, 1].map(|slot| UeView {
            queue: Bytes(10_000),
            report: 0,
            slot,
            wideband: Cqi(15),
            flat: Some(Cqi(15)),
        });
        for kind in ["pf", "pss"] {
            let mut scheduler = scheduler(kind);
            scheduler.admit(0, BitRate(0));
            scheduler.admit(1, BitRate(0));
            let serve = |scheduler: &mut Box<dyn Scheduler>, tti, users: &[UeView]| {
                let mut grants = Grants::default();
                scheduler.allocate(Tti(tti), Rbgs::first(7), Candidates { users, reports: &[] }, &mut grants);
                let served: Vec<_> = grants.iter().map(|(slot, _)| (slot, Bytes(1287))).collect();
                scheduler.on_served(&served);
                served.iter().map(|(slot, _)| *slot).collect::<Vec<_>>()
            };
            (0..1000).for_each(|tti| drop(serve(&mut scheduler, tti, &users[..1])));
            assert_eq!(serve(&mut scheduler, 1000, &users), [1], "{kind}: the one that had nothing");
            scheduler.release(0);
            (1001..2000).for_each(|tti| drop(serve(&mut scheduler, tti, &users[1..])));
            scheduler.admit(0, BitRate(0));
            assert_eq!(serve(&mut scheduler, 2000, &users), [0], "{kind}: the newcomer");
        }
    }

    #[test]
    fn round_robin_serves_as_often_as_in_ns3() {
        let blocks = saturate(scheduler("rr"), &[(15, 15); 10], 9987);
        assert_eq!(blocks.iter().sum::<u64>(), 9987 * 7);
        assert!(blocks.iter().all(|n| (6990..=6991).contains(n)), "{blocks:?}");
    }

    #[test]
    fn round_robin_leaves_the_remainder_empty() {
        // 7 groups for 4 users: one each, 3 stay empty
        let blocks = saturate(scheduler("rr"), &[(15, 15); 4], 100);
        assert_eq!(blocks, [100; 4]);
    }

    #[test]
    fn priority_set_is_not_silenced_by_users_out_of_reach() {
        // wideband CQI 1, but no group can be served: the others share the carrier as if alone
        let blocks = saturate(scheduler("pss"), &[(15, 15), (1, 0), (1, 0), (15, 15)], 1000);
        assert_eq!((blocks[1], blocks[2], blocks[0] + blocks[3]), (0, 0, 1000), "{blocks:?}");
    }
}

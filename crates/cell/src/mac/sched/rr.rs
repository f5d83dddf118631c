//! Round robin.

use super::{
    Candidates, Capabilities, Grants, Grid, LinkAdaptation, PerUe, Properties, Rbgs, Scheduler, SecondPass,
    UeView,
};
use crate::bearer::Bearer;
use crate::identity::UeSlot;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Tti};

/// Round robin: each UE in turn gets an equal number of RBGs, independent of channel quality.
///
/// Each UE with data gets floor(free RBGs / UEs), at least one. `remainder` states who gets the remainder of the
/// division. If the RBGs run out, the next TTI starts after the last UE served. If they suffice for all UEs, the start
/// moves by one slot per TTI. The MCS follows the wideband CQI.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 rr-ff-mac-scheduler.cc; 5G-LENA nr-mac-scheduler-ofdma.cc")]
pub struct Params {
    /// Use of the RBGs that the division leaves over.
    #[param(expert, default = Remainder::Unused, unit = "word", source = "ns-3 rr-ff-mac-scheduler.cc")]
    pub remainder: Remainder,
}

/// RBGs that cannot be divided equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Remainder {
    /// They stay unused, as in ns-3 LENA.
    #[word = "unused"]
    Unused,
    /// One more for each of the first UEs of the TTI, which are others in each TTI.
    #[word = "in-turn"]
    InTurn,
}

/// The round-robin scheduler.
pub struct Rr {
    remainder: Remainder,
    /// Number of slots so far.
    slots: u16,
    /// Slot at which the last TTI has started.
    start: UeSlot,
    /// Slot after which the next TTI starts.
    cursor: Option<UeSlot>,
}

impl Rr {
    /// A scheduler without UEs.
    pub fn new(params: Params, _grid: &Grid) -> Self {
        Rr { remainder: params.remainder, slots: 0, start: UeSlot(0), cursor: None }
    }
}

impl Scheduler for Rr {
    fn allocate(&mut self, _tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let served = |ue: &&UeView| ue.wideband.0 > 0;
        let users = ues.users;
        let eligible = users.iter().filter(served).count() as u32;
        if eligible == 0 {
            return;
        }
        let share = (free.count() / eligible).max(1);
        let mut over = match self.remainder {
            Remainder::Unused => 0,
            Remainder::InTurn => free.count().saturating_sub(share * eligible),
        };
        let start = self.cursor.map_or(UeSlot(0), |cursor| UeSlot((cursor.0 + 1) % self.slots));
        (self.start, self.cursor) = (start, Some(start));
        let turn = users.partition_point(|ue| ue.slot < start);
        let mut rest = free;
        for ue in users[turn..].iter().chain(&users[..turn]).filter(served) {
            let more = over.min(1);
            over -= more;
            for index in rest.iter().take((share + more) as usize) {
                grants.give(ue.slot, Rbgs::one(index));
                rest = rest.without(Rbgs::one(index));
            }
            if rest.is_empty() {
                // If all UEs had their turn, those that get one more would otherwise be the same in each TTI.
                if self.remainder == Remainder::Unused || free.count() < eligible {
                    self.cursor = Some(ue.slot);
                }
                break;
            }
        }
    }

    fn on_served(&mut self, _served: &[(UeSlot, Bytes)]) {}
}

impl Capabilities for Rr {
    fn properties(&self) -> Properties {
        Properties::new(LinkAdaptation::Wideband)
    }

    fn per_ue(&mut self) -> Option<&mut dyn PerUe> {
        Some(self)
    }

    fn second_pass(&mut self) -> Option<&mut dyn SecondPass> {
        Some(self)
    }
}

impl PerUe for Rr {
    fn admit(&mut self, slot: UeSlot, _bearer: &Bearer) {
        self.slots = self.slots.max(slot.0 + 1);
    }
}

impl SecondPass for Rr {
    /// The next TTI starts after the last of these UEs, before those for which there was no room.
    fn allocate_again(&mut self, tti: Tti, free: Rbgs, ues: Candidates<'_>, grants: &mut Grants) {
        let turn = ues.users.partition_point(|ue| ue.slot < self.start);
        let last = ues.users[..turn].last().or(ues.users.last()).map(|ue| ue.slot);
        self.cursor = Some(UeSlot((self.start.0 + self.slots - 1) % self.slots));
        self.allocate(tti, free, ues, grants);
        self.cursor = last.or(self.cursor);
    }
}

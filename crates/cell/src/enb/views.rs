//! The UEs of a cell as its scheduler sees them.

use crate::identity::UeSlot;
use crate::mac::sched::{Candidates, ChannelState, UeView};
use crate::mac::slots::Slots;

/// The views of the UEs that can be scheduled, in ascending order of slots.
///
/// Little changes from TTI to TTI in a loaded cell: only what has changed is copied.
#[derive(Default)]
pub(crate) struct Views {
    list: Vec<UeView>,
    /// The UEs in the list, and their places in it by slot.
    listed: Slots,
    places: Vec<u16>,
    /// UEs that may have changed since they were listed.
    changed: Slots,
    /// Whether views in the list have been edited for a decision.
    is_edited: bool,
    /// Number of lists that differed from the one before by their UEs or channel reports.
    version: u64,
    /// Whether a channel report has changed since the last list.
    has_new_reports: bool,
}

impl Views {
    /// Reserves space for this many slots.
    pub fn reserve(&mut self, slots: usize) {
        self.list.reserve(slots.saturating_sub(self.list.len()));
        self.listed.reserve(slots);
        self.places.resize(slots.max(self.places.len()), 0);
        self.changed.reserve(slots);
    }

    /// Notes that the UE of a slot, or its backlog, has changed.
    #[inline]
    pub fn note_change(&mut self, slot: UeSlot) {
        self.changed.insert(slot);
    }

    /// Notes that the UE of a slot has another channel report.
    pub fn note_report(&mut self, slot: UeSlot) {
        self.changed.insert(slot);
        self.has_new_reports = true;
    }

    /// Lists these UEs; `view` returns the view of one.
    #[inline]
    pub fn list(&mut self, slots: &Slots, view: impl Fn(UeSlot) -> UeView) {
        let is_other = self.is_edited || !self.listed.equals(slots);
        self.version += u64::from(is_other || self.has_new_reports);
        self.has_new_reports = false;
        if is_other {
            self.list.clear();
            for slot in slots.iter() {
                self.places[slot.index()] = self.list.len() as u16;
                self.list.push(view(slot));
            }
            self.listed.copy_from(slots);
            self.is_edited = false;
        } else {
            let Views { list, places, .. } = self;
            self.changed.take_common(&self.listed, |slot| {
                list[usize::from(places[slot.index()])] = view(slot);
            });
        }
        self.changed.clear();
    }

    /// The UEs of a decision, with the reports of their cell.
    pub fn candidates<'a>(&'a self, reports: &'a [ChannelState]) -> Candidates<'a> {
        let version = Some(self.version).filter(|_| !self.is_edited);
        Candidates { users: &self.list, reports, version }
    }

    /// The view of a listed UE.
    pub fn of(&self, slot: UeSlot) -> &UeView {
        &self.list[usize::from(self.places[slot.index()])]
    }

    /// Leaves some of the listed UEs, until the next list.
    pub fn retain(&mut self, stays: impl Fn(UeSlot) -> bool) {
        self.is_edited = true;
        self.list.retain(|view| stays(view.slot));
        self.listed.retain(stays);
        for (place, view) in (0..).zip(&self.list) {
            self.places[view.slot.index()] = place;
        }
    }

    /// The listed views, to be edited until the next list.
    pub fn edit(&mut self) -> &mut [UeView] {
        self.is_edited = true;
        &mut self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::sched::tests::user;
    use airwnd_units::Bytes;
    use proptest::prelude::*;

    const SLOTS: u16 = 70;

    proptest! {
        /// The list is as if written anew each time, and its version changes with the UEs and with their reports.
        #[test]
        fn only_changes_are_copied_and_nothing_else_differs(
            steps in prop::collection::vec(
                (prop::collection::vec(0..SLOTS, 0..3), prop::collection::vec((0..SLOTS, 1u64..9, any::<bool>()), 0..4), 0u8..8),
                1..60,
            ),
        ) {
            let mut known: Vec<UeView> = (0..SLOTS).map(|slot| user(slot, 1, 1)).collect();
            let (mut views, mut slots) = (Views::default(), Slots::default());
            views.reserve(SLOTS.into());
            slots.reserve(SLOTS.into());
            let mut before: Option<(Slots, Option<u64>)> = None;
            for (toggled, changed, edits) in steps {
                toggled.iter().for_each(|slot| slots.set(UeSlot(*slot), !slots.contains(UeSlot(*slot))));
                for (slot, queue, is_report) in &changed {
                    known[usize::from(*slot)].queue = Bytes(*queue);
                    if *is_report { views.note_report(UeSlot(*slot)) } else { views.note_change(UeSlot(*slot)) }
                }
                views.list(&slots, |slot| known[slot.index()]);
                let listed = |views: &Views| -> Vec<(UeSlot, u64)> {
                    views.candidates(&[]).users.iter().map(|view| (view.slot, view.queue.0)).collect()
                };
                let expected: Vec<_> =
                    slots.iter().map(|slot| (slot, known[slot.index()].queue.0)).collect();
                prop_assert_eq!(listed(&views), expected);
                slots.iter().for_each(|slot| assert_eq!(views.of(slot).slot, slot));
                let version = views.candidates(&[]).version;
                if let Some((listed, before)) = before {
                    let is_same = listed == slots && !changed.iter().any(|(.., is_report)| *is_report);
                    prop_assert!(version.is_some() && (!is_same || before.is_none() || version == before));
                    prop_assert!(is_same || version != before);
                }
                before = Some((slots.clone(), version));
                if edits == 0 {
                    views.edit().iter_mut().for_each(|view| view.queue = Bytes(0));
                    prop_assert_eq!(views.candidates(&[]).version, None);
                    before = Some((slots.clone(), None));
                }
            }
        }
    }
}

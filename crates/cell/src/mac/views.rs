//! The UEs of a cell as its scheduler sees them.

use super::sched::{Candidates, ChannelState, UeView};
use super::slots::Slots;

/// The views of the UEs that can be scheduled, in ascending order of slots.
///
/// Little changes from TTI to TTI in a loaded cell: only what has changed is copied.
#[derive(Default)]
pub(crate) struct Views {
    list: Vec<UeView>,
    /// The UEs in the list.
    listed: Slots,
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
        self.changed.reserve(slots);
    }

    /// Notes that the UE of a slot, or its backlog, has changed.
    #[inline]
    pub fn note_change(&mut self, slot: u16) {
        self.changed.insert(slot);
    }

    /// Notes that the UE of a slot has another channel report.
    pub fn note_report(&mut self, slot: u16) {
        self.changed.insert(slot);
        self.has_new_reports = true;
    }

    /// Lists these UEs; `view` returns the view of one.
    #[inline]
    pub fn list(&mut self, slots: &Slots, view: impl Fn(u16) -> UeView) {
        let is_other = self.is_edited || self.listed != *slots;
        self.version += u64::from(is_other || self.has_new_reports);
        self.has_new_reports = false;
        if is_other {
            self.list.clear();
            for slot in slots.iter() {
                self.list.push(view(slot));
            }
            self.listed.copy_from(slots);
            self.is_edited = false;
        } else {
            for slot in self.changed.iter().filter(|slot| self.listed.contains(*slot)) {
                self.list[self.listed.place(slot)] = view(slot);
            }
        }
        self.changed.clear();
    }

    /// The UEs of a decision, with the reports of their cell.
    pub fn candidates<'a>(&'a self, reports: &'a [ChannelState]) -> Candidates<'a> {
        let version = Some(self.version).filter(|_| !self.is_edited);
        Candidates { users: &self.list, reports, version }
    }

    /// The view of a listed UE.
    pub fn of(&self, slot: u16) -> &UeView {
        &self.list[self.listed.place(slot)]
    }

    /// The listed views, to be edited until the next list.
    pub fn edit(&mut self) -> &mut [UeView] {
        self.is_edited = true;
        &mut self.list
    }
}

//! Work that is due in later TTIs.

use crate::mac::make_room;
use airwnd_units::Tti;

/// Work due in a later TTI, less than its depth ahead.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline<T> {
    stages: Vec<Vec<T>>,
}

impl<T> Pipeline<T> {
    /// A pipeline of this depth, a power of two, with space for this many entries per TTI.
    pub fn new(depth: usize, entries: usize) -> Self {
        assert!(depth.is_power_of_two(), "{depth} is no power of two");
        Pipeline { stages: (0..depth).map(|_| Vec::with_capacity(entries)).collect() }
    }
    fn place(&self, tti: Tti) -> usize {
        tti.0 as usize & (self.stages.len() - 1)
    }
    /// Reserves capacity for this many entries per TTI.
    pub fn reserve(&mut self, max: usize) {
        self.stages.iter_mut().for_each(|stage| make_room(stage, max));
    }
    /// Adds work to the TTI in which it is due.
    pub fn push(&mut self, due: Tti, work: T) {
        let place = self.place(due);
        self.stages[place].push(work);
    }
    /// Swaps the entries due in this TTI with an empty list.
    pub fn take(&mut self, tti: Tti, into: &mut Vec<T>) {
        into.clear();
        let place = self.place(tti);
        std::mem::swap(&mut self.stages[place], into);
    }
    /// The entry due in this TTI at this place.
    pub fn get(&self, tti: Tti, index: usize) -> Option<T>
    where
        T: Copy,
    {
        self.at(tti).get(index).copied()
    }
    /// Removes the entries due in this TTI.
    pub fn clear(&mut self, tti: Tti) {
        let place = self.place(tti);
        self.stages[place].clear();
    }
    /// Removes entries that are obsolete.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.stages.iter_mut().for_each(|stage| stage.retain(&mut keep));
    }
    /// Entries due in this TTI.
    pub fn at(&self, tti: Tti) -> &[T] {
        &self.stages[self.place(tti)]
    }
    pub fn is_empty(&self) -> bool {
        self.stages.iter().all(Vec::is_empty)
    }
}

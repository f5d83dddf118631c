//! Sets of timers.

use airwnd_units::Tti;

/// A set of timers with the same duration.
///
/// Restarting a timer leaves its old entry behind. The owner keeps the expiry and thereby recognises the valid entry.
pub(crate) struct Timers<T> {
    period: u64,
    /// By TTI modulo their number, a power of two above the period: a division would take longer than all else.
    due: Vec<Vec<T>>,
    armed: usize,
}

impl<T> Timers<T> {
    /// Timers of `period` TTIs for this many owners, each of which starts at most once per TTI.
    pub fn new(period: u64, owners: usize) -> Self {
        let lists = (period + 1).next_power_of_two();
        Timers { period, due: (0..lists).map(|_| Vec::with_capacity(owners)).collect(), armed: 0 }
    }

    /// Place of the entries of a TTI.
    fn place(&self, tti: Tti) -> usize {
        tti.0 as usize & (self.due.len() - 1)
    }

    pub fn arm(&mut self, tti: Tti, owner: T, expiry: &mut Option<Tti>) {
        let at = tti + self.period;
        self.armed += usize::from(expiry.is_none());
        if expiry.replace(at) != Some(at) {
            let place = self.place(at);
            self.due[place].push(owner);
        }
    }

    /// Whether no timer runs.
    pub fn is_idle(&self) -> bool {
        self.armed == 0
    }

    /// Whether there are entries of a TTI.
    pub fn has_entries(&self, tti: Tti) -> bool {
        !self.due[self.place(tti)].is_empty()
    }

    /// Takes the entries of a TTI out; [`Timers::put_back`] returns the list for its capacity.
    pub fn take(&mut self, tti: Tti) -> Vec<T> {
        let place = self.place(tti);
        std::mem::take(&mut self.due[place])
    }

    pub fn put_back(&mut self, tti: Tti, mut due: Vec<T>) {
        due.clear();
        let place = self.place(tti);
        self.due[place] = due;
    }

    pub fn disarm(&mut self, expiry: &mut Option<Tti>) {
        self.armed -= usize::from(expiry.take().is_some());
    }

    /// Removes a timer, which runs until `expiry`, to another set.
    pub(super) fn release(&mut self, expiry: Option<Tti>) {
        self.armed -= usize::from(expiry.is_some());
    }

    /// Adds a timer from another set with the same duration.
    pub(super) fn admit(&mut self, owner: T, expiry: Option<Tti>) {
        if let Some(at) = expiry {
            self.armed += 1;
            let place = self.place(at);
            self.due[place].push(owner);
        }
    }
}

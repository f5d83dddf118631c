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

#[cfg(test)]
mod tests {
    use super::*;

    /// The owners whose timers expire in a TTI, by their expiries.
    fn expired(timers: &mut Timers<usize>, tti: u64, expiries: &mut [Option<Tti>]) -> Vec<usize> {
        let due = timers.take(Tti(tti));
        let valid: Vec<_> = due.iter().copied().filter(|owner| expiries[*owner] == Some(Tti(tti))).collect();
        valid.iter().for_each(|owner| timers.disarm(&mut expiries[*owner]));
        timers.put_back(Tti(tti), due);
        valid
    }

    #[test]
    fn a_restarted_timer_expires_once_and_late() {
        let (mut timers, mut expiries) = (Timers::new(5, 2), [None; 2]);
        timers.arm(Tti(10), 0, &mut expiries[0]);
        timers.arm(Tti(10), 1, &mut expiries[1]);
        timers.arm(Tti(12), 0, &mut expiries[0]);
        // Twice in one TTI: one entry.
        timers.arm(Tti(12), 0, &mut expiries[0]);
        assert_eq!(expired(&mut timers, 15, &mut expiries), [1]);
        assert!(!timers.is_idle());
        assert_eq!(expired(&mut timers, 17, &mut expiries), [0]);
        assert!(timers.is_idle() && !timers.has_entries(Tti(17)));
    }

    #[test]
    fn a_stopped_timer_leaves_its_entry_behind() {
        let (mut timers, mut expiries) = (Timers::new(5, 1), [None]);
        timers.arm(Tti(10), 0, &mut expiries[0]);
        timers.disarm(&mut expiries[0]);
        assert!(timers.is_idle() && timers.has_entries(Tti(15)));
        assert_eq!(expired(&mut timers, 15, &mut expiries), [0; 0]);
    }

    #[test]
    fn a_timer_goes_on_in_another_set() {
        let (mut one, mut other, mut expiries) = (Timers::new(5, 1), Timers::new(5, 1), [None]);
        one.arm(Tti(10), 0, &mut expiries[0]);
        one.release(expiries[0]);
        other.admit(0, expiries[0]);
        assert!(one.is_idle() && !other.is_idle());
        assert_eq!(expired(&mut other, 15, &mut expiries), [0]);
        assert!(other.is_idle());
    }
}

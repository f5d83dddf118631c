//! Data transmissions of all cells in the last TTIs.

use crate::mac::sched::Rbgs;
use airwnd_units::Tti;

/// Weight of a TTI in the cells' mean activity.
// A choice: long against bursts of packets, short against changes of the load.
const WEIGHT: f64 = 0.01;
/// TTIs between two updates of the activity in use, so that reports of a steady channel can be cached.
const UPDATE: u64 = 100;

/// RBGs on which cells send data, in each of the last TTIs.
pub(super) struct OnAir {
    cells: usize,
    rbgs: u32,
    /// TTIs kept.
    kept: u64,
    /// `[tti % kept * cells + cell]`
    sent: Vec<Rbgs>,
    silence: Vec<Rbgs>,
    /// Mean fraction of RBGs on which a cell sends, smoothed, and its value in use.
    mean: f64,
    activity: f64,
    updates: u64,
}

impl OnAir {
    pub fn new(cells: usize, rbgs: u8, kept: u64) -> OnAir {
        let silence = vec![Rbgs::default(); cells];
        let sent = silence.repeat(kept as usize);
        OnAir { cells, rbgs: rbgs.into(), kept, sent, silence, mean: 0.0, activity: 0.0, updates: 0 }
    }

    /// Row of a TTI.
    pub fn row(&self, tti: Tti) -> usize {
        (tti.0 % self.kept) as usize
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.kept as usize
    }

    /// The transmissions in a row, by cell.
    pub fn at(&self, row: usize) -> &[Rbgs] {
        &self.sent[row * self.cells..][..self.cells]
    }

    /// Transmissions of cells that are all silent.
    pub fn silence(&self) -> &[Rbgs] {
        &self.silence
    }

    /// Notes the transmissions of a TTI, by cell.
    pub fn note(&mut self, tti: Tti, sent: impl Iterator<Item = Rbgs>) {
        let first = self.row(tti) * self.cells;
        let mut used = 0;
        for (known, sent) in self.sent[first..][..self.cells].iter_mut().zip(sent) {
            *known = sent;
            used += sent.count();
        }
        let share = f64::from(used) / (f64::from(self.rbgs) * self.cells as f64);
        self.mean += WEIGHT * (share - self.mean);
        if tti.0.is_multiple_of(UPDATE) {
            self.update();
        }
    }

    /// Notes that nothing was sent in the last `skipped` TTIs before `tti`.
    pub fn skip(&mut self, tti: Tti, skipped: u64) {
        for back in 1..=skipped.min(self.kept) {
            let first = self.row(Tti(tti.0 - back)) * self.cells;
            self.sent[first..first + self.cells].fill(Rbgs::default());
        }
        self.mean *= libm::pow(1.0 - WEIGHT, skipped as f64);
        if tti.0 / UPDATE > (tti.0 - skipped) / UPDATE {
            self.update();
        }
    }

    fn update(&mut self) {
        self.activity = self.mean;
        self.updates += 1;
    }

    /// Mean fraction of its RBGs on which a cell sends.
    pub fn activity(&self) -> f64 {
        self.activity
    }

    /// Number of updates of the activity.
    pub fn updates(&self) -> u64 {
        self.updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_is_the_mean_share_of_rbgs() {
        let mut on_air = OnAir::new(2, 4, 3);
        for tti in 0..=1000 {
            on_air.note(Tti(tti), [Rbgs::first(4), Rbgs::first(2)].into_iter());
        }
        assert!((on_air.activity() - 0.75).abs() < 0.001, "{}", on_air.activity());
        on_air.skip(Tti(1101), 100);
        assert!((on_air.activity() - 0.75 * libm::pow(0.99, 100.0)).abs() < 0.001);
        assert_eq!(on_air.at(on_air.row(Tti(1100))), on_air.silence());
    }

    #[test]
    fn transmissions_are_kept_for_some_ttis() {
        let mut on_air = OnAir::new(1, 4, 3);
        for tti in 0..6 {
            on_air.note(Tti(tti), [Rbgs(tti as u32)].into_iter());
        }
        assert_eq!([3, 4, 5].map(|tti| on_air.at(on_air.row(Tti(tti)))[0].0), [3, 4, 5]);
    }
}

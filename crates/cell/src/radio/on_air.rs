//! Data transmissions of all cells in the last TTIs.

use super::gains::Distant;
use crate::mac::sched::{MAX_RBGS, Rbgs};
use airwnd_phy::access::Access;
use airwnd_units::Tti;

/// Weight of a millisecond in the cells' mean activity.
// A choice: long against bursts of packets, short against changes of the load.
const WEIGHT: f64 = 0.01;
/// Milliseconds between two updates of the activity in use.
// A choice: the mean's time constant, within which it changes little.
const UPDATE: u64 = 100;

/// RBGs on which cells send data, in each of the last TTIs.
pub(super) struct OnAir {
    cells: usize,
    rbgs: usize,
    /// TTIs kept.
    kept: u64,
    /// `[tti % kept * cells + cell]`
    sent: Vec<Rbgs>,
    silence: Vec<Rbgs>,
    /// Numbers of the patterns of transmissions, by row, and the last number given.
    patterns: Vec<u64>,
    newest: u64,
    /// Whether cells are received that are not neighbours.
    has_far: bool,
    /// Smoothed fraction of the cells that send, by RBG, if there are far cells.
    mean: [f64; MAX_RBGS],
    activity: Activity,
    /// Weight of a slot with downlink data in the mean, and the part of such slots.
    weight: f64,
    share: f64,
    /// Slots between two updates.
    update: u64,
}

/// Mean activity of the cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    /// Fraction of the cells that send, by RBG. The PRBs beyond the last whole RBG count as one that is never used.
    by_rbg: [f64; MAX_RBGS + 1],
    /// Its mean over the RBGs.
    mean: f64,
}

impl Activity {
    /// No cell sends.
    pub const NONE: Activity = Activity { by_rbg: [0.0; MAX_RBGS + 1], mean: 0.0 };
    /// All cells send everywhere.
    pub const FULL: Activity = Activity { by_rbg: [1.0; MAX_RBGS + 1], mean: 1.0 };
}

/// Noise, and the mean interference of the cells that are not a UE's neighbours, per PRB in mW.
#[derive(Clone, Copy)]
pub(super) struct Floor<'a> {
    pub noise: f64,
    /// Interference while all cells send.
    pub far: f64,
    pub activity: &'a Activity,
}

impl<'a> Floor<'a> {
    /// The floor without the strongest cells, which interfere by what they send.
    pub fn without(self, cells: &[Distant]) -> Floor<'a> {
        cells.last().map_or(self, |last| Floor { far: last.weaker.into(), ..self })
    }

    /// Mean interference in an RBG.
    pub fn interference(&self, rbg: usize) -> f64 {
        self.far * self.activity.by_rbg[rbg]
    }

    /// Noise and interference in an RBG.
    pub fn at(&self, rbg: usize) -> f64 {
        self.noise + self.interference(rbg)
    }

    /// Their mean over the carrier.
    pub fn mean(&self) -> f64 {
        self.noise + self.far * self.activity.mean
    }
}

/// Adds the powers received in each RBG from a cell that sends on these RBGs.
#[inline]
pub(super) fn add(by_rbg: &mut [f64], sent: Rbgs, powers: impl Iterator<Item = f64> + Clone) {
    // The first RBGs, mostly all, need no test, so that the compiler vectorises them.
    let first = (sent.0.trailing_ones() as usize).min(by_rbg.len());
    by_rbg[..first].iter_mut().zip(powers.clone()).for_each(|(sum, power)| *sum += power);
    let others = Rbgs::first(by_rbg.len() as u8).without(Rbgs::first(first as u8));
    for rbg in sent.common(others).iter().map(usize::from) {
        if let Some((sum, power)) = by_rbg.get_mut(rbg).zip(powers.clone().nth(rbg)) {
            *sum += power;
        }
    }
}

impl OnAir {
    /// Silence of this many cells in the slots of an access, of which the last ones are kept.
    pub fn new(cells: usize, access: &Access, kept: u64, has_far: bool) -> OnAir {
        let [share, _] = access.timing.shares();
        let slots = access.clock.per_millisecond();
        let silence = vec![Rbgs::default(); cells];
        let sent = silence.repeat(kept as usize);
        let mean = [0.0; MAX_RBGS];
        let activity = Activity::NONE;
        let patterns = vec![0; kept as usize];
        OnAir {
            cells,
            rbgs: access.rbgs.into(),
            kept,
            sent,
            silence,
            patterns,
            newest: 0,
            has_far,
            mean,
            activity,
            weight: WEIGHT / (slots as f64 * share),
            share,
            update: UPDATE * slots,
        }
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

    /// Number of the pattern of transmissions in a row: it grows from TTI to TTI if any of them changes.
    pub fn pattern(&self, row: usize) -> u64 {
        self.patterns[row]
    }

    /// Transmissions of cells that are all silent.
    pub fn silence(&self) -> &[Rbgs] {
        &self.silence
    }

    /// Notes the transmissions of the next TTI, by cell. TTIs in which no cell can send data do not count in the mean.
    pub fn note(&mut self, tti: Tti, counts: bool, sent: impl Iterator<Item = Rbgs>) {
        let [before, row] = [tti.0 + self.kept - 1, tti.0].map(|tti| self.row(Tti(tti)));
        let mut repeats = true;
        for (cell, sent) in (0..self.cells).zip(sent) {
            repeats &= self.sent[before * self.cells + cell] == sent;
            self.sent[row * self.cells + cell] = sent;
        }
        self.newest += u64::from(!repeats);
        self.patterns[row] = self.newest;
        if self.has_far {
            self.note_activity(tti, counts);
        }
    }

    fn note_activity(&mut self, tti: Tti, counts: bool) {
        let first = self.row(tti) * self.cells;
        let mut senders = [0u32; MAX_RBGS];
        for sent in &self.sent[first..][..self.cells] {
            for (rbg, senders) in senders[..self.rbgs].iter_mut().enumerate() {
                *senders += sent.0 >> rbg & 1;
            }
        }
        for (mean, senders) in self.mean.iter_mut().zip(senders).filter(|_| counts) {
            *mean += self.weight * (f64::from(senders) / self.cells as f64 - *mean);
        }
        if tti.0.is_multiple_of(self.update) {
            self.update();
        }
    }

    /// Notes that nothing was sent in the last `skipped` TTIs before `tti`.
    pub fn skip(&mut self, tti: Tti, skipped: u64) {
        self.newest += 1;
        for back in 1..=skipped.min(self.kept) {
            let row = self.row(Tti(tti.0 - back));
            self.sent[row * self.cells..][..self.cells].fill(Rbgs::default());
            self.patterns[row] = self.newest;
        }
        if !self.has_far {
            return;
        }
        let kept = libm::pow(1.0 - self.weight, skipped as f64 * self.share);
        self.mean.iter_mut().for_each(|mean| *mean *= kept);
        if tti.0 / self.update > (tti.0 - skipped) / self.update {
            self.update();
        }
    }

    fn update(&mut self) {
        self.activity.by_rbg[..MAX_RBGS].copy_from_slice(&self.mean);
        self.activity.mean = self.mean.iter().sum::<f64>() / self.rbgs as f64;
    }

    /// The cells' activity as of the last update.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A carrier of four RBGs.
    fn lte() -> Access {
        let mut access = Access::lte(airwnd_phy::Prbs(6));
        access.rbgs = 4;
        access
    }

    /// The mean forgets in 100 ms, whatever the duration of a slot and the pattern of directions.
    #[test]
    fn activity_is_a_mean_over_time() {
        for (numerology, pattern) in
            [(0, "DDDSU"), (1, "DDDSU"), (1, "DSUUU"), (2, "DSUUUUUUUU"), (3, "DDDSU")]
        {
            let toml = format!("pattern = \"{pattern}\"\nnumerology = {numerology}");
            let node = airwnd_catalog::Node::from_toml(&toml, "test").unwrap();
            let params = <airwnd_phy::access::nr::Params as airwnd_catalog::Param>::read(&node).unwrap();
            let access = params.on(airwnd_phy::Prbs(24));
            let mut on_air = OnAir::new(1, &access, 3, true);
            let per_second = 1000 << numerology;
            let sends = |tti: u64| access.timing.slot(Tti(tti)).sends;
            for tti in 0..per_second {
                on_air.note(Tti(tti), sends(tti), [Rbgs::first(4)].into_iter());
            }
            let full = on_air.mean[0];
            assert!(full > 0.999, "{full}");
            // Silence of 100 ms, slot by slot and at once.
            let mut skipping = OnAir::new(1, &access, 3, true);
            skipping.mean = on_air.mean;
            skipping.skip(Tti(per_second + per_second / 10), per_second / 10);
            for tti in per_second..per_second + per_second / 10 {
                on_air.note(Tti(tti), sends(tti), [Rbgs::default()].into_iter());
            }
            for left in [on_air.mean[0], skipping.mean[0]] {
                assert!((left - full * libm::exp(-1.0)).abs() < 0.01, "{numerology} {pattern}: {left}");
            }
        }
    }

    #[test]
    fn activity_is_the_share_of_cells_that_send() {
        let mut on_air = OnAir::new(2, &lte(), 3, true);
        for tti in 0..=1000 {
            on_air.note(Tti(tti), true, [Rbgs::first(4), Rbgs::first(2)].into_iter());
        }
        let floor = |on_air: &OnAir, rbg| Floor { noise: 0.0, far: 1.0, activity: &on_air.activity }.at(rbg);
        for (rbg, share) in [1.0, 1.0, 0.5, 0.5, 0.0].into_iter().enumerate() {
            assert!((floor(&on_air, rbg) - share).abs() < 0.001);
        }
        assert!((on_air.activity.mean - 0.75).abs() < 0.001);
        on_air.skip(Tti(1101), 100);
        assert!((floor(&on_air, 2) - 0.5 * libm::pow(0.99, 100.0)).abs() < 0.001);
        assert_eq!(on_air.at(on_air.row(Tti(1100))), on_air.silence());
    }

    #[test]
    fn powers_are_added_where_a_cell_sends() {
        let mut by_rbg = [1.0; 5];
        let mut add = |sent| add(&mut by_rbg, Rbgs(sent), [10.0, 20.0, 30.0, 40.0, 50.0].into_iter());
        [0b0_0011, 0b1_0101, 0b1_1111_1111, 0].into_iter().for_each(&mut add);
        assert_eq!(by_rbg, [31.0, 41.0, 61.0, 41.0, 101.0]);
    }

    #[test]
    fn transmissions_are_kept_for_some_ttis() {
        let mut on_air = OnAir::new(1, &lte(), 3, false);
        for tti in 0..6 {
            on_air.note(Tti(tti), true, [Rbgs(tti as u32)].into_iter());
        }
        assert_eq!([3, 4, 5].map(|tti| on_air.at(on_air.row(Tti(tti)))[0].0), [3, 4, 5]);
    }

    #[test]
    fn patterns_have_another_number_where_transmissions_change() {
        let mut on_air = OnAir::new(2, &lte(), 3, false);
        let sent = [[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 0]];
        let numbers = (0..).zip(sent).map(|(tti, sent)| {
            on_air.note(Tti(tti), true, sent.map(Rbgs).into_iter());
            on_air.pattern(on_air.row(Tti(tti)))
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 0, 1, 1, 2, 3]);
        on_air.skip(Tti(8), 2);
        on_air.note(Tti(8), true, [Rbgs(0); 2].into_iter());
        assert_eq!([6, 7, 8].map(|tti| on_air.pattern(on_air.row(Tti(tti)))), [4; 3]);
    }
}

//! Which channel report of a UE is the newest one that the MAC knows.

use crate::radio::Repeatable;
use airwnd_units::Tti;

/// When the newest reports were measured.
//= exception ideal-feedback
#[derive(Clone, Copy)]
pub(crate) struct Measurements {
    /// The last measurement that is known to the MAC.
    last: u64,
    /// Its phase within the period.
    phase: u64,
    period: u64,
}

impl Measurements {
    /// The measurements that are known in `tti`, `delay` TTIs later. Each UE measures once per period.
    pub fn before(tti: Tti, period: u64, delay: u64) -> Measurements {
        let last = tti.0.saturating_sub(delay);
        Measurements { last, phase: last % period, period }
    }

    /// The newest one of the UEs that measure at this phase of the period.
    pub fn newest(&self, phase: u16) -> Tti {
        let phase = u64::from(phase);
        let age = if phase > self.phase { self.phase + self.period } else { self.phase } - phase;
        Tti(self.last.saturating_sub(age))
    }

    /// The last `count` measurements with their phases, at most one period, the newest first.
    fn latest(self, count: u64) -> impl Iterator<Item = (u16, Tti)> {
        let Measurements { last, phase, period } = self;
        let before = move |age| if age > phase { phase + period - age } else { phase - age };
        (0..count.min(period)).map(move |age| (before(age) as u16, Tti(last.saturating_sub(age))))
    }
}

/// Versions of a cell's channel reports: while that of a phase remains, so do the reports measured at it.
pub(crate) struct Versions {
    by_phase: Vec<Version>,
    newest: u64,
    until: Option<Tti>,
}

/// The version of the reports of a phase, and what was measured.
#[derive(Clone, Copy, Default)]
struct Version {
    version: u64,
    /// Number of the pattern of transmissions.
    pattern: Option<u64>,
    measured: Option<Repeatable>,
}

impl Versions {
    pub fn new(period: u64) -> Versions {
        Versions { by_phase: vec![Version::default(); period as usize], newest: 0, until: None }
    }

    /// Notes the measurements that have become known since the last call. `pattern` returns the number of the pattern of
    /// transmissions at a time, `None` if that never repeats; `measured` returns what was measured, which other patterns
    /// may have in common. `changed` receives the phases that get another version.
    pub fn update(
        &mut self,
        tti: Tti,
        measurements: Measurements,
        (pattern, mut measured): (impl Fn(Tti) -> Option<u64>, impl FnMut(Tti) -> Repeatable),
        mut changed: impl FnMut(u16),
    ) {
        let since = self.until.map_or(u64::MAX, |until| tti.0 - until.0);
        for (phase, at) in measurements.latest(since) {
            let (before, pattern) = (&mut self.by_phase[usize::from(phase)], pattern(at));
            if pattern.is_some() && pattern == before.pattern {
                continue;
            }
            let now = pattern.map(|_| measured(at));
            let differs = now.is_none() || now != before.measured;
            (before.pattern, before.measured) = (pattern, now);
            if differs {
                self.newest += 1;
                before.version = self.newest;
                changed(phase);
            }
        }
        self.until = Some(tti);
    }

    /// The version of the reports of a phase.
    pub fn of(&self, phase: u16) -> u64 {
        self.by_phase[usize::from(phase)].version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_was_measured_once_in_the_last_period() {
        for period in 1..=20 {
            for tti in 100..100 + period {
                let measurements = Measurements::before(Tti(tti), period, 5);
                let latest: Vec<_> = measurements.latest(u64::MAX).collect();
                let times: Vec<_> = latest.iter().map(|(_, at)| at.0).collect();
                assert_eq!(times, (0..period).map(|age| tti - 5 - age).collect::<Vec<_>>());
                assert!(latest.iter().all(|(phase, at)| at.0 % period == u64::from(*phase)));
                assert!(latest.iter().all(|(phase, at)| measurements.newest(*phase) == *at));
            }
        }
    }

    #[test]
    fn a_version_remains_while_the_same_is_measured() {
        let mut versions = Versions::new(2);
        let mut patterns = 0;
        let mut update = |tti, measured: Option<usize>| {
            let measurements = Measurements::before(Tti(tti), 2, 5);
            let mut changed = Vec::new();
            patterns += 1;
            let of = (|_| measured.map(|_| patterns), |_| (measured.unwrap(), 0));
            versions.update(Tti(tti), measurements, of, |phase| changed.push(phase));
            ([0, 1].map(|phase| versions.of(phase)), changed)
        };
        assert_eq!(update(100, Some(7)), ([2, 1], vec![1, 0]));
        assert_eq!(update(101, Some(7)), ([2, 1], vec![]));
        assert_eq!(update(102, Some(8)), ([2, 3], vec![1]), "the measurement of TTI 97");
        assert_eq!(update(102, Some(9)), ([2, 3], vec![]), "nothing was measured since");
        assert_eq!(
            update(110, None),
            ([5, 4], vec![1, 0]),
            "both phases were measured since, and never repeat"
        );
    }

    #[test]
    fn a_pattern_is_measured_once_at_each_phase() {
        let (mut versions, mut measured) = (Versions::new(2), Vec::new());
        for (tti, pattern) in [(100, 1), (101, 1), (102, 1), (103, 1), (104, 2), (105, 2), (106, 2)] {
            let of = (|_| Some(pattern), |at: Tti| (measured.push(at.0), (7, 0)).1);
            versions.update(Tti(tti), Measurements::before(Tti(tti), 2, 5), of, |_| {});
        }
        assert_eq!(measured, [95, 94, 99, 100]);
    }
}

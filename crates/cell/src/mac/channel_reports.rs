//! Which channel report of a UE is the newest one that the MAC knows.

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

    /// The phases of the last `count` measurements, at most one period, the newest first.
    fn phases(self, count: u64) -> impl Iterator<Item = u16> {
        let earlier = (0..self.phase).rev().chain((self.phase + 1..self.period).rev());
        let phases = std::iter::once(self.phase).chain(earlier);
        phases.take(count as usize).map(|phase| phase as u16)
    }
}

/// Versions of a cell's channel reports: while that of a phase remains, so do the reports measured at it.
pub(crate) struct Versions {
    /// Versions, and what was measured, by phase.
    by_phase: Vec<(u64, Option<Measured>)>,
    newest: u64,
    until: Option<Tti>,
}

/// What is equal in two TTIs in which the other cells' transmissions are equal.
pub(crate) type Measured = (usize, u64);

impl Versions {
    pub fn new(period: u64) -> Versions {
        Versions { by_phase: vec![(0, None); period as usize], newest: 0, until: None }
    }

    /// Notes the measurements that have become known since the last call. `measured` returns what was measured at a time;
    /// `None` if that never repeats. `changed` receives the phases that get another version.
    pub fn update(
        &mut self,
        tti: Tti,
        measurements: Measurements,
        mut measured: impl FnMut(Tti) -> Option<Measured>,
        mut changed: impl FnMut(u16),
    ) {
        let since = self.until.map_or(u64::MAX, |until| tti.0 - until.0);
        for phase in measurements.phases(since) {
            let now = measured(measurements.newest(phase));
            let (version, before) = &mut self.by_phase[usize::from(phase)];
            if now.is_none() || now != *before {
                self.newest += 1;
                (*version, *before) = (self.newest, now);
                changed(phase);
            }
        }
        self.until = Some(tti);
    }

    /// The version of the reports of a phase.
    pub fn of(&self, phase: u16) -> u64 {
        self.by_phase[usize::from(phase)].0
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
                let times: Vec<_> =
                    measurements.phases(u64::MAX).map(|phase| measurements.newest(phase).0).collect();
                assert_eq!(times, (0..period).map(|age| tti - 5 - age).collect::<Vec<_>>());
                assert!(
                    times
                        .iter()
                        .zip(measurements.phases(period))
                        .all(|(time, phase)| time % period == u64::from(phase))
                );
            }
        }
    }

    #[test]
    fn a_version_remains_while_the_same_is_measured() {
        let mut versions = Versions::new(2);
        let mut update = |tti, measured: Option<usize>| {
            let measurements = Measurements::before(Tti(tti), 2, 5);
            let mut changed = Vec::new();
            let measured = |_| measured.map(|measured| (measured, 0));
            versions.update(Tti(tti), measurements, measured, |phase| changed.push(phase));
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
}

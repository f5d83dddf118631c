//! Versions of the channel reports of UEs that a cell has, to find those that have changed.

use crate::identity::UeSlot;
use crate::radio::Repeatable;
use crate::settings;
use airwnd_units::Tti;

/// When a cell's UEs measure the channel, and when the MAC knows their reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportTiming {
    /// TTIs between two reports of a UE.
    pub period: u64,
    /// TTIs from a measurement to the first decision that uses it.
    pub delay: u64,
}

impl ReportTiming {
    /// The timing of a radio channel's reports.
    pub fn of(radio: &settings::Radio) -> ReportTiming {
        ReportTiming { period: radio.cqi_period.into(), delay: radio.cqi_delay.into() }
    }

    /// The measurements that decisions in this TTI can use.
    pub fn measurements(&self, tti: Tti) -> Measurements {
        Measurements::before(tti, self.period, self.delay)
    }

    /// The phase within the period at which the UE of a slot measures the channel.
    // ns-3's phases depend on the time of a UE's connection; without attach they follow the slot in the cell.
    pub fn phase(&self, slot: UeSlot) -> u16 {
        (u64::from(slot.0) % self.period) as u16
    }

    /// The slots of a cell whose UEs measure at a phase.
    pub fn slots_at(&self, phase: u16, slots: usize) -> impl Iterator<Item = UeSlot> + use<> {
        (phase..slots as u16).step_by(self.period as usize).map(UeSlot)
    }

    /// The TTI in which a UE sends the report of a channel measured at the start of `measured`: the decision one TTI later
    /// can use it.
    pub fn report_of(&self, measured: Tti) -> Tti {
        measured + (self.delay - 1)
    }

    /// TTIs from the one before the oldest measurement in use to the current one.
    pub fn remembered(&self) -> u64 {
        self.period + self.delay + 1
    }
}

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
    fn before(tti: Tti, period: u64, delay: u64) -> Measurements {
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
    fn latest(self, count: u64) -> impl Iterator<Item = (u16, Tti)> + use<> {
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

    /// The measurements that have become known since the last call, with their phases.
    pub fn due(&mut self, tti: Tti, measurements: Measurements) -> impl Iterator<Item = (u16, Tti)> + use<> {
        let since = self.until.replace(tti).map_or(u64::MAX, |until| tti.0 - until.0);
        measurements.latest(since)
    }

    /// Whether the newest reports of a phase were measured with this pattern of transmissions; `None` never repeats.
    pub fn has_pattern(&self, phase: u16, pattern: Option<u64>) -> bool {
        pattern.is_some() && pattern == self.by_phase[usize::from(phase)].pattern
    }

    /// Notes a measurement at a phase. Returns whether its reports get another version. What was measured may be equal
    /// with another pattern.
    pub fn note(&mut self, phase: u16, pattern: Option<u64>, measured: Option<Repeatable>) -> bool {
        let before = &mut self.by_phase[usize::from(phase)];
        let differs = measured.is_none() || measured != before.measured;
        (before.pattern, before.measured) = (pattern, measured);
        if differs {
            self.newest += 1;
            before.version = self.newest;
        }
        differs
    }

    /// The version of the reports of a phase.
    pub fn at(&self, phase: u16) -> u64 {
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

    /// Notes the measurements of a TTI: their pattern, and what was measured. Returns the phases with another version.
    fn update(
        versions: &mut Versions,
        tti: u64,
        pattern: Option<u64>,
        measured: Option<Repeatable>,
    ) -> Vec<u16> {
        let due = versions.due(Tti(tti), Measurements::before(Tti(tti), 2, 5));
        let mut changed = Vec::new();
        for (phase, _) in due {
            if !versions.has_pattern(phase, pattern) && versions.note(phase, pattern, measured) {
                changed.push(phase);
            }
        }
        changed
    }

    #[test]
    fn a_version_remains_while_the_same_is_measured() {
        let mut versions = Versions::new(2);
        let mut patterns = 0;
        let mut update = |tti, measured: Option<usize>| {
            patterns += 1;
            let measured = measured.map(|place| (place, 0));
            let changed = update(&mut versions, tti, measured.map(|_| patterns), measured);
            ([0, 1].map(|phase| versions.at(phase)), changed)
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
        let mut versions = Versions::new(2);
        let mut measured = Vec::new();
        for (tti, pattern) in [(100, 1), (101, 1), (102, 1), (103, 1), (104, 2), (105, 2), (106, 2)] {
            for (phase, at) in versions.due(Tti(tti), Measurements::before(Tti(tti), 2, 5)) {
                if !versions.has_pattern(phase, Some(pattern)) {
                    measured.push(at.0);
                    versions.note(phase, Some(pattern), Some((7, 0)));
                }
            }
        }
        assert_eq!(measured, [95, 94, 99, 100]);
    }

    #[test]
    fn the_transmissions_that_a_report_measures_are_remembered() {
        for period in 1..=160 {
            for delay in 1..=12 {
                let timing = ReportTiming { period, delay };
                let oldest = (400..400 + period).flat_map(|tti| {
                    let measurements = timing.measurements(Tti(tti));
                    (0..period).map(move |phase| tti + 1 - measurements.newest(phase as u16).0)
                });
                assert_eq!(oldest.max(), Some(timing.remembered() - 1), "period {period}, delay {delay}");
            }
        }
    }

    #[test]
    fn each_slot_measures_at_its_phase_and_reports_before_the_decision() {
        let timing = ReportTiming { period: 3, delay: 5 };
        for phase in 0..3 {
            let slots: Vec<_> = timing.slots_at(phase, 8).collect();
            assert_eq!(
                slots,
                UeSlot::all().take(8).filter(|slot| timing.phase(*slot) == phase).collect::<Vec<_>>()
            );
        }
        assert_eq!(timing.report_of(Tti(95)) + 1, Tti(100));
        assert_eq!(timing.measurements(Tti(100)).newest((95 % 3) as u16), Tti(95));
    }
}

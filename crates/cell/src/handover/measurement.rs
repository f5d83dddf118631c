//! Measurements of a UE and their reporting events.

use super::{Event, Measured, Report, Trigger};
use crate::identity::CellId;
use crate::phy::link_budget::rsrp;
use airwnd_units::{Db, Dbm, Time};

/// Maximum number of neighbours in a report.
//= TS 36.331 §6.4
const MOST_REPORTED: usize = 8;

/// A UE's measurements of all cells.
pub(crate) struct Measurements {
    /// Sums over the layer-1 period in decibels: received power of each cell on a PRB, and of all cells and noise.
    //= exception measurements-without-fading
    powers: Vec<f64>,
    total: f64,
    samples: u32,
    /// By cell, once the first period is over.
    filtered: Vec<Measured>,
    watches: Vec<Watch>,
    /// Neighbours of a report. Kept for its capacity.
    neighbours: Vec<Measured>,
}

/// A configured reporting event.
struct Watch {
    trigger: Trigger,
    /// By cell; A2 applies to the serving one.
    cells: Vec<Phase>,
    /// Time of the next repetition of the report.
    again: Option<Time>,
}

/// State of an event for one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Outside,
    /// The entering condition has held since then.
    Entering(Time),
    Inside,
    /// The leaving condition has held since then.
    Leaving(Time),
}

impl Measurements {
    pub fn new(cells: usize, triggers: Vec<Trigger>) -> Measurements {
        let watch = |trigger| Watch { trigger, cells: vec![Phase::Outside; cells], again: None };
        Measurements {
            powers: vec![0.0; cells],
            total: 0.0,
            samples: 0,
            filtered: Vec::with_capacity(cells),
            watches: triggers.into_iter().map(watch).collect(),
            neighbours: Vec::with_capacity(cells),
        }
    }

    /// Number of configured events.
    pub fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Whether this layer-1 period has a sample.
    pub fn has_samples(&self) -> bool {
        self.samples > 0
    }

    /// Adds a sample: the received power of each cell on a PRB and the noise there, in mW.
    //= exception rsrq-at-full-load
    pub fn sample(&mut self, powers: &[f64], noise: f64) {
        for (sum, power) in self.powers.iter_mut().zip(powers) {
            *sum += Db::from_linear(*power).0;
        }
        self.total += Db::from_linear(noise + powers.iter().sum::<f64>()).0;
        self.samples += 1;
    }

    /// Ends a layer-1 period: its mean enters the layer-3 filter with this weight.
    //= TS 36.331 §5.5.3.2
    pub fn filter(&mut self, weight: f64) {
        let mean = |sum: f64| sum / f64::from(self.samples);
        let total = mean(self.total);
        for (cell, sum) in self.powers.iter_mut().enumerate() {
            let power = mean(std::mem::take(sum));
            // Two symbols of each PRB carry reference signals, as in ns-3.
            let new = Measured {
                cell: CellId(cell as u16),
                rsrp: rsrp(Dbm(power)),
                rsrq: Db(power - total) - Db::from_linear(2.0),
            };
            match self.filtered.get_mut(cell) {
                None => self.filtered.push(new),
                Some(known) => {
                    known.rsrp.0 += weight * (new.rsrp.0 - known.rsrp.0);
                    known.rsrq.0 += weight * (new.rsrq.0 - known.rsrq.0);
                }
            }
        }
        (self.total, self.samples) = (0.0, 0);
    }

    /// Evaluates the conditions of an event. Returns whether a time to trigger starts for any cell.
    pub fn evaluate(&mut self, now: Time, watch: usize, serving: usize) -> bool {
        let Watch { trigger, cells, .. } = &mut self.watches[watch];
        let own = self.filtered[serving].of(trigger.quantity);
        let hysteresis = trigger.hysteresis.0;
        let mut begins = false;
        for (cell, phase) in cells.iter_mut().enumerate() {
            let measured = self.filtered[cell].of(trigger.quantity);
            // Excess over the threshold of the condition.
            let excess = match trigger.event {
                Event::A2(threshold) if cell == serving => threshold - measured,
                Event::A3(offset) if cell != serving => measured - own - offset.0,
                Event::A4(threshold) if cell != serving => measured - threshold,
                _ => continue,
            };
            let (entering, leaving) = (excess > hysteresis, excess < -hysteresis);
            let next = match *phase {
                Phase::Outside if entering => Phase::Entering(now),
                Phase::Entering(_) if !entering => Phase::Outside,
                Phase::Inside if leaving => Phase::Leaving(now),
                Phase::Leaving(_) if !leaving => Phase::Inside,
                same => same,
            };
            begins |= matches!(next, Phase::Entering(since) | Phase::Leaving(since) if since == now);
            *phase = next;
        }
        begins
    }

    /// Ends the times to trigger that have elapsed. Returns whether to report.
    pub fn trigger(&mut self, now: Time, watch: usize) -> bool {
        let Watch { trigger, cells, again } = &mut self.watches[watch];
        let mut entered = false;
        for phase in cells.iter_mut() {
            match *phase {
                Phase::Entering(since) if since + trigger.time_to_trigger <= now => {
                    *phase = Phase::Inside;
                    entered = true;
                }
                Phase::Leaving(since) if since + trigger.time_to_trigger <= now => *phase = Phase::Outside,
                _ => {}
            }
        }
        if !cells.iter().any(|phase| phase.is_inside()) {
            *again = None;
        }
        entered && again.is_none()
    }

    /// The configured event.
    pub fn watched(&self, watch: usize) -> &Trigger {
        &self.watches[watch].trigger
    }

    /// Whether the event's report is repeated now.
    pub fn is_due(&self, now: Time, watch: usize) -> bool {
        self.watches[watch].again == Some(now)
    }

    /// The report of an event; its repetition is due at `again`.
    pub fn report(&mut self, watch: usize, serving: usize, again: Time) -> Report<'_> {
        let Watch { trigger, cells, again: due } = &mut self.watches[watch];
        *due = Some(again);
        let inside = cells.iter().enumerate().filter(|(cell, phase)| *cell != serving && phase.is_inside());
        self.neighbours.clear();
        self.neighbours.extend(inside.map(|(cell, _)| self.filtered[cell]));
        let of = |measured: &Measured| measured.of(trigger.quantity);
        self.neighbours.sort_unstable_by(|a, b| of(b).total_cmp(&of(a)).then(a.cell.cmp(&b.cell)));
        self.neighbours.truncate(MOST_REPORTED);
        Report { trigger: watch, serving: self.filtered[serving], neighbours: &self.neighbours }
    }

    /// Resets all events after a change of cells.
    //= TS 36.331 §5.5.6.1
    pub fn reset_events(&mut self) {
        for watch in &mut self.watches {
            watch.cells.fill(Phase::Outside);
            watch.again = None;
        }
    }
}

impl Phase {
    fn is_inside(self) -> bool {
        matches!(self, Phase::Inside | Phase::Leaving(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handover::Quantity;
    use airwnd_units::Span;

    const A3: Trigger = Trigger {
        event: Event::A3(Db(0.0)),
        quantity: Quantity::Rsrp,
        hysteresis: Db(3.0),
        time_to_trigger: Span::from_millis(256),
        interval: Span::from_millis(1024),
    };

    fn ms(millis: u64) -> Time {
        Time(millis * 1_000_000)
    }

    /// Samples two cells with these received powers in dBm on a PRB.
    fn sample(measurements: &mut Measurements, powers: [f64; 2]) {
        measurements.sample(&powers.map(|power| Dbm(power).milliwatts()), Dbm(-112.0).milliwatts());
    }

    #[test]
    fn layer_one_averages_decibels_and_layer_three_weighs() {
        let mut measurements = Measurements::new(2, vec![A3]);
        sample(&mut measurements, [-80.0, -90.0]);
        sample(&mut measurements, [-84.0, -90.0]);
        measurements.filter(0.5);
        let rsrp = |measurements: &Measurements| measurements.filtered[0].rsrp.0;
        // the first value is taken unfiltered; 10 log10(12) = 10.79 dB from a PRB to a resource element
        assert!((rsrp(&measurements) + 82.0 + 10.7918).abs() < 1e-3);
        sample(&mut measurements, [-78.0, -90.0]);
        measurements.filter(0.5);
        assert!((rsrp(&measurements) + 80.0 + 10.7918).abs() < 1e-3);
    }

    #[test]
    fn quality_is_at_most_half() {
        let mut measurements = Measurements::new(2, vec![A3]);
        sample(&mut measurements, [-60.0, -160.0]);
        measurements.filter(1.0);
        assert!((measurements.filtered[0].rsrq.0 + 3.0103).abs() < 1e-3);
        sample(&mut measurements, [-60.0, -60.0]);
        measurements.filter(1.0);
        assert!((measurements.filtered[1].rsrq.0 + 6.0206).abs() < 1e-3);
    }

    #[test]
    fn an_event_has_to_last() {
        let mut measurements = Measurements::new(2, vec![A3]);
        let mut step = |now, powers| {
            sample(&mut measurements, powers);
            measurements.filter(1.0);
            let begins = measurements.evaluate(now, 0, 0);
            (begins, measurements.trigger(now, 0))
        };
        assert_eq!(step(ms(200), [-80.0, -77.5]), (false, false), "within the hysteresis");
        assert_eq!(step(ms(400), [-80.0, -76.5]), (true, false));
        assert_eq!(step(ms(600), [-80.0, -77.5]), (false, false), "it did not last");
        assert_eq!(step(ms(800), [-80.0, -76.5]), (true, false));
        assert_eq!(step(ms(1000), [-80.0, -76.0]), (false, false));
        assert!(!measurements.trigger(ms(1055), 0));
        assert!(measurements.trigger(ms(1056), 0));
        let report = measurements.report(0, 0, ms(2080));
        assert_eq!(report.neighbours.iter().map(|cell| cell.cell.0).collect::<Vec<_>>(), [1]);
        assert!(measurements.is_due(ms(2080), 0));
        assert!(
            !measurements.evaluate(ms(1200), 0, 0),
            "it lasts, and is left only below minus the hysteresis"
        );
        measurements.reset_events();
        assert!(!measurements.is_due(ms(2080), 0));
        assert!(measurements.evaluate(ms(1200), 0, 0), "events restart in a new cell");
    }
}

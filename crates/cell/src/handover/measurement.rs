//! Measurements of a UE and their reporting events.

use super::{Event, Measured, Report, Trigger};
use crate::identity::CellId;
use airwnd_phy::link_budget::elements;
use airwnd_units::{Db, Dbm, Time};

/// Maximum number of neighbours in a report.
//= TS 36.331 §6.4
const MAX_REPORTED: usize = 8;

/// A UE's measurements of the cells that it receives.
pub(crate) struct Measurements {
    /// By cell.
    cells: Vec<CellMeasurement>,
    /// Sum over the layer-1 period of the received power of all cells and noise on a PRB, in decibels.
    //= exception measurements-without-fading
    total: f64,
    samples: u32,
    watches: Vec<Watch>,
    /// State of the events: `[index in cells * watches + watch]`; A2 applies to the serving cell.
    phases: Vec<Phase>,
    /// Neighbours of a report. Kept for its capacity.
    neighbours: Vec<Measured>,
}

/// The measurement of one cell.
struct CellMeasurement {
    cell: CellId,
    /// Sum over the layer-1 period of its received power on a PRB, in decibels.
    power: f64,
    samples: u32,
    /// Once the first period is over.
    filtered: Option<Measured>,
}

impl CellMeasurement {
    fn add(&mut self, power: Dbm) {
        self.power += power.0;
        self.samples += 1;
    }
}

/// A configured reporting event.
struct Watch {
    trigger: Trigger,
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
    pub fn new(triggers: Vec<Trigger>) -> Measurements {
        Measurements {
            cells: Vec::new(),
            total: 0.0,
            samples: 0,
            watches: triggers.into_iter().map(|trigger| Watch { trigger, again: None }).collect(),
            phases: Vec::new(),
            neighbours: Vec::new(),
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

    /// Adds a sample: the received power per PRB of each cell, also in mW, by cell; and in mW of noise and all other
    /// cells.
    //= exception rsrq-at-full-load
    pub fn sample(&mut self, mut powers: impl Iterator<Item = (CellId, Dbm, f64)>, others: f64) {
        let (mut index, mut sum, mut new) = (0, 0.0, None);
        // Mostly the cells are those of the sample before.
        for known in &mut self.cells {
            let Some((cell, power, received)) = powers.next() else { break };
            if cell != known.cell {
                new = Some((cell, power, received));
                break;
            }
            known.add(power);
            sum += received;
            index += 1;
        }
        for (cell, power, received) in new.into_iter().chain(powers) {
            index = self.place(index, cell);
            self.cells[index].add(power);
            sum += received;
            index += 1;
        }
        self.total += Db::from_linear(others + sum).0;
        self.samples += 1;
    }

    /// The place of a cell from an index on; a new cell is inserted.
    fn place(&mut self, from: usize, cell: CellId) -> usize {
        let index = from + self.cells[from..].partition_point(|known| known.cell < cell);
        if self.cells.get(index).is_none_or(|known| known.cell != cell) {
            self.insert(index, cell);
        }
        index
    }

    fn insert(&mut self, index: usize, cell: CellId) {
        self.cells.insert(index, CellMeasurement { cell, power: 0.0, samples: 0, filtered: None });
        let first = index * self.watches.len();
        self.phases.splice(first..first, self.watches.iter().map(|_| Phase::Outside));
    }

    /// Ends a layer-1 period: its mean enters the layer-3 filter with this weight. Cells without a sample are no longer
    /// received.
    //= TS 36.331 §5.5.3.2
    pub fn filter(&mut self, weight: f64) {
        let total = self.total / f64::from(self.samples);
        let (count, mut index) = (self.watches.len(), 0);
        self.phases.retain(|_| {
            index += 1;
            self.cells[(index - 1) / count].samples > 0
        });
        self.cells.retain(|measured| measured.samples > 0);
        // Two symbols of each PRB carry reference signals, as in ns-3.
        let (symbols, elements) = (Db::from_linear(2.0), elements());
        for measured in &mut self.cells {
            let power =
                std::mem::take(&mut measured.power) / f64::from(std::mem::take(&mut measured.samples));
            let new = Measured {
                cell: measured.cell,
                rsrp: Dbm(power) - elements,
                rsrq: Db(power - total) - symbols,
            };
            match &mut measured.filtered {
                None => measured.filtered = Some(new),
                Some(known) => {
                    known.rsrp.0 += weight * (new.rsrp.0 - known.rsrp.0);
                    known.rsrq.0 += weight * (new.rsrq.0 - known.rsrq.0);
                }
            }
        }
        (self.total, self.samples) = (0.0, 0);
    }

    /// The filtered measurements with the state of an event.
    fn filtered(&mut self, watch: usize) -> impl Iterator<Item = (Measured, &mut Phase)> {
        let phases = self.phases.iter_mut().skip(watch).step_by(self.watches.len());
        let measured = self.cells.iter().zip(phases);
        measured.filter_map(|(measured, phase)| measured.filtered.map(|filtered| (filtered, phase)))
    }

    /// The filtered measurement of the serving cell; `None` before the end of its first period.
    fn of(&self, serving: CellId) -> Option<Measured> {
        let place = self.cells.binary_search_by_key(&serving, |measured| measured.cell);
        place.ok().and_then(|index| self.cells[index].filtered)
    }

    /// Evaluates the conditions of an event. Returns whether a time to trigger starts for any cell.
    pub fn evaluate(&mut self, now: Time, watch: usize, serving: CellId) -> bool {
        let Trigger { event, quantity, hysteresis, .. } = self.watches[watch].trigger;
        let Some(own) = self.of(serving) else { return false };
        let own = own.of(quantity);
        let hysteresis = hysteresis.0;
        let mut begins = false;
        for (measured, phase) in self.filtered(watch) {
            let is_serving = measured.cell == serving;
            let measured = measured.of(quantity);
            // Excess over the threshold of the condition.
            let excess = match event {
                Event::A2(threshold) if is_serving => threshold - measured,
                Event::A3(offset) if !is_serving => measured - own - offset.0,
                Event::A4(threshold) if !is_serving => measured - threshold,
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
        let time_to_trigger = self.watches[watch].trigger.time_to_trigger;
        let (mut entered, mut is_any_inside) = (false, false);
        for (_, phase) in self.filtered(watch) {
            match *phase {
                Phase::Entering(since) if since + time_to_trigger <= now => {
                    *phase = Phase::Inside;
                    entered = true;
                }
                Phase::Leaving(since) if since + time_to_trigger <= now => *phase = Phase::Outside,
                _ => {}
            }
            is_any_inside |= phase.is_inside();
        }
        let again = &mut self.watches[watch].again;
        if !is_any_inside {
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

    /// The report of an event; its repetition is due at `again`. `None`: the serving cell is not measured yet.
    pub fn report(&mut self, watch: usize, serving: CellId, now: Time, again: Time) -> Option<Report<'_>> {
        self.watches[watch].again = Some(again);
        let own = self.of(serving)?;
        let quantity = self.watches[watch].trigger.quantity;
        let mut neighbours = std::mem::take(&mut self.neighbours);
        neighbours.clear();
        let inside = self.filtered(watch).filter(|(cell, phase)| cell.cell != own.cell && phase.is_inside());
        neighbours.extend(inside.map(|(measured, _)| measured));
        let value = |measured: &Measured| measured.of(quantity);
        neighbours.sort_unstable_by(|a, b| value(b).total_cmp(&value(a)).then(a.cell.cmp(&b.cell)));
        neighbours.truncate(MAX_REPORTED);
        self.neighbours = neighbours;
        Some(Report { now, trigger: watch, serving: own, neighbours: &self.neighbours })
    }

    /// Resets all events after a change of cells.
    //= TS 36.331 §5.5.6.1
    pub fn reset_events(&mut self) {
        self.phases.fill(Phase::Outside);
        self.watches.iter_mut().for_each(|watch| watch.again = None);
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
        let powers =
            (0..).zip(powers.map(Dbm)).map(|(cell, power)| (CellId(cell), power, power.milliwatts()));
        measurements.sample(powers, Dbm(-112.0).milliwatts());
    }

    #[test]
    fn layer_one_averages_decibels_and_layer_three_weighs() {
        let mut measurements = Measurements::new(vec![A3]);
        sample(&mut measurements, [-80.0, -90.0]);
        sample(&mut measurements, [-84.0, -90.0]);
        measurements.filter(0.5);
        let rsrp = |measurements: &Measurements| measurements.of(CellId(0)).unwrap().rsrp.0;
        // the first value is taken unfiltered; 10 log10(12) = 10.79 dB from a PRB to a resource element
        assert!((rsrp(&measurements) + 82.0 + 10.7918).abs() < 1e-3);
        sample(&mut measurements, [-78.0, -90.0]);
        measurements.filter(0.5);
        assert!((rsrp(&measurements) + 80.0 + 10.7918).abs() < 1e-3);
    }

    #[test]
    fn quality_is_at_most_half() {
        let mut measurements = Measurements::new(vec![A3]);
        sample(&mut measurements, [-60.0, -160.0]);
        measurements.filter(1.0);
        assert!((measurements.of(CellId(0)).unwrap().rsrq.0 + 3.0103).abs() < 1e-3);
        sample(&mut measurements, [-60.0, -60.0]);
        measurements.filter(1.0);
        assert!((measurements.of(CellId(1)).unwrap().rsrq.0 + 6.0206).abs() < 1e-3);
    }

    #[test]
    fn an_event_has_to_last() {
        let mut measurements = Measurements::new(vec![A3]);
        let mut step = |now, powers| {
            sample(&mut measurements, powers);
            measurements.filter(1.0);
            let begins = measurements.evaluate(now, 0, CellId(0));
            (begins, measurements.trigger(now, 0))
        };
        assert_eq!(step(ms(200), [-80.0, -77.5]), (false, false), "within the hysteresis");
        assert_eq!(step(ms(400), [-80.0, -76.5]), (true, false));
        assert_eq!(step(ms(600), [-80.0, -77.5]), (false, false), "it did not last");
        assert_eq!(step(ms(800), [-80.0, -76.5]), (true, false));
        assert_eq!(step(ms(1000), [-80.0, -76.0]), (false, false));
        assert!(!measurements.trigger(ms(1055), 0));
        assert!(measurements.trigger(ms(1056), 0));
        let report = measurements.report(0, CellId(0), ms(2080), ms(2080)).unwrap();
        assert_eq!(report.neighbours.iter().map(|cell| cell.cell.0).collect::<Vec<_>>(), [1]);
        assert!(measurements.is_due(ms(2080), 0));
        assert!(
            !measurements.evaluate(ms(1200), 0, CellId(0)),
            "it lasts, and is left only below minus the hysteresis"
        );
        measurements.reset_events();
        assert!(!measurements.is_due(ms(2080), 0));
        assert!(measurements.evaluate(ms(1200), 0, CellId(0)), "events restart in a new cell");
    }

    #[test]
    fn a_cell_that_is_no_longer_received_is_forgotten() {
        let mut measurements = Measurements::new(vec![A3]);
        let mut step = |now, cells: &[(u16, f64)]| {
            let powers =
                cells.iter().map(|(cell, power)| (CellId(*cell), Dbm(*power), Dbm(*power).milliwatts()));
            measurements.sample(powers, Dbm(-112.0).milliwatts());
            measurements.filter(1.0);
            measurements.evaluate(now, 0, CellId(4));
            let entered = measurements.trigger(now, 0);
            let report = entered.then(|| measurements.report(0, CellId(4), now, now).unwrap());
            report.map_or(Vec::new(), |report| report.neighbours.iter().map(|cell| cell.cell.0).collect())
        };
        assert!(step(ms(200), &[(4, -80.0), (9, -76.0)]).is_empty());
        assert!(step(ms(400), &[(2, -75.0), (4, -80.0)]).is_empty());
        assert_eq!(step(ms(800), &[(2, -75.0), (4, -80.0), (9, -76.0)]), [2]);
        assert!(step(ms(1000), &[(4, -80.0), (9, -76.0)]).is_empty());
    }
}

//! Handover to a better cell once the serving cell's quality is low.

use super::{Context, Event, Handover, Quantity, Report, Trigger, rsrq_of_index};
use crate::identity::CellId;
use airwnd_catalog::Params;
use airwnd_units::{Db, Span};

/// A2-A4-RSRQ: if the serving cell's RSRQ is below a threshold, hands over to the best neighbour that is better by an
/// offset.
///
/// Event A2 (serving cell worse than `serving_threshold`) starts the decision. Event A4 keeps the last reported RSRQ of
/// each neighbour, however old. The UE is handed over to the neighbour with the highest RSRQ if
///
/// ```math
/// \mathrm{RSRQ}_{\mathrm{neighbour}} \ge \mathrm{RSRQ}_{\mathrm{serving}} + \mathrm{offset}
/// ```
///
/// Thresholds and offsets are in steps of 0.5 dB, the resolution of measurement reports (RSRQ_00 to RSRQ_34).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.331 §5.5.4.3, §5.5.4.5; ns-3 a2-a4-rsrq-handover-algorithm.cc")]
pub struct Params {
    /// RSRQ index of the serving cell below which event A2 occurs.
    #[param(basic, default = 30, range = 0..=34)]
    #[param(unit = "0.5 dB", source = "ns-3 A2A4RsrqHandoverAlgorithm::ServingCellThreshold")]
    pub serving_threshold: u8,
    /// Minimum difference of RSRQ indices between neighbour and serving cell.
    #[param(basic, default = 1, range = 0..=34)]
    #[param(unit = "0.5 dB", source = "ns-3 A2A4RsrqHandoverAlgorithm::NeighbourCellOffset")]
    pub neighbour_offset: u8,
}

const A2: usize = 0;

/// The algorithm for one UE.
pub struct A2A4Rsrq {
    params: Params,
    /// Last reported index of each neighbour, by cell.
    neighbours: Vec<Option<u8>>,
}

impl A2A4Rsrq {
    /// The algorithm for one UE.
    pub fn new(params: Params, _ctx: &Context) -> Self {
        A2A4Rsrq { params, neighbours: Vec::new() }
    }
}

impl Handover for A2A4Rsrq {
    fn triggers(&self) -> Vec<Trigger> {
        let trigger = |event, interval| Trigger {
            event,
            quantity: Quantity::Rsrq,
            hysteresis: Db(0.0),
            time_to_trigger: Span::ZERO,
            interval: Span::from_millis(interval),
        };
        let bad = rsrq_of_index(self.params.serving_threshold);
        vec![trigger(Event::A2(bad), 240), trigger(Event::A4(rsrq_of_index(0)), 480)]
    }

    fn on_report(&mut self, report: &Report<'_>) -> Option<CellId> {
        if report.trigger != A2 {
            for neighbour in report.neighbours {
                let place = usize::from(neighbour.cell.0);
                self.neighbours.resize(self.neighbours.len().max(place + 1), None);
                self.neighbours[place] = Some(neighbour.rsrq_index());
            }
            return None;
        }
        let known = (0..).zip(&self.neighbours).filter_map(|(cell, index)| Some((CellId(cell), (*index)?)));
        let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let enough = |(_, index): &(CellId, u8)| {
            *index > 0 && *index >= report.serving.rsrq_index() + self.params.neighbour_offset
        };
        best.filter(enough).map(|(cell, _)| cell)
    }

    fn on_handover(&mut self) {
        self.neighbours.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Measured;
    use super::*;
    use airwnd_units::{Dbm, Time};

    fn measured(cell: u16, rsrq: f64) -> Measured {
        Measured { cell: CellId(cell), rsrp: Dbm(-90.0), rsrq: Db(rsrq) }
    }

    #[test]
    fn the_best_known_neighbour_has_to_be_better_by_the_offset() {
        let mut algorithm =
            A2A4Rsrq::new(Params { neighbour_offset: 2, ..Params::default() }, &Context::default());
        let mut report = |trigger, serving, neighbours: &[Measured]| {
            algorithm.on_report(&Report {
                now: Time::ZERO,
                trigger,
                serving: measured(0, serving),
                neighbours,
            })
        };
        assert_eq!(report(A2, -10.0, &[]), None, "no neighbour is known");
        assert_eq!(report(1, -10.0, &[measured(2, -9.0), measured(1, -9.4)]), None);
        assert_eq!(report(A2, -9.5, &[]), None, "one step");
        assert_eq!(report(A2, -10.0, &[]), Some(CellId(2)), "two steps");
        report(1, -10.0, &[measured(2, -15.0)]);
        assert_eq!(report(A2, -12.0, &[]), Some(CellId(1)), "the newest report counts");
        algorithm.on_handover();
        let again = algorithm.on_report(&Report {
            now: Time::ZERO,
            trigger: A2,
            serving: measured(1, -15.0),
            neighbours: &[],
        });
        assert_eq!(again, None);
    }
}

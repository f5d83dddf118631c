//! Handover to the strongest cell.

use super::{Context, Event, Handover, Quantity, Report, Trigger};
use crate::identity::CellId;
use airwnd_catalog::Params;
use airwnd_units::{Db, Span};

/// A3-RSRP: hands over to the strongest neighbour if its RSRP exceeds the serving cell's by a margin for a given time.
///
/// The entering condition of event A3 must hold for `time_to_trigger`:
///
/// ```math
/// M_{\mathrm{neighbour}} - \mathrm{Hys} > M_{\mathrm{serving}} + \mathrm{Off}
/// ```
///
/// A larger margin or a longer time to trigger avoids ping-pong handovers, but leaves UEs longer in a cell that is no
/// longer the best, at an SINR of about minus the margin.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.331 §5.5.4.4; ns-3 a3-rsrp-handover-algorithm.cc")]
pub struct Params {
    /// Off: offset of event A3 by which a neighbour must be stronger.
    #[param(basic, default = Db(0.0), range = Db(-15.0)..=Db(15.0))]
    #[param(unit = "dB", source = "ns-3 A3RsrpHandoverAlgorithm, a3Offset")]
    pub offset: Db,
    /// Hys: hysteresis, added to the offset for entering the event and subtracted for leaving it.
    #[param(basic, default = Db(3.0), range = Db(0.0)..=Db(15.0))]
    #[param(unit = "dB", source = "ns-3 A3RsrpHandoverAlgorithm::Hysteresis")]
    pub hysteresis: Db,
    /// Time to trigger: time for which the condition must hold.
    #[param(basic, default = Span::from_millis(256), range = Span::ZERO..=Span::from_millis(5120))]
    #[param(unit = "time", source = "ns-3 A3RsrpHandoverAlgorithm::TimeToTrigger")]
    pub time_to_trigger: Span,
    /// Interval between reports while the event lasts.
    #[param(default = Span::from_millis(1024), range = Span::from_millis(120)..=Span::from_secs(3600))]
    #[param(unit = "time", source = "ns-3 a3-rsrp-handover-algorithm.cc, reportInterval")]
    pub report_interval: Span,
}

/// The algorithm for one UE.
pub struct A3Rsrp {
    params: Params,
}

impl A3Rsrp {
    /// The algorithm for one UE.
    pub fn new(params: Params, _ctx: &Context) -> Self {
        A3Rsrp { params }
    }
}

impl Handover for A3Rsrp {
    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger {
            event: Event::A3(self.params.offset),
            quantity: Quantity::Rsrp,
            hysteresis: self.params.hysteresis,
            time_to_trigger: self.params.time_to_trigger,
            interval: self.params.report_interval,
        }]
    }

    fn on_report(&mut self, report: &Report<'_>) -> Option<CellId> {
        report.neighbours.first().filter(|best| best.rsrp_index() > 0).map(|best| best.cell)
    }
}

//! No handover.

use super::{Context, Handover, Report, Trigger};
use crate::identity::CellId;
use airwnd_catalog::Params;

/// None: every UE stays in its initial cell.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 NoOpHandoverAlgorithm")]
pub struct Params {}

/// An algorithm without handovers.
pub struct Never;

impl Never {
    /// The algorithm for one UE.
    pub fn new(_params: Params, _ctx: &Context) -> Self {
        Never
    }
}

impl Handover for Never {
    fn triggers(&self) -> Vec<Trigger> {
        Vec::new()
    }

    fn on_report(&mut self, _report: &Report<'_>) -> Option<CellId> {
        None
    }
}

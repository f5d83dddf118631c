//! No handover.

use super::{Handover, Report, Trigger};
use crate::identity::CellId;
use airwnd_catalog::params;

params! {
    /// None: every terminal keeps the cell that it has at first.
    pub struct Params ("ns-3 NoOpHandoverAlgorithm") {}
}

/// An algorithm that never decides.
pub struct Never;

impl Never {
    /// For a terminal.
    pub fn new(_params: Params) -> Self {
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

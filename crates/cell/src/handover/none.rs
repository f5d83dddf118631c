//! No handover.

use super::{Handover, Report, Trigger};
use crate::identity::CellId;
use airwnd_catalog::Params;

/// None: every UE keeps the cell that it has at first.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 NoOpHandoverAlgorithm")]
pub struct Params {}

/// An algorithm that never decides.
pub struct Never;

impl Never {
    /// For a UE.
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

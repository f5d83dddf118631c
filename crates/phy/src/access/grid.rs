//! The resource grid of a carrier: PRBs, RBGs, slots and their directions.

use super::Spec;
use crate::Prbs;
use crate::carrier::Carrier;
use crate::nr::slots::SYMBOLS;
use crate::nr::tdd::SlotUse;
use airwnd_units::Span;

/// The resource grid of a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// PRBs of the carrier.
    pub prbs: Prbs,
    /// PRBs of an RBG; the last one of an NR carrier may be smaller.
    pub rbg_prbs: Prbs,
    /// Duration of a slot: a TTI of LTE.
    pub slot: Span,
    /// Symbols of both directions in the slots of a period of the TDD pattern, which begins at time zero. FDD: a single
    /// slot with all symbols in both directions.
    pub slots: Vec<SlotUse>,
}

impl Spec {
    /// The resource grid of a carrier.
    ///
    /// # Errors
    /// The key of the carrier at fault and a message, if the access does not have this carrier.
    pub fn grid(&self, carrier: &Carrier) -> Result<Grid, (&'static str, String)> {
        let access = self.on(carrier)?;
        let slots = match self {
            Spec::Lte(_) => vec![SlotUse { downlink: SYMBOLS, uplink: SYMBOLS }],
            Spec::Nr(params) => params.duplex()?,
        };
        Ok(Grid { prbs: access.prbs, rbg_prbs: access.rbg_prbs, slot: access.clock.slot(), slots })
    }
}

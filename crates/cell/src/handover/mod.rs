//! Handover: measurements, decision algorithms and radio link failure.
//!
//! A UE measures all cells and reports the events that its cell has configured ([`Trigger`]). The cell's algorithm
//! decides on these reports ([`Handover`]). The execution of a handover is the same for all algorithms and not part of
//! this module.

pub(crate) mod link_failure;
pub(crate) mod measurement;
mod settings;

use crate::identity::{CellId, UeId};
use airwnd_catalog::family;
use airwnd_units::{Db, Dbm, Span, Time};

pub use link_failure::Params as LinkFailure;
pub use settings::{Forwarding, Settings};

/// Handover algorithm: when a cell hands a UE over, and to which target.
#[family(name = "handover", build = fn(ctx: &Context) -> Box<dyn Handover>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Never(none::Params),
    A3Rsrp(a3_rsrp::Params),
    A2A4Rsrq(a2_a4_rsrq::Params),
    #[outside]
    Plugin(plugin::Params),
    #[outside]
    Python(python::Params),
}

/// Identity of a UE, for external algorithms. No built-in algorithm depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Number of the UE.
    pub ue: UeId,
    /// Number of cells.
    pub cells: u16,
    /// Seed of the algorithm's random draws; identical in every run with the same seed.
    pub seed: u64,
}

/// A configured reporting event of a UE (TS 36.331 §5.5.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trigger {
    /// Condition.
    pub event: Event,
    /// Compared quantity.
    pub quantity: Quantity,
    /// Hys: hysteresis of the entering and leaving conditions.
    pub hysteresis: Db,
    /// Time for which the condition must hold.
    pub time_to_trigger: Span,
    /// reportInterval: interval between reports while the event lasts.
    pub interval: Span,
}

/// Condition of a reporting event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The serving cell becomes worse than a threshold, in dBm or dB.
    A2(f64),
    /// A neighbour becomes this much better than the serving cell.
    A3(Db),
    /// A neighbour becomes better than a threshold, in dBm or dB.
    A4(f64),
}

/// Measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Reference signal received power (TS 36.214 §5.1.1).
    Rsrp,
    /// Reference signal received quality (TS 36.214 §5.1.3).
    Rsrq,
}

/// A UE's filtered measurements of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The cell.
    pub cell: CellId,
    /// Power of one reference-signal resource element.
    pub rsrp: Dbm,
    /// That power over the total received power of the same number of PRBs.
    pub rsrq: Db,
}

impl Measured {
    pub(crate) fn of(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Rsrp => self.rsrp.0,
            Quantity::Rsrq => self.rsrq.0,
        }
    }

    /// RSRP_xx in a report, 0 to 97.
    //= TS 36.133 §9.1.4
    pub fn rsrp_index(&self) -> u8 {
        (self.rsrp.0 + 141.0).floor().clamp(0.0, 97.0) as u8
    }

    /// RSRQ_xx in a report, 0 to 34.
    //= TS 36.133 §9.1.7
    pub fn rsrq_index(&self) -> u8 {
        (2.0 * self.rsrq.0 + 40.0).floor().clamp(0.0, 34.0) as u8
    }
}

/// The minimum RSRQ in dB that is reported as this index.
pub(crate) fn rsrq_of_index(index: u8) -> f64 {
    (f64::from(index) - 40.0) / 2.0
}

/// Measurement report of a UE.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Time of the report.
    pub now: Time,
    /// Index of the event in [`Handover::triggers`].
    pub trigger: usize,
    /// The serving cell.
    pub serving: Measured,
    /// Neighbours for which the event holds, the best first, at most eight; empty for A2.
    pub neighbours: &'a [Measured],
}

/// Handover algorithm of one UE.
pub trait Handover: Send {
    /// Reporting events to configure at the UE; called once.
    fn triggers(&self) -> Vec<Trigger>;
    /// Handles a report. Returns the target cell, if any. Not called for reports during a handover.
    fn on_report(&mut self, report: &Report<'_>) -> Option<CellId>;
    /// The UE has changed cells: discards what was known from the old one.
    fn on_handover(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_carry_indices() {
        let measured = |rsrp, rsrq| Measured { cell: CellId(0), rsrp: Dbm(rsrp), rsrq: Db(rsrq) };
        // RSRP_00 is below -140 dBm, RSRP_97 from -44 dBm on; RSRQ_00 below -19.5 dB, RSRQ_34 from -3 dB on
        for (rsrp, index) in [(-150.0, 0), (-140.0, 1), (-100.3, 40), (-44.0, 97), (0.0, 97)] {
            assert_eq!(measured(rsrp, 0.0).rsrp_index(), index, "{rsrp}");
        }
        for (rsrq, index) in [(-30.0, 0), (-19.5, 1), (-10.2, 19), (-3.0, 34), (0.0, 34)] {
            assert_eq!(measured(0.0, rsrq).rsrq_index(), index, "{rsrq}");
            assert!(index == 0 || index == 34 || rsrq_of_index(index) <= rsrq);
        }
    }
}

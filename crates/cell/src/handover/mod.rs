//! When a UE changes cells, and how.
//!
//! A UE measures all cells and reports what its cell has asked to hear of ([`Trigger`]); the cell's algorithm
//! decides from these reports ([`Handover`]). What a decision sets in motion is the same for all algorithms, and not
//! here.

pub(crate) mod link_failure;
pub(crate) mod measurement;
mod settings;

use crate::identity::CellId;
use airwnd_catalog::family;
use airwnd_units::{Db, Dbm, Span};

pub use link_failure::Params as LinkFailure;
pub use settings::{Forwarding, Settings};

/// Handover algorithm: when a cell hands a UE over, and to which.
#[family(name = "handover", build = fn() -> Box<dyn Handover>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Never(none::Params),
    A3Rsrp(a3_rsrp::Params),
    A2A4Rsrq(a2_a4_rsrq::Params),
}

/// An event that a UE reports (TS 36.331 §5.5.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trigger {
    /// What has to happen.
    pub event: Event,
    /// What is compared.
    pub quantity: Quantity,
    /// Hys: by how much more than the condition asks for it is entered and left.
    pub hysteresis: Db,
    /// For how long it has to last.
    pub time_to_trigger: Span,
    /// reportInterval: how often it is reported again while it lasts.
    pub interval: Span,
}

/// What can happen among measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The serving cell becomes worse than a threshold, in dBm or dB.
    A2(f64),
    /// A neighbour becomes this much better than the serving cell.
    A3(Db),
    /// A neighbour becomes better than a threshold, in dBm or dB.
    A4(f64),
}

/// What is measured.
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
    /// Power of one of its reference-signal elements.
    pub rsrp: Dbm,
    /// That power over all power received, on as many PRBs.
    pub rsrq: Db,
}

impl Measured {
    pub(crate) fn of(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Rsrp => self.rsrp.0,
            Quantity::Rsrq => self.rsrq.0,
        }
    }

    /// RSRP_xx as a report conveys it, 0 to 97.
    //= TS 36.133 §9.1.4
    pub fn rsrp_index(&self) -> u8 {
        (self.rsrp.0 + 141.0).floor().clamp(0.0, 97.0) as u8
    }

    /// RSRQ_xx as a report conveys it, 0 to 34.
    //= TS 36.133 §9.1.7
    pub fn rsrq_index(&self) -> u8 {
        (2.0 * self.rsrq.0 + 40.0).floor().clamp(0.0, 34.0) as u8
    }
}

/// The lowest RSRQ in dB that is reported as this index.
pub(crate) fn rsrq_of_index(index: u8) -> f64 {
    (f64::from(index) - 40.0) / 2.0
}

/// What a UE reports.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Which of [`Handover::triggers`] it is about.
    pub trigger: usize,
    /// The serving cell.
    pub serving: Measured,
    /// The neighbours for which the event lasts, the best first, at most eight; none for A2.
    pub neighbours: &'a [Measured],
}

/// Decides for one UE.
pub trait Handover: Send {
    /// What the UE shall report; asked once.
    fn triggers(&self) -> Vec<Trigger>;
    /// A report comes: the cell to hand the UE over to, if any. Reports that come while a handover is under way
    /// are not shown.
    fn on_report(&mut self, report: &Report<'_>) -> Option<CellId>;
    /// The UE has changed cells: what was known of it at the old one is forgotten.
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

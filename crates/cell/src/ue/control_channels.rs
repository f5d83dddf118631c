//! Reception of control channels by a UE.

use crate::identity::{CellId, UeId};
use crate::radio::Air;
use airwnd_kernel::Stream;
use airwnd_phy::access::Level;
use airwnd_phy::control_error;
use airwnd_units::{Db, Tti};

/// Reception of a carrier's control channels.
pub(super) struct Control {
    /// `None`: they are never lost.
    error: Option<ControlError>,
    draws: Stream,
}

/// Probability of losing a PDCCH of 8 CCEs over a flat channel, and the SINR.
#[derive(Clone, Copy, Debug, Default)]
struct ControlError {
    probability: f64,
    sinr: Db,
    /// Version of the UE's gains, and its cell, to which it applies.
    valid_for: Option<(u64, CellId)>,
}

/// A PDCCH on air to a UE.
#[derive(Clone, Copy)]
pub(super) struct Pdcch {
    pub tti: Tti,
    pub level: Level,
    /// Number of the UE.
    pub ue: UeId,
    /// Number of the cell that sends it.
    pub cell: CellId,
}

impl Control {
    /// Control channels that can be lost if `errors`, by draws from this stream.
    pub fn new(errors: bool, draws: Stream) -> Control {
        Control { error: errors.then(ControlError::default), draws }
    }

    /// Whether the UE misses a PDCCH.
    #[inline(always)]
    pub fn loses(&mut self, pdcch: Pdcch, air: &mut Air<'_>) -> bool {
        let Some(error) = &mut self.error else { return false };
        let Pdcch { tti, level, ue, cell } = pdcch;
        let probability = match air.receivers.faded_control_error(air.radio, ue, level) {
            Some(probability) => probability,
            None => {
                let now = Some((air.radio.version(ue), cell));
                if error.valid_for != now {
                    let sinr = air.radio.control_sinr(ue, cell);
                    *error = ControlError { probability: control_error(sinr), sinr, valid_for: now };
                }
                match level {
                    Level::OF_8 => error.probability,
                    _ => control_error(error.sinr + level.gain()),
                }
            }
        };
        probability > 0.0 && self.draws.at(tti.0) < probability
    }
}

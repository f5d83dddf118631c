//! Transmissions of all UEs in the TTI on air.

use super::gains::Gains;
use crate::identity::{CellId, UeId};
use crate::mac::power_control;
use crate::settings::RanSetup;
use airwnd_phy::Prbs;
use airwnd_units::Db;

/// Interfering transmissions per cell and TTI with preallocated memory.
const RESERVED: usize = 256;

/// Cached transmit powers.
const CACHED: usize = 1024;

/// A transmission of a UE: PRBs and power on each in mW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UplinkSignal {
    pub ue: UeId,
    pub first: u16,
    pub prbs: u16,
    pub power: f64,
}

/// A transmission of a UE of another cell, and its received power per PRB in mW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interference {
    pub signal: UplinkSignal,
    pub received: f64,
}

/// Transmissions of UEs that interfere with each other.
pub(super) struct UplinkOnAir {
    /// Signals of other cells' UEs, by cell.
    interference: Vec<Vec<Interference>>,
    /// Received power per PRB in mW of UEs that are not near a cell, averaged over cells and PRBs.
    pub floor: f64,
}

/// Transmit powers of UEs: a direct-mapped cache.
pub(super) struct Powers(Vec<Power>);

/// Transmit power per PRB in mW for a width, a path loss and a sum of TPC commands.
#[derive(Clone, Copy)]
struct Power {
    prbs: Prbs,
    loss: Db,
    commanded: Db,
    power: f64,
}

impl Powers {
    pub fn new() -> Powers {
        Powers(vec![Power { prbs: Prbs(0), loss: Db(0.0), commanded: Db(0.0), power: 0.0 }; CACHED])
    }

    /// The transmit power per PRB in mW on `prbs`. All calls have the same parameters of power control.
    pub fn of(&mut self, prbs: Prbs, control: &power_control::Params, loss: Db, commanded: Db) -> f64 {
        let mixed = loss.0.to_bits() ^ commanded.0.to_bits().rotate_left(32) ^ u64::from(prbs.0);
        let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % CACHED;
        let known = &mut self.0[place];
        if known.prbs != prbs || known.loss != loss || known.commanded != commanded {
            *known = Power { prbs, loss, commanded, power: control.power_per_prb(prbs, loss, commanded) };
        }
        known.power
    }
}

impl UplinkOnAir {
    pub fn new(setup: &RanSetup) -> UplinkOnAir {
        let reserved = setup.ues.len().min(RESERVED);
        UplinkOnAir {
            interference: setup.cells.iter().map(|_| Vec::with_capacity(reserved)).collect(),
            floor: 0.0,
        }
    }

    pub fn clear(&mut self) {
        self.interference.iter_mut().for_each(Vec::clear);
        self.floor = 0.0;
    }

    /// Adds a transmission of a UE to a cell over a carrier of this width.
    pub fn add(&mut self, gains: &mut Gains, carrier: Prbs, cell: CellId, signal: UplinkSignal) {
        let ue = signal.ue;
        for (other, factor) in gains.uplinks(ue).filter(|(other, _)| *other != cell) {
            let received = signal.power * factor;
            self.interference[other.index()].push(Interference { signal, received });
        }
        let far = gains.far_uplink(ue);
        if far > 0.0 {
            let cells = self.interference.len() as f64;
            let share = f64::from(signal.prbs) / f64::from(carrier.0) / cells;
            self.floor += signal.power * share * far;
        }
    }

    /// The transmissions of other cells' UEs at a cell.
    pub fn at(&self, cell: CellId) -> &[Interference] {
        &self.interference[cell.index()]
    }
}

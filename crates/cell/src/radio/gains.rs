//! Gains of all links, as far as they depend on positions.

use crate::phy::antenna::{Antenna, Bearing};
use crate::phy::link_budget::{noise_per_prb, power_per_prb};
use crate::phy::propagation::{LinkGeometry, Propagation};
use crate::phy::shadowing::Shadowing;
use crate::phy::{Position, Prbs};
use crate::settings::{CellSite, RanSetup};
use airwnd_kernel::Stream;
use airwnd_units::{Db, Dbm, Hertz};

/// Path loss, antennas and shadowing between all cells and all UEs.
pub(crate) struct Gains {
    propagation: Box<dyn Propagation>,
    /// `None`: no shadowing.
    shadowing: Option<Shadowing>,
    cells: Vec<Mast>,
    downlink_frequency: Hertz,
    uplink_frequency: Hertz,
    /// Received power per PRB in mW, `[ue * cells + cell]`.
    received: Vec<f64>,
    /// Factor from a UE's transmit power to a cell's received power, `[ue * cells + cell]`.
    uplink: Vec<f64>,
    /// Number of changes of each UE's gains.
    changes: Vec<u64>,
    /// Noise per PRB in mW.
    ue_noise: Vec<f64>,
    cell_noise: Vec<f64>,
}

/// Antenna and transmit power of a cell.
pub(super) struct Mast {
    pub site: CellSite,
    antenna: Box<dyn Antenna>,
    pub power_per_prb: Dbm,
}

impl Mast {
    pub fn new(site: &CellSite, prbs: Prbs) -> Mast {
        Mast {
            antenna: site.antenna.build(),
            power_per_prb: power_per_prb(site.power, prbs),
            site: site.clone(),
        }
    }

    /// The antenna's gain towards a position.
    pub fn gain(&self, position: Position) -> Db {
        self.antenna.gain(Bearing::towards(position, self.site.position, self.site.boresight))
    }
}

impl Gains {
    pub fn new(setup: &RanSetup, prbs: Prbs) -> Gains {
        let links = setup.ues.len() * setup.cells.len();
        let mut gains = Gains {
            propagation: setup.radio.propagation.build(),
            shadowing: setup
                .radio
                .shadowing
                .clone()
                .map(|params| Shadowing::new(params, Stream::new(setup.seed, "shadowing"))),
            cells: setup.cells.iter().map(|site| Mast::new(site, prbs)).collect(),
            downlink_frequency: setup.carrier.downlink_frequency,
            uplink_frequency: setup.carrier.uplink_frequency,
            received: vec![0.0; links],
            uplink: vec![0.0; links],
            changes: vec![0; setup.ues.len()],
            ue_noise: setup.ues.iter().map(|ue| noise_per_prb(ue.noise_figure).milliwatts()).collect(),
            cell_noise: setup
                .cells
                .iter()
                .map(|cell| noise_per_prb(cell.noise_figure).milliwatts())
                .collect(),
        };
        for (number, ue) in setup.ues.iter().enumerate() {
            gains.place(number, ue.position);
        }
        gains
    }

    /// Moves a UE.
    pub fn place(&mut self, ue: usize, position: Position) {
        let first = ue * self.cells.len();
        let mut shadowing = self.shadowing.as_ref().map(|shadowing| shadowing.of(ue as u32));
        // The sectors of a site share their path loss.
        let mut before: Option<(Position, [Db; 2])> = None;
        for (cell, mast) in (0..).zip(&self.cells) {
            let link = first + cell as usize;
            let Mast { site, power_per_prb, .. } = mast;
            let [down, up] = match before {
                Some((there, losses)) if there == site.position => losses,
                _ => [self.downlink_frequency, self.uplink_frequency].map(|frequency| {
                    self.propagation.path_loss(&LinkGeometry { a: site.position, b: position, frequency })
                }),
            };
            before = Some((site.position, [down, up]));
            let shadowed = shadowing.as_mut().map_or(Db(0.0), |losses| losses.to(site.site, cell));
            let gain = mast.gain(position) - shadowed;
            self.received[link] = (*power_per_prb - (down - gain)).milliwatts();
            self.uplink[link] = (-(up - gain)).linear();
        }
        self.changes[ue] += 1;
    }

    /// The received power per PRB in mW of each cell at a UE.
    pub fn received(&self, ue: usize) -> &[f64] {
        &self.received[ue * self.cells.len()..][..self.cells.len()]
    }

    /// The factor from a UE's transmit power to a cell's received power.
    pub fn uplink(&self, ue: usize, cell: usize) -> f64 {
        self.uplink[ue * self.cells.len() + cell]
    }

    /// The downlink's path loss with antenna gains, as the UE estimates it.
    pub fn loss(&self, ue: usize, cell: usize) -> Db {
        self.cells[cell].power_per_prb - Dbm::from_milliwatts(self.received(ue)[cell])
    }

    /// A number that changes with every change of a UE's gains.
    pub fn version(&self, ue: usize) -> u64 {
        self.changes[ue]
    }

    /// A UE's noise per PRB in mW.
    pub fn ue_noise(&self, ue: usize) -> f64 {
        self.ue_noise[ue]
    }

    /// A cell's noise per PRB in mW.
    pub fn cell_noise(&self, cell: usize) -> f64 {
        self.cell_noise[cell]
    }
}

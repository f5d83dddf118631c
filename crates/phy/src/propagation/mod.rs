//! Path loss between two points.

use super::Position;
use crate::shadowing::{Spread, standard_normal};
use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Db, Hertz, Metres};

/// Path loss: mean attenuation between two points.
#[family(name = "propagation", build = fn() -> Box<dyn Propagation>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Friis(friis::Params),
    LogDistance(log_distance::Params),
    HybridBuildings(hybrid_buildings::Params),
    UrbanMacro(urban_macro::Params),
    Tr38901(tr38901::Params),
}

/// A path-loss model: pure, and equal in both directions.
pub trait Propagation: Send + Sync {
    /// The path loss of this link without antennas, shadowing and fading; never negative.
    ///
    /// All resource blocks have the loss at the carrier frequency: over 20 MHz at 2 GHz the difference is 0.1 dB.
    fn path_loss(&self, link: &LinkGeometry) -> Db;

    /// Whether the UE with these draws is in a building.
    fn is_indoor(&self, _draws: &Draws) -> bool {
        false
    }

    /// Spread of shadowing on this link; `None`: that of the scenario.
    fn shadowing(&self, _link: &LinkGeometry) -> Option<Spread> {
        None
    }
}

/// Random draws of a UE and of its link to a site, for models with chance. They do not change as the UE moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draws {
    /// The stream of all draws, UE and site; `None`: the median of each draw.
    source: Option<(Stream, u64, u64)>,
}

impl Draws {
    /// The median of each draw.
    pub const MEDIAN: Draws = Draws { source: None };

    /// The draws of a UE and its link to a site, all from `stream`.
    pub fn new(stream: Stream, ue: usize, site: u32) -> Draws {
        Draws { source: Some((stream, ue as u64, site.into())) }
    }

    /// A number of the UE, uniform on [0, 1).
    pub fn of_ue(&self, number: u64) -> f64 {
        self.source.map_or(0.5, |(stream, ue, _)| stream.child(ue).at(number))
    }

    /// A standard normal number of the UE, from the draws `number` and the next one.
    pub fn normal_of_ue(&self, number: u64) -> f64 {
        let normal = |draws: Stream| standard_normal(draws.at(number), draws.at(number + 1));
        self.source.map_or(0.0, |(stream, ue, _)| normal(stream.child(ue)))
    }

    /// A number of the link, uniform on [0, 1).
    pub fn of_link(&self, number: u64) -> f64 {
        self.source.map_or(0.5, |(stream, ue, site)| stream.child(ue).child(site).at(number))
    }
}

/// Lengths, heights, carrier frequency and random draws of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkGeometry {
    ground_distance: Metres,
    distance: Metres,
    /// Heights of the cell and of the UE.
    cell: Metres,
    ue: Metres,
    /// The carrier frequency.
    pub frequency: Hertz,
    /// Random draws.
    pub draws: Draws,
}

impl LinkGeometry {
    /// The link between a cell and a UE.
    pub fn new(cell: Position, ue: Position, frequency: Hertz, draws: Draws) -> LinkGeometry {
        let ground_distance = cell.ground_distance(ue);
        LinkGeometry {
            ground_distance,
            distance: cell.distance_over(ground_distance, ue),
            cell: cell.z,
            ue: ue.z,
            frequency,
            draws,
        }
    }

    /// Geometry of this link at another carrier frequency.
    pub fn at(self, frequency: Hertz) -> LinkGeometry {
        LinkGeometry { frequency, ..self }
    }
    /// The length of the link over ground.
    pub fn ground_distance(&self) -> Metres {
        self.ground_distance
    }
    /// The length of the link in space.
    pub fn distance(&self) -> Metres {
        self.distance
    }
    /// The height of the higher end.
    pub fn upper(&self) -> Metres {
        Metres(self.cell.0.max(self.ue.0))
    }
    /// The height of the lower end.
    pub fn lower(&self) -> Metres {
        Metres(self.cell.0.min(self.ue.0))
    }
    /// The height of the cell.
    pub fn cell(&self) -> Metres {
        self.cell
    }
    /// The height of the UE.
    pub fn ue(&self) -> Metres {
        self.ue
    }
}

/// Speed of light in metres per second (the SI's definition of the metre).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// The wavelength of a carrier.
pub fn wavelength(frequency: Hertz) -> Metres {
    Metres(SPEED_OF_LIGHT / frequency.0)
}

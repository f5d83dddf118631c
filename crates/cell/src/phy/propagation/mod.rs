//! Path loss between two points.

use super::Position;
use airwnd_catalog::family;
use airwnd_units::{Db, Hertz, Metres};

/// Path loss: mean attenuation between two points.
#[family(name = "propagation", build = fn() -> Box<dyn Propagation>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Friis(friis::Params),
    LogDistance(log_distance::Params),
    HybridBuildings(hybrid_buildings::Params),
    UrbanMacro(urban_macro::Params),
}

/// A path-loss model: pure, and equal in both directions.
pub trait Propagation: Send + Sync {
    /// The path loss of this link without antennas, shadowing and fading; never negative.
    ///
    /// All resource blocks have the loss at the carrier frequency: over 20 MHz at 2 GHz the difference is 0.1 dB.
    fn path_loss(&self, link: &LinkGeometry) -> Db;
}

/// Ends and carrier frequency of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkGeometry {
    /// One end.
    pub a: Position,
    /// The other end.
    pub b: Position,
    /// The carrier frequency.
    pub frequency: Hertz,
}

impl LinkGeometry {
    /// The length of the link in space.
    pub fn distance(&self) -> Metres {
        self.a.distance(self.b)
    }
    /// The height of the higher end.
    pub fn upper(&self) -> Metres {
        Metres(self.a.z.0.max(self.b.z.0))
    }
    /// The height of the lower end.
    pub fn lower(&self) -> Metres {
        Metres(self.a.z.0.min(self.b.z.0))
    }
}

/// Speed of light in metres per second (the SI's definition of the metre).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// The wavelength of a carrier.
pub fn wavelength(frequency: Hertz) -> Metres {
    Metres(SPEED_OF_LIGHT / frequency.0)
}

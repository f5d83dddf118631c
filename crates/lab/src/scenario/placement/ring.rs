//! Placement on a circle.

use super::{Place, Placement};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres};

/// Ring: evenly spaced on a circle, anticlockwise.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd")]
pub struct Params {
    /// Radius of the circle.
    #[param(basic, default = Metres(500.0), range = Metres(0.1)..=Metres(1e6))]
    #[param(unit = "m", source = "half a typical inter-site distance")]
    pub radius: Metres,
    /// Bearing of the first UE, anticlockwise from east.
    #[param(default = Degrees(0.0), range = Degrees(-360.0)..=Degrees(360.0), unit = "deg", source = "east")]
    pub bearing: Degrees,
    /// Centre of the circle.
    #[param(default = [Metres(0.0), Metres(0.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "the first site")]
    pub centre: [Metres; 2],
}

/// Placement on a circle.
pub struct Ring {
    params: Params,
}

impl Ring {
    /// Creates the placement.
    pub fn new(params: Params) -> Self {
        Ring { params }
    }
}

impl Placement for Ring {
    fn place(&self, index: usize, count: usize, _stream: Stream) -> Option<Place> {
        let bearing = self.params.bearing.0 + 360.0 * index as f64 / count as f64;
        Some(Place::polar(self.params.centre, self.params.radius.0, bearing))
    }
}

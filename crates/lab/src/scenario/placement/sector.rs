//! Uniform placement in a sector of a disc.

use super::{Place, Placement, check_radii, uniform_radius};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres};

/// Sector: uniform over a sector of a disc around a point.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ARWA 2019 §4.3.3: users spread throughout one sector", check)]
pub struct Params {
    /// Radius of the disc.
    #[param(basic, default = Metres(1000.0), range = Metres(1.0)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 reference run S3")]
    pub radius: Metres,
    /// Minimum distance of a UE from the centre.
    #[param(default = Metres(35.0), range = Metres(0.0)..=Metres(1e6))]
    #[param(unit = "m", source = "TR 36.814 Table A.2.1.1-2: 35 m between macro site and UE")]
    pub min_radius: Metres,
    /// Bearing of the centre line of the sector, anticlockwise from east.
    #[param(basic, default = Degrees(0.0), range = Degrees(-360.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "the first sector")]
    pub bearing: Degrees,
    /// Central angle of the sector.
    #[param(default = Degrees(120.0), range = Degrees(0.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "three sectors per site")]
    pub width: Degrees,
    /// Centre of the disc.
    #[param(default = [Metres(0.0), Metres(0.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "the first site")]
    pub centre: [Metres; 2],
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check_radii(self.min_radius, self.radius)
    }
}

/// Uniform placement in a sector.
pub struct Sector {
    params: Params,
}

impl Sector {
    /// Creates the placement.
    pub fn new(params: Params) -> Self {
        Sector { params }
    }
}

impl Placement for Sector {
    fn place(&self, _index: usize, _count: usize, mut stream: Stream) -> Option<Place> {
        let radius = uniform_radius(self.params.min_radius, self.params.radius, stream.uniform());
        let bearing = self.params.bearing.0 + self.params.width.0 * (stream.uniform() - 0.5);
        Some(Place::polar(self.params.centre, radius, bearing))
    }
}

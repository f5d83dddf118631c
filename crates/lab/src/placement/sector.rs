//! Uniform in a sector of a disc.

use super::{Place, Placement, uniform_radius};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres};

params! {
    /// Sector: uniform over a sector of a disc around a point.
    pub struct Params ("ARWA 2019 §4.3.3: users spread throughout one sector") {
        /// Radius of the disc.
        pub radius: Metres = Metres(1000.0), unit "m", range Metres(1.0)..=Metres(1e6), source "ns-3 reference run S3";
        /// No terminal is nearer to the centre than this.
        pub min_radius: Metres = Metres(35.0), unit "m", range Metres(0.0)..=Metres(1e6), source "TR 36.814 Table A.2.1.1-2: 35 m between macro site and terminal";
        /// Direction of the middle of the sector.
        pub bearing: Degrees = Degrees(0.0), unit "deg", range Degrees(-360.0)..=Degrees(360.0), source "the first sector";
        /// Angle between the sector's sides.
        pub width: Degrees = Degrees(120.0), unit "deg", range Degrees(0.0)..=Degrees(360.0), source "three sectors a site";
        /// Centre of the disc.
        pub centre: [Metres; 2] = [Metres(0.0), Metres(0.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "the first site";
    }
}

/// A sector of places.
pub struct Sector {
    params: Params,
}

impl Sector {
    /// A sector.
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

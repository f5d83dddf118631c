//! Uniform in a disc.

use super::{Place, Placement, uniform_radius};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Metres;

params! {
    /// Disc: uniform over the area of a disc around a point.
    pub struct Params ("ARWA 2019 §4.1: users distributed uniformly in the coverage area") {
        /// Radius of the disc.
        pub radius: Metres = Metres(1000.0), unit "m", range Metres(1.0)..=Metres(1e6), source "ns-3 reference run S3";
        /// No terminal is nearer to the centre than this.
        pub min_radius: Metres = Metres(35.0), unit "m", range Metres(0.0)..=Metres(1e6), source "TR 36.814 Table A.2.1.1-2: 35 m between macro site and terminal";
        /// Centre of the disc.
        pub centre: [Metres; 2] = [Metres(0.0), Metres(0.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "the first site";
    }
}

/// A disc of places.
pub struct Disc {
    params: Params,
}

impl Disc {
    /// A disc.
    pub fn new(params: Params) -> Self {
        Disc { params }
    }
}

impl Placement for Disc {
    fn place(&self, _index: usize, _count: usize, mut stream: Stream) -> Option<Place> {
        let radius = uniform_radius(self.params.min_radius, self.params.radius, stream.uniform());
        Some(Place::polar(self.params.centre, radius, 360.0 * stream.uniform()))
    }
}

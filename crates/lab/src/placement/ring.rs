//! On a circle.

use super::{Place, Placement};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres};

params! {
    /// Ring: evenly spaced on a circle, anticlockwise.
    pub struct Params ("airwnd") {
        /// Radius of the circle.
        pub radius: Metres = Metres(500.0), unit "m", range Metres(0.1)..=Metres(1e6), source "half a usual site distance";
        /// Direction of the first terminal.
        pub bearing: Degrees = Degrees(0.0), unit "deg", range Degrees(-360.0)..=Degrees(360.0), source "east";
        /// Centre of the circle.
        pub centre: [Metres; 2] = [Metres(0.0), Metres(0.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "the first site";
    }
}

/// A circle of places.
pub struct Ring {
    params: Params,
}

impl Ring {
    /// A circle.
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

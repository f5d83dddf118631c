//! Standing still.

use super::{Mobility, Point};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

params! {
    /// Static: the terminal stays where it is placed.
    pub struct Params ("ns-3 ConstantPositionMobilityModel") {}
}

/// A terminal that stands still.
pub struct Static {
    place: Point,
}

impl Static {
    /// A terminal at a place.
    pub fn new(_params: Params, start: Point, _stream: Stream) -> Self {
        Static { place: start }
    }
}

impl Mobility for Static {
    fn position(&mut self, _now: Time) -> Point {
        self.place
    }

    fn moves(&self) -> bool {
        false
    }
}

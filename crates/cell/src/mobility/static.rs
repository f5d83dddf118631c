//! UEs without motion.

use super::{Mobility, Point};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Time;

/// Static: the UE stays where it is placed.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 ConstantPositionMobilityModel")]
pub struct Params {}

/// A UE that does not move.
pub struct Static {
    place: Point,
}

impl Static {
    /// A UE at this position.
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

//! Straight on.

use super::{Mobility, Point};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres, Speed, Time};

/// Constant velocity: straight on from where the UE is placed, from the start of the simulation.
///
/// The warm-up counts: at its end the UE has already moved on.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 ConstantVelocityMobilityModel")]
pub struct Params {
    /// How fast.
    #[param(default = Speed(20.0), range = Speed(0.0)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 reference run S6")]
    pub speed: Speed,
    /// Which way.
    #[param(default = Degrees(0.0), range = Degrees(-360.0)..=Degrees(360.0), unit = "deg", source = "east")]
    pub direction: Degrees,
}

/// A UE on a straight way.
pub struct ConstantVelocity {
    start: Point,
    /// Metres per second, east and north.
    velocity: [f64; 2],
}

impl ConstantVelocity {
    /// A UE that leaves a place.
    pub fn new(params: Params, start: Point, _stream: Stream) -> Self {
        let angle = params.direction.0.to_radians();
        let velocity = [libm::cos(angle), libm::sin(angle)].map(|part| part * params.speed.0);
        ConstantVelocity { start, velocity }
    }
}

impl Mobility for ConstantVelocity {
    fn position(&mut self, now: Time) -> Point {
        [0, 1].map(|axis| Metres(self.start[axis].0 + self.velocity[axis] * now.as_secs()))
    }

    fn moves(&self) -> bool {
        self.velocity != [0.0; 2]
    }
}

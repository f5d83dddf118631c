//! Motion at constant velocity.

use super::{Mobility, Point};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres, Speed, Time};

/// Constant velocity: straight motion from the initial position, from the start of the simulation.
///
/// The warm-up counts: when it ends, the UE has already moved.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 ConstantVelocityMobilityModel")]
pub struct Params {
    /// Speed.
    #[param(basic, default = Speed(20.0), range = Speed(0.0)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 reference run S6")]
    pub speed: Speed,
    /// Direction; 0 deg is east, 90 deg is north.
    #[param(basic)]
    #[param(default = Degrees(0.0), range = Degrees(-360.0)..=Degrees(360.0), unit = "deg", source = "east")]
    pub direction: Degrees,
}

/// A UE on a straight trajectory.
pub struct ConstantVelocity {
    start: Point,
    /// Metres per second, east and north.
    velocity: [f64; 2],
}

impl ConstantVelocity {
    /// A UE that starts at `start`.
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

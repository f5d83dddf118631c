//! Straight on.

use super::{Mobility, Point};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::{Degrees, Metres, Speed, Time};

params! {
    /// Constant velocity: straight on from where the terminal is placed, from the start of the simulation.
    ///
    /// The warm-up counts: at its end the terminal has already moved on.
    pub struct Params ("ns-3 ConstantVelocityMobilityModel") {
        /// How fast.
        pub speed: Speed = Speed(20.0), unit "m/s", range Speed(0.0)..=Speed(300.0), source "ns-3 reference run S6";
        /// Which way.
        pub direction: Degrees = Degrees(0.0), unit "deg", range Degrees(-360.0)..=Degrees(360.0), source "east";
    }
}

/// A terminal on a straight way.
pub struct ConstantVelocity {
    start: Point,
    /// Metres per second, east and north.
    velocity: [f64; 2],
}

impl ConstantVelocity {
    /// A terminal that leaves a place.
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

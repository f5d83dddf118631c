//! A random walk.

use super::{Mobility, Point, check_area, check_speeds, travel_time, uniform};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};
use std::f64::consts::TAU;

/// End of a leg of a random walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Mode {
    /// After `time`.
    #[word = "time"]
    Time,
    /// After `distance`.
    #[word = "distance"]
    Distance,
}

/// 2D random walk in a rectangle: straight legs, each with a uniform random speed and direction.
///
/// Legs are reflected at the edges of the area.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 random-walk-2d-mobility-model.cc", check)]
pub struct Params {
    /// Criterion that ends a leg.
    #[param(default = Mode::Distance, unit = "word", source = "ns-3 RandomWalk2dMobilityModel::Mode")]
    pub mode: Mode,
    /// Duration of a leg in mode `time`.
    #[param(default = Span::from_secs(1), range = Span::from_millis(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "ns-3 RandomWalk2dMobilityModel::Time")]
    pub time: Span,
    /// Length of a leg in mode `distance`.
    #[param(default = Metres(1.0), range = Metres(0.01)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 RandomWalk2dMobilityModel::Distance")]
    pub distance: Metres,
    /// Minimum speed of a leg.
    #[param(basic, default = Speed(2.0), range = Speed(0.01)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 RandomWalk2dMobilityModel::Speed")]
    pub min_speed: Speed,
    /// Maximum speed of a leg.
    #[param(basic, default = Speed(4.0), range = Speed(0.01)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 RandomWalk2dMobilityModel::Speed")]
    pub max_speed: Speed,
    /// Western and eastern edge of the area.
    #[param(basic, default = [Metres(-1000.0), Metres(1000.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 reference run S3")]
    pub x: [Metres; 2],
    /// Southern and northern edge of the area.
    #[param(basic, default = [Metres(-1000.0), Metres(1000.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 reference run S3")]
    pub y: [Metres; 2],
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check_speeds(self.min_speed, self.max_speed)?;
        check_area(&self.x, &self.y)
    }
}

/// A UE on a random walk.
pub struct RandomWalk2d {
    params: Params,
    stream: Stream,
    /// Number of the current leg, its start point, start time and end time.
    leg: u64,
    from: Point,
    began: Time,
    ends: Time,
    /// Metres per second, east and north, before any reflection.
    velocity: [f64; 2],
}

impl RandomWalk2d {
    /// A UE that starts inside the area.
    pub fn new(params: Params, start: Point, stream: Stream) -> Self {
        let mut walk = RandomWalk2d {
            params,
            stream,
            leg: 0,
            from: start,
            began: Time::ZERO,
            ends: Time::ZERO,
            velocity: [0.0; 2],
        };
        walk.draw();
        walk
    }

    /// Draws speed and direction of the next leg.
    fn draw(&mut self) {
        let params = &self.params;
        let speed = uniform(self.stream, 2 * self.leg, params.min_speed.0, params.max_speed.0);
        let angle = uniform(self.stream, 2 * self.leg + 1, 0.0, TAU);
        self.velocity = [libm::cos(angle), libm::sin(angle)].map(|part| part * speed);
        self.ends = self.began
            + match params.mode {
                Mode::Time => params.time,
                Mode::Distance => travel_time(params.distance, Speed(speed)),
            };
    }

    /// The position on this leg.
    fn on_leg(&self, at: Time) -> Point {
        let since = (at - self.began).as_secs();
        let bounds = [&self.params.x, &self.params.y];
        [0, 1].map(|axis| reflected(self.from[axis].0 + self.velocity[axis] * since, bounds[axis]))
    }
}

/// A coordinate reflected between two walls.
fn reflected(free: f64, [min, max]: &[Metres; 2]) -> Metres {
    let width = max.0 - min.0;
    let over = libm::fmod(free - min.0, 2.0 * width);
    let over = if over < 0.0 { over + 2.0 * width } else { over };
    Metres(min.0 + if over > width { 2.0 * width - over } else { over })
}

impl Mobility for RandomWalk2d {
    fn position(&mut self, now: Time) -> Point {
        while now >= self.ends {
            self.from = self.on_leg(self.ends);
            self.began = self.ends;
            self.leg += 1;
            self.draw();
        }
        self.on_leg(now)
    }
    fn area(&self) -> Option<[[Metres; 2]; 2]> {
        Some([self.params.x, self.params.y])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_reflect() {
        let walls = [Metres(-10.0), Metres(30.0)];
        for (free, place) in [(0.0, 0.0), (35.0, 25.0), (-12.0, -8.0), (75.0, -5.0), (110.0, 30.0)] {
            assert!((reflected(free, &walls).0 - place).abs() < 1e-9, "{free}");
        }
    }

    /// Mean of cos and sin over directions is zero, and the mean speed that of its distribution.
    #[test]
    fn directions_are_uniform() {
        let params = Params { mode: Mode::Time, ..Params::default() };
        let mut walk = RandomWalk2d::new(params, [Metres(0.0); 2], Stream::new(5, "mobility"));
        let (mut sum, mut speed) = ([0.0; 2], 0.0);
        for second in 1..=10_000u64 {
            walk.position(Time(second * 1_000_000_000 - 1));
            (0..2).for_each(|axis| sum[axis] += walk.velocity[axis]);
            speed += libm::hypot(walk.velocity[0], walk.velocity[1]);
        }
        // the standard error of each mean is 0.022 m/s, that of the speed 0.006 m/s
        assert!(sum.iter().all(|sum| sum.abs() / 1e4 < 0.09), "{sum:?}");
        assert!((speed / 1e4 - 3.0).abs() < 0.024, "{speed}");
    }
}

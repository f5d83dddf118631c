//! A random walk.

use super::{Mobility, Point, travel_time, uniform};
use airwnd_catalog::{choice, params};
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};
use std::f64::consts::TAU;

choice! {
    /// When a new direction is taken.
    pub enum Mode {
        /// After `time`.
        Time = "time",
        /// After `distance`.
        Distance = "distance",
    }
}

params! {
    /// Random walk in an area: straight legs, each with its own speed and direction, both uniform.
    ///
    /// Where a leg meets the edge of the area it is reflected, and goes on with what is left of it.
    pub struct Params ("ns-3 random-walk-2d-mobility-model.cc") {
        /// What ends a leg.
        pub mode: Mode = Mode::Distance, unit "word", source "ns-3 RandomWalk2dMobilityModel::Mode";
        /// Length of a leg in mode `time`.
        pub time: Span = Span::from_secs(1), unit "time", range Span::from_millis(1)..=Span::from_secs(86_400), source "ns-3 RandomWalk2dMobilityModel::Time";
        /// Length of a leg in mode `distance`.
        pub distance: Metres = Metres(1.0), unit "m", range Metres(0.01)..=Metres(1e6), source "ns-3 RandomWalk2dMobilityModel::Distance";
        /// Lowest speed of a leg.
        pub min_speed: Speed = Speed(2.0), unit "m/s", range Speed(0.01)..=Speed(300.0), source "ns-3 RandomWalk2dMobilityModel::Speed";
        /// Highest speed of a leg.
        pub max_speed: Speed = Speed(4.0), unit "m/s", range Speed(0.01)..=Speed(300.0), source "ns-3 RandomWalk2dMobilityModel::Speed";
        /// Western and eastern edge of the area.
        pub x: [Metres; 2] = [Metres(-1000.0), Metres(1000.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "ns-3 reference run S3";
        /// Southern and northern edge of the area.
        pub y: [Metres; 2] = [Metres(-1000.0), Metres(1000.0)], unit "m", range Metres(-1e6)..=Metres(1e6), source "ns-3 reference run S3";
    }
}

/// A terminal on a random walk.
pub struct RandomWalk2d {
    params: Params,
    stream: Stream,
    /// Which leg it is on, where and when that began and ends.
    leg: u64,
    from: Point,
    began: Time,
    ends: Time,
    /// Metres per second, east and north, before any reflection.
    velocity: [f64; 2],
}

impl RandomWalk2d {
    /// A terminal that leaves a place inside the area.
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

    /// Draws speed and direction of the leg that begins.
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

    /// The place on this leg.
    fn on_leg(&self, at: Time) -> Point {
        let since = (at - self.began).as_secs();
        let bounds = [&self.params.x, &self.params.y];
        [0, 1].map(|axis| reflected(self.from[axis].0 + self.velocity[axis] * since, bounds[axis]))
    }
}

/// A coordinate folded at two walls as often as it takes.
fn reflected(free: f64, [least, most]: &[Metres; 2]) -> Metres {
    let width = most.0 - least.0;
    let over = libm::fmod(free - least.0, 2.0 * width);
    let over = if over < 0.0 { over + 2.0 * width } else { over };
    Metres(least.0 + if over > width { 2.0 * width - over } else { over })
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

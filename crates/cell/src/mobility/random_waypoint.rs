//! Random waypoint model.

use super::{Mobility, Point, between, check_area, check_speeds, distance, travel_time, uniform};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};

/// Random waypoint: repeatedly pauses, then moves straight to a uniform random point of a rectangle at a uniform speed.
///
/// The time average of the speed is lower than the mean of the distribution, since slow legs last longer. With a
/// minimum speed near zero, the average speed decays over time (Yoon, Liu and Noble, INFOCOM 2003).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Johnson, Maltz: Dynamic Source Routing in Ad Hoc Wireless Networks, 1996; ns-3 \
              random-waypoint-mobility-model.cc",
    check
)]
pub struct Params {
    /// Minimum speed of a leg.
    #[param(basic, default = Speed(0.3), range = Speed(0.01)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 RandomWaypointMobilityModel::Speed")]
    pub min_speed: Speed,
    /// Maximum speed of a leg.
    #[param(basic, default = Speed(0.7), range = Speed(0.01)..=Speed(300.0))]
    #[param(unit = "m/s", source = "ns-3 RandomWaypointMobilityModel::Speed")]
    pub max_speed: Speed,
    /// Pause at each point, including the first.
    #[param(basic, default = Span::from_secs(2), range = Span::ZERO..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "ns-3 RandomWaypointMobilityModel::Pause")]
    pub pause: Span,
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

/// A UE that moves between random points.
pub struct RandomWaypoint {
    params: Params,
    stream: Stream,
    /// Number of the current leg, its end points, departure and arrival.
    leg: u64,
    from: Point,
    to: Point,
    leaves: Time,
    arrives: Time,
}

impl RandomWaypoint {
    /// A UE that pauses at its first point.
    pub fn new(params: Params, start: Point, stream: Stream) -> Self {
        let mut way = RandomWaypoint {
            params,
            stream,
            leg: 0,
            from: start,
            to: start,
            leaves: Time::ZERO,
            arrives: Time::ZERO,
        };
        way.draw();
        way
    }

    /// Draws the next point and the speed towards it; the UE has just arrived at `from`.
    fn draw(&mut self) {
        let draw = |place: u64, [min, max]: [f64; 2]| uniform(self.stream, 3 * self.leg + place, min, max);
        let edges = |bounds: &[Metres; 2]| [bounds[0].0, bounds[1].0];
        let params = &self.params;
        self.to = [Metres(draw(0, edges(&params.x))), Metres(draw(1, edges(&params.y)))];
        let speed = Speed(draw(2, [params.min_speed.0, params.max_speed.0]));
        self.leaves = self.arrives + params.pause;
        self.arrives = self.leaves + travel_time(distance(self.from, self.to), speed);
    }
}

impl Mobility for RandomWaypoint {
    fn position(&mut self, now: Time) -> Point {
        while now >= self.arrives {
            self.from = self.to;
            self.leg += 1;
            self.draw();
        }
        let part = now.since(self.leaves).as_secs() / (self.arrives - self.leaves).as_secs();
        between(self.from, self.to, part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_begins_with_a_pause_and_is_straight() {
        let params = Params { pause: Span::from_secs(5), ..Params::default() };
        let start = [Metres(100.0), Metres(0.0)];
        let way = || RandomWaypoint::new(params.clone(), start, Stream::new(3, "mobility"));
        assert_eq!(way().position(Time(4_999_999_999)), start);
        let (to, leaves, arrives) = (way().to, way().leaves, way().arrives);
        let middle = Time((leaves.0 + arrives.0) / 2);
        let there = way().position(middle);
        assert!(distance(there, between(start, to, 0.5)).0 < 1e-6);
        assert_eq!(way().position(arrives), to);
        assert_eq!(way().position(arrives + Span::from_secs(4)), to);
    }
}

//! Trajectories of UEs.
//!
//! A position is a function of time and of the UE's own random stream, addressed by the number of the leg. It does not
//! depend on earlier queries or on the network.

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};

/// Mobility: movement of the UEs of a group from their initial positions.
#[family(name = "mobility", build = fn(start: Point, stream: Stream) -> Box<dyn Mobility>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Static(r#static::Params),
    ConstantVelocity(constant_velocity::Params),
    RandomWalk2d(random_walk_2d::Params),
    RandomWaypoint(random_waypoint::Params),
    Path(path::Params),
}

/// A point on the map: east and north of the origin.
pub type Point = [Metres; 2];

/// The trajectory of a UE.
pub trait Mobility: Send {
    /// Position of the UE. Times count from the start of the simulation and never decrease.
    fn position(&mut self, now: Time) -> Point;
    /// Whether the position can ever differ from the initial one.
    fn moves(&self) -> bool {
        true
    }
    /// Area in which the UE must start: minimum and maximum coordinate, east and north; `None`: anywhere.
    fn area(&self) -> Option<[[Metres; 2]; 2]> {
        None
    }
}

impl Spec {
    /// Checks an initial position.
    ///
    /// # Errors
    /// The key at fault and a message, if the position is outside the area of the model.
    pub fn check_start(&self, start: Point) -> Result<(), (&'static str, String)> {
        let area = self.build(start, Stream::new(0, "nothing is drawn")).area();
        for (axis, key, [min, max]) in area.into_iter().flat_map(|[x, y]| [(0, "x", x), (1, "y", y)]) {
            if !(min..=max).contains(&start[axis]) {
                let message = format!(
                    "a UE is placed at {key} = {}, outside {min}..{max}; a walk begins inside",
                    start[axis]
                );
                return Err((key, message));
            }
        }
        Ok(())
    }
}

fn check_speeds(min: Speed, max: Speed) -> Result<(), (&'static str, String)> {
    if min > max {
        return Err(("min_speed", format!("the lowest speed {min} exceeds the highest {max}")));
    }
    Ok(())
}

fn check_area(x: &[Metres; 2], y: &[Metres; 2]) -> Result<(), (&'static str, String)> {
    for (key, [min, max]) in [("x", x), ("y", y)] {
        if min >= max {
            return Err((key, format!("the area has no width: {min} is not below {max}")));
        }
    }
    Ok(())
}

/// The point at a fraction of the way between two points, 0 at the first.
fn between(from: Point, to: Point, part: f64) -> Point {
    [0, 1].map(|axis| Metres(from[axis].0 + part * (to[axis].0 - from[axis].0)))
}

fn distance(from: Point, to: Point) -> Metres {
    Metres(libm::hypot(to[0].0 - from[0].0, to[1].0 - from[1].0))
}

/// Travel time over a distance, at least a nanosecond, so that every leg ends after it begins.
fn travel_time(distance: Metres, speed: Speed) -> Span {
    Span::from_secs_f64(distance.0 / speed.0).max(Span(1))
}

/// A number uniform between `min` and `max`.
fn uniform(stream: Stream, position: u64, min: f64, max: f64) -> f64 {
    min + (max - min) * stream.at(position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_catalog::{Fault, Node, Param};
    use proptest::prelude::*;

    const START: Point = [Metres(10.0), Metres(-20.0)];

    fn spec(toml: &str) -> Spec {
        Spec::read(&Node::from_toml(toml, "test").unwrap()).unwrap()
    }

    fn path(toml: &str, seed: u64) -> Box<dyn Mobility> {
        spec(toml).build(START, Stream::new(seed, "mobility").child(3))
    }

    fn kinds() -> [&'static str; 5] {
        [
            "kind = \"static\"",
            "kind = \"constant-velocity\"\nspeed = \"20m/s\"\ndirection = \"90deg\"",
            "kind = \"random-walk-2d\"\nmax_speed = \"30m/s\"",
            "kind = \"random-waypoint\"\nmax_speed = \"30m/s\"\npause = \"200ms\"",
            "kind = \"path\"\npath = \"x.csv\"\nrows = [[0, 10, -20], [3, 13, -16], [3.5, 20, -16]]",
        ]
    }

    #[test]
    fn a_constant_velocity_is_kept() {
        let mut path = path(kinds()[1], 1);
        let [x, y] = path.position(Time(2_500_000_000));
        assert!((x.0 - 10.0).abs() < 1e-9 && (y.0 - 30.0).abs() < 1e-9, "{x} {y}");
    }

    #[test]
    fn only_static_ues_stay_in_place() {
        for toml in kinds() {
            let mut path = path(toml, 1);
            let moved = (1..100).any(|step| path.position(Time(step * 100_000_000)) != START);
            assert_eq!(moved, path.moves(), "{toml}");
        }
    }

    proptest! {
        /// Position does not depend on earlier queries.
        #[test]
        fn queries_do_not_change_the_trajectory(seed in 0u64..1000, mut times in prop::collection::vec(0u64..40_000, 0..30)) {
            times.sort_unstable();
            for toml in kinds() {
                let mut queried = path(toml, seed);
                for time in &times {
                    queried.position(Time(time * 1_000_000));
                }
                let end = Time(41_234_567_891);
                prop_assert_eq!(queried.position(end), path(toml, seed).position(end));
            }
        }

        /// No step is longer than the maximum speed allows, and random trajectories stay in their area.
        #[test]
        fn steps_are_bounded(seed in 0u64..1000) {
            for toml in &kinds()[2..4] {
                let mut path = path(toml, seed);
                let mut before = path.position(Time::ZERO);
                for step in 1..200u64 {
                    let now = path.position(Time(step * 250_000_000));
                    prop_assert!(distance(before, now).0 <= 30.0 * 0.25 + 1e-6, "{:?} {:?}", before, now);
                    prop_assert!(now.iter().all(|axis| axis.0.abs() <= 1000.0 + 1e-9));
                    before = now;
                }
            }
        }
    }

    #[test]
    fn contradictions_are_reported() {
        let contradiction = |toml: &str| spec(toml).check_values().unwrap_err();
        assert_eq!(
            contradiction("kind = \"random-walk-2d\"\nmin_speed = \"5m/s\""),
            Fault::new("min_speed", "the lowest speed 5m/s exceeds the highest 4m/s")
        );
        assert_eq!(
            contradiction("kind = \"random-waypoint\"\nx = [\"5m\", \"5m\"]"),
            Fault::new("x", "the area has no width: 5m is not below 5m")
        );
        assert_eq!(
            contradiction("kind = \"path\"\npath = \"x.csv\"\nrows = [[0, 0, 0], [0, 1, 0]]"),
            Fault::new("rows", "row 1: 0 s is not after the 0 s before it")
        );
        let outside = spec("kind = \"random-walk-2d\"\ny = [\"0m\", \"1km\"]").check_start(START);
        let message = "a UE is placed at y = -20m, outside 0m..1km; a walk begins inside";
        assert_eq!(outside, Err(("y", message.into())));
        for toml in kinds() {
            assert_eq!(spec(toml).check_values(), Ok(()), "{toml}");
            assert_eq!(spec(toml).check_start(START), Ok(()), "{toml}");
        }
    }
}

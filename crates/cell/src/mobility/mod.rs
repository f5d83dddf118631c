//! Where UEs go.
//!
//! A place is a function of time and of the UE's own random stream, addressed by the number of the leg: how often
//! somebody looks, and what the network does, changes no way.

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Metres, Span, Speed, Time};

/// Mobility: how the UEs of a group move from where they are placed.
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

/// A way over the map.
pub trait Mobility: Send {
    /// Where the UE is. Instants count from the start of the simulation and never run back.
    fn position(&mut self, now: Time) -> Point;
    /// Whether it may ever be elsewhere than at the start.
    fn moves(&self) -> bool {
        true
    }
    /// The area in which it has to start; none: anywhere. The least and the greatest coordinate, east and north.
    fn area(&self) -> Option<[[Metres; 2]; 2]> {
        None
    }
}

impl Spec {
    /// Whether a UE may be placed there: the key at fault, and what is wrong with it.
    ///
    /// # Errors
    /// A place outside the area that the UE moves in.
    pub fn check_start(&self, start: Point) -> Result<(), (&'static str, String)> {
        let area = self.build(start, Stream::new(0, "nothing is drawn")).area();
        for (axis, key, [least, most]) in area.into_iter().flat_map(|[x, y]| [(0, "x", x), (1, "y", y)]) {
            if !(least..=most).contains(&start[axis]) {
                let message = format!(
                    "a UE is placed at {key} = {}, outside {least}..{most}; a walk begins inside",
                    start[axis]
                );
                return Err((key, message));
            }
        }
        Ok(())
    }
}

fn check_speeds(least: Speed, most: Speed) -> Result<(), (&'static str, String)> {
    if least > most {
        return Err(("min_speed", format!("the lowest speed {least} exceeds the highest {most}")));
    }
    Ok(())
}

fn check_area(x: &[Metres; 2], y: &[Metres; 2]) -> Result<(), (&'static str, String)> {
    for (key, [least, most]) in [("x", x), ("y", y)] {
        if least >= most {
            return Err((key, format!("the area has no width: {least} is not below {most}")));
        }
    }
    Ok(())
}

/// The point a part of the way from one to another, 0 at the first.
fn between(from: Point, to: Point, part: f64) -> Point {
    [0, 1].map(|axis| Metres(from[axis].0 + part * (to[axis].0 - from[axis].0)))
}

fn distance(from: Point, to: Point) -> Metres {
    Metres(libm::hypot(to[0].0 - from[0].0, to[1].0 - from[1].0))
}

/// How long a distance takes, at least a nanosecond, so that every leg ends behind its beginning.
fn travel_time(distance: Metres, speed: Speed) -> Span {
    Span::from_secs_f64(distance.0 / speed.0).max(Span(1))
}

/// A number uniform between two.
fn uniform(stream: Stream, position: u64, least: f64, most: f64) -> f64 {
    least + (most - least) * stream.at(position)
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

    fn way(toml: &str, seed: u64) -> Box<dyn Mobility> {
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
        let mut way = way(kinds()[1], 1);
        let [x, y] = way.position(Time(2_500_000_000));
        assert!((x.0 - 10.0).abs() < 1e-9 && (y.0 - 30.0).abs() < 1e-9, "{x} {y}");
    }

    #[test]
    fn only_the_static_stand_still() {
        for toml in kinds() {
            let mut way = way(toml, 1);
            let moved = (1..100).any(|step| way.position(Time(step * 100_000_000)) != START);
            assert_eq!(moved, way.moves(), "{toml}");
        }
    }

    proptest! {
        /// Where somebody is does not depend on when somebody has looked before.
        #[test]
        fn looking_changes_no_way(seed in 0u64..1000, mut looks in prop::collection::vec(0u64..40_000, 0..30)) {
            looks.sort_unstable();
            for toml in kinds() {
                let mut watched = way(toml, seed);
                for look in &looks {
                    watched.position(Time(look * 1_000_000));
                }
                let end = Time(41_234_567_891);
                prop_assert_eq!(watched.position(end), way(toml, seed).position(end));
            }
        }

        /// No step is longer than the highest speed allows, and random ways stay in their area.
        #[test]
        fn steps_are_bounded(seed in 0u64..1000) {
            for toml in &kinds()[2..4] {
                let mut way = way(toml, seed);
                let mut before = way.position(Time::ZERO);
                for step in 1..200u64 {
                    let now = way.position(Time(step * 250_000_000));
                    prop_assert!(distance(before, now).0 <= 30.0 * 0.25 + 1e-6, "{:?} {:?}", before, now);
                    prop_assert!(now.iter().all(|axis| axis.0.abs() <= 1000.0 + 1e-9));
                    before = now;
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
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

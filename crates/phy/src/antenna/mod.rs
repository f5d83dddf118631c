//! Antenna patterns.

use super::Position;
use airwnd_catalog::family;
use airwnd_units::{Db, Degrees, Metres};

/// Antenna pattern: gain of a cell's antenna by direction.
#[family(name = "antenna", build = fn() -> Box<dyn Antenna>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Isotropic(isotropic::Params),
    Cosine(cosine::Params),
    Parabolic(parabolic::Params),
    Panel(panel::Params),
}

/// A radiation pattern, equal for transmission and reception.
pub trait Antenna: Send + Sync {
    /// The gain towards `direction`, relative to an isotropic antenna or to the pattern's maximum.
    fn gain(&self, direction: Bearing) -> Db;
}

/// Direction of a point as seen from an antenna.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bearing {
    /// Horizontal angle from the boresight, anticlockwise, in (-180, 180].
    pub azimuth: Degrees,
    /// Horizontal distance and height of a point in this direction: most antennas need no elevation.
    ground: Metres,
    height: Metres,
}

impl Bearing {
    /// A direction from its two angles.
    pub fn new(azimuth: Degrees, elevation: Degrees) -> Bearing {
        let height = Metres(libm::tan(elevation.0.to_radians()));
        Bearing { azimuth, ground: Metres(1.0), height }
    }

    /// Elevation above the horizon, -90 to 90.
    pub fn elevation(self) -> Degrees {
        Degrees(libm::atan2(self.height.0, self.ground.0).to_degrees())
    }

    /// The direction of `target` from an antenna at `site` with this boresight.
    pub fn towards(target: Position, site: Position, boresight: Degrees) -> Bearing {
        Bearing::of(target, site).relative_to(boresight)
    }

    /// The direction of `target` from a site, for an antenna with its boresight to the east.
    pub fn of(target: Position, site: Position) -> Bearing {
        Bearing::over(site.ground_distance(target), target, site)
    }

    /// The direction of `target` from a site, from the horizontal distance.
    pub fn over(ground: Metres, target: Position, site: Position) -> Bearing {
        let (x, y) = (target.x.0 - site.x.0, target.y.0 - site.y.0);
        Bearing {
            azimuth: Degrees(libm::atan2(y, x).to_degrees()),
            ground,
            height: Metres(target.z.0 - site.z.0),
        }
    }

    /// This direction for an antenna with this boresight.
    pub fn relative_to(self, boresight: Degrees) -> Bearing {
        Bearing { azimuth: wrapped(Degrees(self.azimuth.0 - boresight.0)), ..self }
    }
}

/// The equivalent angle in (-180, 180].
pub fn wrapped(angle: Degrees) -> Degrees {
    let turn = if angle.0.abs() < 360.0 { angle.0 } else { libm::fmod(angle.0, 360.0) };
    Degrees(match turn {
        over if over > 180.0 => over - 360.0,
        under if under <= -180.0 => under + 360.0,
        within => within,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_wrap_to_a_half_turn_either_way() {
        for (angle, same) in [(190.0, -170.0), (-180.0, 180.0), (540.0, 180.0), (-725.0, -5.0), (30.0, 30.0)]
        {
            assert_eq!(wrapped(Degrees(angle)), Degrees(same));
        }
    }

    #[test]
    fn direction_is_measured_from_the_boresight_and_the_horizon() {
        // north-east is straight behind an antenna with a boresight to the south-west (-135 deg)
        let site = Position::new(0.0, 0.0, 30.0);
        let back = Bearing::towards(Position::new(10.0, 10.0, 30.0), site, Degrees(-135.0));
        assert!((back.azimuth.0.abs() - 180.0).abs() < 1e-9);
        assert_eq!(back.elevation(), Degrees(0.0));
        // 30 m down at 30 m distance
        let down = Bearing::towards(Position::new(30.0, 0.0, 0.0), site, Degrees(0.0));
        assert!((down.elevation().0 + 45.0).abs() < 1e-9);
        assert_eq!(down.azimuth, Degrees(0.0));
    }
}

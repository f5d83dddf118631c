//! 3GPP's sector antenna pattern.

use super::{Antenna, Bearing};
use airwnd_catalog::Params;
use airwnd_units::{Db, Degrees};

/// Parabolic antenna: 3GPP's horizontal sector pattern, quadratic in decibels down to a maximum attenuation.
///
/// ```math
/// G = -\min(12 \, (\frac{\mathrm{azimuth}}{\mathrm{beamwidth}})^2, \mathrm{max\_attenuation})
/// ```
///
/// The pattern is horizontal only; elevation has no effect.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 25.814 Table A.2.1.1-2")]
pub struct Params {
    /// Half-power beamwidth.
    #[param(default = Degrees(70.0), range = Degrees(1.0)..=Degrees(180.0))]
    #[param(unit = "deg", source = "TR 25.814 Table A.2.1.1-2")]
    pub beamwidth: Degrees,
    /// Maximum attenuation (front-to-back ratio).
    #[param(default = Db(20.0), range = Db(0.0)..=Db(100.0))]
    #[param(unit = "dB", source = "TR 25.814 Table A.2.1.1-2")]
    pub max_attenuation: Db,
    /// Gain at boresight.
    //= exception antenna-gain-relative
    #[param(default = Db(0.0), range = Db(-100.0)..=Db(100.0))]
    #[param(unit = "dB", source = "pattern relative to its maximum, as in ns-3")]
    pub max_gain: Db,
}

/// A sector antenna.
#[derive(Clone, Debug)]
pub struct Parabolic {
    params: Params,
}

impl Parabolic {
    /// An antenna with these parameters.
    pub fn new(params: Params) -> Parabolic {
        Parabolic { params }
    }
}

impl Antenna for Parabolic {
    fn gain(&self, direction: Bearing) -> Db {
        let ratio = direction.azimuth.0 / self.params.beamwidth.0;
        self.params.max_gain - Db((12.0 * ratio * ratio).min(self.params.max_attenuation.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(azimuth: f64) -> f64 {
        let direction = Bearing::new(Degrees(azimuth), Degrees(-10.0));
        Parabolic::new(Params::default()).gain(direction).0
    }

    #[test]
    fn pattern_is_quadratic_down_to_the_floor() {
        // half the beamwidth: -12 (1/2)^2 = -3 dB; the beamwidth: -12 dB
        assert_eq!(gain(0.0), 0.0);
        assert_eq!(gain(35.0), -3.0);
        assert_eq!(gain(-70.0), -12.0);
        // the floor of 20 dB is reached at 70 sqrt(20/12) = 90.4 deg
        assert!(gain(90.0) > -20.0);
        assert_eq!(gain(91.0), -20.0);
        assert_eq!(gain(180.0), -20.0);
    }
}

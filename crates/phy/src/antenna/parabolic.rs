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
/// With `vertical_beamwidth` the pattern has a vertical part as well, with the beam below the horizon by `downtilt`:
///
/// ```math
/// A_V = \min(12 \, (\frac{-\mathrm{elevation} - \mathrm{downtilt}}{\mathrm{vertical\_beamwidth}})^2,
/// \mathrm{vertical\_attenuation})
/// ```
///
/// Both attenuations add up to at most `max_attenuation`. Without it elevation has no effect.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 25.814 Table A.2.1.1-2; TR 36.814 Table A.2.1.1-2")]
pub struct Params {
    /// Half-power beamwidth.
    #[param(basic, default = Degrees(70.0), range = Degrees(1.0)..=Degrees(180.0))]
    #[param(unit = "deg", source = "TR 25.814 Table A.2.1.1-2")]
    pub beamwidth: Degrees,
    /// Maximum attenuation (front-to-back ratio).
    #[param(default = Db(20.0), range = Db(0.0)..=Db(100.0))]
    #[param(unit = "dB", source = "TR 25.814 Table A.2.1.1-2")]
    pub max_attenuation: Db,
    /// Vertical half-power beamwidth; `none`: elevation has no effect.
    #[param(default = None, range = Degrees(1.0)..=Degrees(180.0))]
    #[param(unit = "deg", source = "TR 25.814 has none; TR 36.814 Table A.2.1.1-2: 10°")]
    pub vertical_beamwidth: Option<Degrees>,
    /// Maximum attenuation of the vertical pattern.
    #[param(default = Db(20.0), range = Db(0.0)..=Db(100.0))]
    #[param(unit = "dB", source = "TR 36.814 Table A.2.1.1-2, SLA_v")]
    pub vertical_attenuation: Db,
    /// Electrical downtilt of the vertical pattern.
    #[param(default = Degrees(15.0), range = Degrees(-90.0)..=Degrees(90.0))]
    #[param(unit = "deg", source = "TR 36.814 Table A.2.1.1-2, case 1; 6° in case 3")]
    pub downtilt: Degrees,
    /// Gain at boresight.
    //= exception antenna-gain-relative
    #[param(basic, default = Db(0.0), range = Db(-100.0)..=Db(100.0))]
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
        let max = self.params.max_attenuation.0;
        let horizontal = (12.0 * ratio * ratio).min(max);
        let attenuation = self.params.vertical_beamwidth.map_or(horizontal, |beamwidth| {
            let ratio = (-direction.elevation().0 - self.params.downtilt.0) / beamwidth.0;
            (horizontal + (12.0 * ratio * ratio).min(self.params.vertical_attenuation.0)).min(max)
        });
        self.params.max_gain - Db(attenuation)
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

    /// TR 36.814 Table A.2.1.1-2, case 1.
    #[test]
    fn the_vertical_pattern_adds_up_to_the_maximum_attenuation() {
        let params = Params {
            max_attenuation: Db(25.0),
            vertical_beamwidth: Some(Degrees(10.0)),
            max_gain: Db(14.0),
            ..Params::default()
        };
        let gain = |azimuth: f64, elevation: f64| {
            Parabolic::new(params.clone()).gain(Bearing::new(Degrees(azimuth), Degrees(elevation))).0
        };
        for (azimuth, elevation, expected) in [
            (0.0, -15.0, 14.0),
            (0.0, -10.0, 11.0),
            (0.0, -20.0, 11.0),
            (35.0, -10.0, 8.0),
            (0.0, 20.0, -6.0),
            (35.0, 20.0, -9.0),
            (60.0, 20.0, -11.0),
            (180.0, -15.0, -11.0),
        ] {
            let found = gain(azimuth, elevation);
            assert!((found - expected).abs() < 1e-9, "{azimuth} {elevation}: {found}");
        }
    }
}

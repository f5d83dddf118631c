//! Cosine power pattern.

use super::{Antenna, Bearing};
use airwnd_catalog::Params;
use airwnd_units::{Db, Degrees};

/// Cosine antenna: power pattern cos(angle / 2)^(2n) in each plane, with n set by the half-power beamwidth.
///
/// In each plane the gain is 3 dB below the maximum at half the beamwidth:
///
/// ```math
/// n = \frac{-3}{20 \, \mathrm{log}_{10}(\mathrm{cos}(\mathrm{beamwidth} / 4))}
/// ```
///
/// A beamwidth of 360 degrees gives a constant pattern.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 CosineAntennaModel")]
pub struct Params {
    /// Horizontal half-power beamwidth.
    #[param(basic, default = Degrees(120.0), range = Degrees(1.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "ns-3 CosineAntennaModel")]
    pub horizontal_beamwidth: Degrees,
    /// Vertical half-power beamwidth.
    #[param(default = Degrees(360.0), range = Degrees(1.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "ns-3 CosineAntennaModel")]
    pub vertical_beamwidth: Degrees,
    /// Gain at boresight.
    #[param(basic, default = Db(0.0), range = Db(-100.0)..=Db(100.0))]
    #[param(unit = "dB", source = "ns-3 CosineAntennaModel")]
    pub max_gain: Db,
}

/// A cosine antenna.
#[derive(Clone, Debug)]
pub struct Cosine {
    max_gain: Db,
    horizontal: f64,
    vertical: f64,
}

impl Cosine {
    /// An antenna with these parameters.
    pub fn new(params: Params) -> Cosine {
        Cosine {
            max_gain: params.max_gain,
            horizontal: exponent(params.horizontal_beamwidth),
            vertical: exponent(params.vertical_beamwidth),
        }
    }
}

/// Below the back lobe of any real antenna, and still a valid number after all other losses.
const MIN_GAIN: Db = Db(-500.0);

/// The exponent n with which the pattern is 3 dB down at half the beamwidth.
fn exponent(beamwidth: Degrees) -> f64 {
    if beamwidth.0 >= 360.0 {
        return 0.0;
    }
    -3.0 / (20.0 * libm::log10(libm::cos(beamwidth.0.to_radians() / 4.0)))
}

/// 20 n log10(cos(a/2)); the constant pattern has no loss even where the cosine is zero.
fn pattern(angle: impl FnOnce() -> Degrees, exponent: f64) -> Db {
    if exponent == 0.0 {
        return Db(0.0);
    }
    // At 180 degrees, rounding could give a cosine of minus 1e-17, which has no logarithm.
    let cosine = libm::cos(angle().0.to_radians() / 2.0).max(f64::MIN_POSITIVE);
    // Behind a narrow beam the formula falls below the range of a power in milliwatts.
    Db((20.0 * exponent * libm::log10(cosine)).max(MIN_GAIN.0))
}

impl Antenna for Cosine {
    fn gain(&self, direction: Bearing) -> Db {
        self.max_gain
            + pattern(|| direction.azimuth, self.horizontal)
            + pattern(|| direction.elevation(), self.vertical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(azimuth: f64) -> Bearing {
        Bearing::new(Degrees(azimuth), Degrees(0.0))
    }

    #[test]
    fn half_power_lies_at_half_the_beamwidth() {
        // 120 deg: n = -3 / (20 log10(cos 30 deg)) = 2.4012; at 60 deg 20 n log10(cos 30 deg) = -3 dB
        let antenna = Cosine::new(Params::default());
        assert!((antenna.horizontal - 2.4012).abs() < 1e-4);
        assert!((antenna.gain(at(60.0)).0 + 3.0).abs() < 1e-12);
        assert_eq!(antenna.gain(at(-60.0)), antenna.gain(at(60.0)));
        assert_eq!(antenna.gain(at(0.0)), Db(0.0));
    }

    #[test]
    fn gain_falls_away_from_the_boresight_and_stays_finite_behind() {
        let antenna = Cosine::new(Params::default());
        let gains: Vec<f64> = (0..=180).map(|a| antenna.gain(at(f64::from(a))).0).collect();
        assert!(gains.windows(2).all(|pair| pair[1] < pair[0]));
        assert!(gains[180].is_finite() && gains[180] < -100.0);
    }

    #[test]
    fn a_narrow_beam_stays_finite_behind() {
        let params = Params { horizontal_beamwidth: Degrees(1.0), ..Params::default() };
        assert_eq!(Cosine::new(params).gain(at(180.0)), MIN_GAIN);
    }

    #[test]
    fn both_planes_add_in_decibels() {
        let params = Params { vertical_beamwidth: Degrees(30.0), max_gain: Db(18.0), ..Params::default() };
        let corner = Bearing::new(Degrees(60.0), Degrees(-15.0));
        // 18 - 3 - 3
        assert!((Cosine::new(params).gain(corner).0 - 12.0).abs() < 1e-9);
    }
}

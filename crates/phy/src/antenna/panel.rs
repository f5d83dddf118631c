//! 3GPP's panel of antenna elements.

use super::{Antenna, Bearing, wrapped};
use airwnd_catalog::Params;
use airwnd_units::{Db, Degrees};
use std::f64::consts::PI;

/// Panel: a rectangular array of elements of TR 38.901, all of which send one port, with electrical and mechanical downtilt.
///
/// The gain of an element, at the azimuth φ and the zenith angle θ in the panel's coordinates:
///
/// ```math
/// A = G - \min(\min(12 \, (\frac{\phi}{\mathrm{beamwidth}})^2, A_{\max}) + \min(12 \, (\frac{\theta - 90°}
/// {\mathrm{vertical\_beamwidth}})^2, A_{\max}), A_{\max})
/// ```
///
/// The rows have weights of equal magnitude whose phases steer the beam below the horizon by `downtilt`, and add up to at
/// most the number of rows in power; so do the columns, which are in phase.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "TR 38.901 §7.3, Table 7.3-1; TR 36.897 §5.2.2, sub-array partition with one-dimensional weights"
)]
pub struct Params {
    /// Rows of elements, M.
    #[param(basic, default = 10, range = 1..=64, unit = "1", source = "TR 38.901 Table 7.8-1: 10")]
    pub rows: u16,
    /// Columns of elements, N.
    #[param(basic, default = 1, range = 1..=64, unit = "1", source = "TR 38.901 Table 7.8-1: 1")]
    pub columns: u16,
    /// Distance between rows in wavelengths.
    #[param(default = 0.5, range = 0.1..=10.0, unit = "wavelengths", source = "TR 38.901 Table 7.8-1")]
    pub row_spacing: f64,
    /// Distance between columns in wavelengths.
    #[param(default = 0.5, range = 0.1..=10.0, unit = "wavelengths", source = "TR 38.901 Table 7.8-1")]
    pub column_spacing: f64,
    /// Electrical downtilt: the beam's angle below the panel's horizon.
    #[param(basic, default = Degrees(12.0), range = Degrees(-90.0)..=Degrees(90.0))]
    #[param(unit = "deg", source = "TR 38.901 Table 7.8-1: 102° from the zenith in UMa and UMi")]
    pub downtilt: Degrees,
    /// Mechanical downtilt, of the whole panel.
    #[param(default = Degrees(0.0), range = Degrees(-90.0)..=Degrees(90.0))]
    #[param(unit = "deg", source = "TR 38.901 §7.1.3, the angle β; a choice: none")]
    pub mechanical_downtilt: Degrees,
    /// Horizontal half-power beamwidth of an element.
    #[param(default = Degrees(65.0), range = Degrees(1.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "TR 38.901 Table 7.3-1")]
    pub beamwidth: Degrees,
    /// Vertical half-power beamwidth of an element.
    #[param(default = Degrees(65.0), range = Degrees(1.0)..=Degrees(360.0))]
    #[param(unit = "deg", source = "TR 38.901 Table 7.3-1")]
    pub vertical_beamwidth: Degrees,
    /// Maximum attenuation of an element, in each plane and in all.
    #[param(default = Db(30.0), range = Db(0.0)..=Db(100.0))]
    #[param(unit = "dB", source = "TR 38.901 Table 7.3-1")]
    pub max_attenuation: Db,
    /// Gain of an element in its direction.
    #[param(default = Db(8.0), range = Db(-100.0)..=Db(100.0))]
    #[param(unit = "dB", source = "TR 38.901 Table 7.3-1, G_E,max")]
    pub element_gain: Db,
}

/// A panel.
#[derive(Clone, Debug)]
pub struct Panel {
    params: Params,
    /// Sine and cosine of the mechanical downtilt.
    tilt: [f64; 2],
    /// Sine of the electrical downtilt.
    steered: f64,
}

/// Minimum power of the array over that of an element: in its zeros, which no real array has.
// 1e-6 of the power in the main lobe of a hundred elements is 40 dB below an element.
const MIN: f64 = 1e-4;

impl Panel {
    /// A panel with these parameters.
    pub fn new(params: Params) -> Panel {
        let [tilt, steered] = [params.mechanical_downtilt, params.downtilt].map(|angle| angle.0.to_radians());
        Panel { tilt: [libm::sin(tilt), libm::cos(tilt)], steered: libm::sin(steered), params }
    }
}

/// Power of elements in a line with weights of equal magnitude and power 1 in all, over that of one element. The phase
/// between neighbours is 2π times `turns`.
fn array_factor(elements: u16, turns: f64) -> f64 {
    let (count, half) = (f64::from(elements), PI * turns);
    let sine = libm::sin(half);
    // The limit, where both sines are zero.
    if sine.abs() < 1e-9 {
        return count;
    }
    let ratio = libm::sin(count * half) / sine;
    ratio * ratio / count
}

impl Antenna for Panel {
    //= TR 38.901 §7.3
    //= TR 38.901 §7.1.3
    fn gain(&self, direction: Bearing) -> Db {
        let Params { rows, columns, row_spacing, column_spacing, beamwidth, vertical_beamwidth, .. } =
            self.params;
        let max = self.params.max_attenuation.0;
        let (azimuth, elevation) = (direction.azimuth.0.to_radians(), direction.elevation().0.to_radians());
        // Forward, left and up in the coordinates of the panel.
        let level = libm::cos(elevation);
        let (ahead, left, up) =
            (level * libm::cos(azimuth), level * libm::sin(azimuth), libm::sin(elevation));
        let [sine, cosine] = self.tilt;
        let (ahead, up) = (ahead * cosine - up * sine, ahead * sine + up * cosine);
        let horizontal = wrapped(Degrees(libm::atan2(left, ahead).to_degrees())).0 / beamwidth.0;
        let vertical = libm::asin(up.clamp(-1.0, 1.0)).to_degrees() / vertical_beamwidth.0;
        let [horizontal, vertical] = [horizontal, vertical].map(|ratio| (12.0 * ratio * ratio).min(max));
        let array = array_factor(rows, row_spacing * (up + self.steered))
            * array_factor(columns, column_spacing * left);
        self.params.element_gain - Db((horizontal + vertical).min(max)) + Db::from_linear(array.max(MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(params: Params, azimuth: f64, elevation: f64) -> f64 {
        Panel::new(params).gain(Bearing::new(Degrees(azimuth), Degrees(elevation))).0
    }

    #[test]
    fn an_element_has_the_pattern_of_the_report() {
        let element = |azimuth, elevation| {
            gain(Params { rows: 1, downtilt: Degrees(0.0), ..Params::default() }, azimuth, elevation)
        };
        assert!((element(0.0, 0.0) - 8.0).abs() < 1e-9);
        // 3 dB at half the beamwidth in each plane, both planes added
        assert!((element(32.5, 0.0) - 5.0).abs() < 1e-9 && (element(0.0, -32.5) - 5.0).abs() < 1e-9);
        assert!((element(-32.5, 32.5) - 2.0).abs() < 1e-9);
        assert!((element(180.0, 0.0) + 22.0).abs() < 1e-9 && (element(180.0, -60.0) + 22.0).abs() < 1e-9);
    }

    #[test]
    fn rows_add_up_in_the_direction_of_the_downtilt() {
        // 10 dB of ten rows, less the element's loss of 12 (12 / 65)^2 dB
        let main = gain(Params::default(), 0.0, -12.0);
        assert!((main - (18.0 - 12.0 * (12.0f64 / 65.0).powi(2))).abs() < 1e-9, "{main}");
        // 0.5 wavelengths: the first zero where 5 (sin e + sin 12°) = 1, sin e = -0.0079
        let zero = gain(Params::default(), 0.0, -0.4535);
        assert!((zero - (8.0 - 40.0)).abs() < 0.2, "{zero}");
        // The mean power over all directions of the sine of the elevation is that of an element: no gain is created.
        let mean: f64 =
            (0..2000).map(|step| array_factor(10, 0.5 * (f64::from(step) / 1000.0 - 1.0 + 0.2))).sum();
        assert!((mean / 2000.0 - 1.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn a_mechanical_downtilt_turns_the_panel() {
        let tilted = |azimuth, elevation| {
            let params =
                Params { downtilt: Degrees(0.0), mechanical_downtilt: Degrees(12.0), ..Params::default() };
            gain(params, azimuth, elevation)
        };
        assert!((tilted(0.0, -12.0) - 18.0).abs() < 1e-9);
        // Behind the panel the beam is above the horizon.
        assert!(tilted(180.0, 12.0) > tilted(180.0, -12.0) + 3.0);
    }

    #[test]
    fn columns_narrow_the_beam() {
        let wide = gain(Params::default(), 20.0, -12.0);
        let narrow = gain(Params { columns: 8, ..Params::default() }, 20.0, -12.0);
        assert!(
            (gain(Params { columns: 8, ..Params::default() }, 0.0, -12.0)
                - gain(Params::default(), 0.0, -12.0)
                - 9.0309)
                .abs()
                < 1e-3
        );
        assert!(narrow < wide - 4.0, "{narrow} {wide}");
    }
}

//! 3GPP urban macro cell.

use super::{LinkGeometry, Propagation, friis};
use airwnd_catalog::Params;
use airwnd_units::{Db, Metres};

/// Urban macro: 3GPP's macro-cell model with antennas above rooftops, 128.1 + 37.6 log10(d / 1 km) dB at 2 GHz.
///
/// ```math
/// \mathit{PL} = 40 (1 - 0.004 h) \mathrm{log}_{10}(d) - 18 \, \mathrm{log}_{10}(h) + 21 \, \mathrm{log}_{10}(f) + 80
/// ```
///
/// in dB, with the distance d in km, the height h of the antennas above the rooftops in m and the frequency f in MHz.
/// The loss is at least that of free space.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 36.942 §4.5.2, macro cell propagation model, urban area")]
pub struct Params {
    /// Height of the cell's antennas above the rooftops.
    #[param(basic, default = Metres(15.0), range = Metres(1.0)..=Metres(50.0))]
    #[param(unit = "m", source = "TR 36.942 §4.5.2")]
    pub above_roofs: Metres,
}

/// Free-space loss over 1 km at 1 MHz in dB, if that is more than zero: 20 log10(4 pi 1e9 / c).
const FREE_SPACE: f64 = 32.45;

/// Path loss in a macro cell.
#[derive(Clone, Debug)]
pub struct UrbanMacro {
    /// Loss per decade of distance, and that of the height, in dB.
    slope: f64,
    of_height: f64,
    free_space: friis::Friis,
}

impl UrbanMacro {
    /// A model with these parameters.
    pub fn new(params: Params) -> UrbanMacro {
        let height = params.above_roofs.0;
        UrbanMacro {
            slope: 40.0 * (1.0 - 0.004 * height),
            of_height: 18.0 * libm::log10(height),
            free_space: friis::Friis::new(friis::Params {}),
        }
    }
}

impl Propagation for UrbanMacro {
    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let [km, mhz] = [link.distance().0 / 1e3, link.frequency.0 / 1e6].map(libm::log10);
        let loss = self.slope * km - self.of_height + 21.0 * mhz + 80.0;
        // Mostly free space clearly has less, and is not computed more precisely.
        let is_more = loss > (20.0 * (km + mhz) + FREE_SPACE).max(0.0) + 0.01;
        Db(if is_more { loss } else { loss.max(self.free_space.path_loss(link).0) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::Position;
    use airwnd_units::Hertz;

    fn loss(distance: f64) -> f64 {
        let (a, b) = (Position::default(), Position::new(distance, 0.0, 0.0));
        UrbanMacro::new(Params::default()).path_loss(&LinkGeometry::new(a, b, Hertz(2e9), Draws::MEDIAN)).0
    }

    #[test]
    fn loss_is_that_of_the_report() {
        // TR 36.942 §4.5.2 for 2 GHz and 15 m: 128.1 + 37.6 log10(R)
        assert!((loss(1000.0) - 128.1).abs() < 0.06, "{}", loss(1000.0));
        assert!((loss(500.0) - loss(1000.0) - 37.6 * libm::log10(0.5)).abs() < 1e-9);
    }

    #[test]
    fn loss_is_the_higher_one_of_both_models() {
        for above_roofs in [1.0, 15.0, 50.0].map(Metres) {
            let macro_cell = UrbanMacro::new(Params { above_roofs });
            for (step, mhz) in (0..400).flat_map(|step| [450.0, 2000.0, 3500.0].map(|mhz| (step, mhz))) {
                let end = Position::new(libm::pow(10.0, f64::from(step) / 80.0 - 1.0), 0.0, 0.0);
                let link = LinkGeometry::new(Position::default(), end, Hertz(mhz * 1e6), Draws::MEDIAN);
                let report = 40.0 * (1.0 - 0.004 * above_roofs.0) * libm::log10(link.distance().0 / 1e3)
                    - 18.0 * libm::log10(above_roofs.0)
                    + 21.0 * libm::log10(mhz)
                    + 80.0;
                let free_space = friis::Friis::new(friis::Params {}).path_loss(&link).0;
                assert_eq!(macro_cell.path_loss(&link).0, report.max(free_space), "{step}, {mhz} MHz");
            }
        }
    }

    #[test]
    fn loss_is_never_below_that_of_free_space() {
        // 10 m: 128.1 - 75.2 = 52.9 dB, free space 20 log10(4 pi x 10 m x 2e9 / 299792458) = 58.47 dB
        assert!((loss(10.0) - 58.47).abs() < 0.01, "{}", loss(10.0));
        assert_eq!(loss(0.0), 0.0);
    }
}

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
    #[param(default = Metres(15.0), range = Metres(1.0)..=Metres(50.0))]
    #[param(unit = "m", source = "TR 36.942 §4.5.2")]
    pub above_roofs: Metres,
}

/// Path loss in a macro cell.
#[derive(Clone, Debug)]
pub struct UrbanMacro {
    params: Params,
    free_space: friis::Friis,
}

impl UrbanMacro {
    /// A model with these parameters.
    pub fn new(params: Params) -> UrbanMacro {
        UrbanMacro { params, free_space: friis::Friis::new(friis::Params {}) }
    }
}

impl Propagation for UrbanMacro {
    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let height = self.params.above_roofs.0;
        let (km, mhz) = (link.distance().0 / 1e3, link.frequency.0 / 1e6);
        let loss = 40.0 * (1.0 - 0.004 * height) * libm::log10(km) - 18.0 * libm::log10(height)
            + 21.0 * libm::log10(mhz)
            + 80.0;
        Db(loss.max(self.free_space.path_loss(link).0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::phy::Position;
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
    fn loss_is_never_below_that_of_free_space() {
        // 10 m: 128.1 - 75.2 = 52.9 dB, free space 20 log10(4 pi x 10 m x 2e9 / 299792458) = 58.47 dB
        assert!((loss(10.0) - 58.47).abs() < 0.01, "{}", loss(10.0));
        assert_eq!(loss(0.0), 0.0);
    }
}

//! Free-space path loss.

use super::{LinkGeometry, Propagation, wavelength};
use airwnd_catalog::Params;
use airwnd_units::Db;

/// Friis: free-space path loss between isotropic antennas.
///
/// ```math
/// \mathit{PL} = 20 \, \mathrm{log}_{10}(\frac{4 \pi d}{\lambda})
/// ```
///
/// lambda is the wavelength. There is no gain at distances below lambda / (4 pi).
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Friis: A Note on a Simple Transmission Formula, Proc. IRE 34, 1946")]
pub struct Params {}

/// Free-space loss.
#[derive(Clone, Debug)]
pub struct Friis;

impl Friis {
    /// A model without parameters.
    pub fn new(_params: Params) -> Friis {
        Friis
    }
}

impl Propagation for Friis {
    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let ratio = 4.0 * std::f64::consts::PI * link.distance().0 / wavelength(link.frequency).0;
        Db(20.0 * libm::log10(ratio.max(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::Position;
    use airwnd_units::Hertz;

    fn loss(distance: f64) -> f64 {
        let a = Position::new(0.0, 0.0, 10.0);
        let b = Position::new(distance, 0.0, 10.0);
        Friis.path_loss(&LinkGeometry::new(a, b, Hertz(2.12e9), Draws::MEDIAN)).0
    }

    #[test]
    fn loss_is_that_of_the_formula() {
        // 20 log10(4 pi x 1000 m x 2.12e9 / 299792458) = 98.9745 dB
        assert!((loss(1000.0) - 98.9745).abs() < 1e-4, "{}", loss(1000.0));
        // twice the distance costs 20 log10(2) = 6.0206 dB
        assert!((loss(2000.0) - loss(1000.0) - 6.0206).abs() < 1e-4);
        assert_eq!(loss(0.0), 0.0);
    }
}

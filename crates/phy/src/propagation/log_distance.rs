//! Log-distance path loss.

use super::{LinkGeometry, Propagation};
use airwnd_catalog::Params;
use airwnd_units::{Db, Metres};

/// Log-distance: path loss grows with a power of distance beyond a reference distance.
///
/// ```math
/// \mathit{PL} = L_0 + 10 n \, \mathrm{log}_{10}(\frac{d}{d_0})
/// ```
///
/// L_0 is `reference_loss`, d_0 `reference_distance` and n the `exponent`. Within the reference distance the loss is
/// `reference_loss`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Rappaport: Wireless Communications, eq. 4.67")]
pub struct Params {
    /// Path loss exponent: 2 in free space, 3 to 5 in cities.
    #[param(basic, default = 3.0, range = 1.0..=10.0, unit = "1", source = "Rappaport Table 4.2, urban area")]
    pub exponent: f64,
    /// Distance to which the reference loss applies.
    #[param(default = Metres(1.0), range = Metres(0.001)..=Metres(1e5))]
    #[param(unit = "m", source = "ns-3 LogDistancePropagationLossModel")]
    pub reference_distance: Metres,
    /// Loss at the reference distance.
    #[param(default = Db(38.97), range = Db(0.0)..=Db(300.0))]
    #[param(unit = "dB", source = "Friis at 1 m and 2.12 GHz")]
    pub reference_loss: Db,
}

/// Log-distance loss.
#[derive(Clone, Debug)]
pub struct LogDistance {
    params: Params,
}

impl LogDistance {
    /// A model with these parameters.
    pub fn new(params: Params) -> LogDistance {
        LogDistance { params }
    }
}

impl Propagation for LogDistance {
    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let ratio = (link.distance().0 / self.params.reference_distance.0).max(1.0);
        self.params.reference_loss + Db(10.0 * self.params.exponent * libm::log10(ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::Position;
    use airwnd_units::Hertz;

    #[test]
    fn ten_times_the_distance_costs_ten_times_the_exponent() {
        let loss = |distance: f64| {
            let (a, b) = (Position::default(), Position::new(distance, 0.0, 0.0));
            LogDistance::new(Params::default())
                .path_loss(&LinkGeometry::new(a, b, Hertz(2e9), Draws::MEDIAN))
                .0
        };
        // 38.97 + 10 x 3 x log10(100) = 98.97
        assert!((loss(100.0) - 98.97).abs() < 1e-9);
        assert!((loss(1000.0) - loss(100.0) - 30.0).abs() < 1e-9);
        assert_eq!(loss(0.5), 38.97);
    }
}

//! Constant gain.

use super::{Antenna, Bearing};
use airwnd_catalog::Params;
use airwnd_units::Db;

/// Isotropic antenna: the same gain in every direction.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Balanis: Antenna Theory, section 2.5")]
pub struct Params {
    /// Gain.
    #[param(basic)]
    #[param(default = Db(0.0), range = Db(-100.0)..=Db(100.0), unit = "dB", source = "definition of dBi")]
    pub gain: Db,
}

/// An isotropic antenna.
#[derive(Clone, Debug)]
pub struct Isotropic {
    params: Params,
}

impl Isotropic {
    /// An antenna with these parameters.
    pub fn new(params: Params) -> Isotropic {
        Isotropic { params }
    }
}

impl Antenna for Isotropic {
    fn gain(&self, _direction: Bearing) -> Db {
        self.params.gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_units::Degrees;

    #[test]
    fn gain_does_not_depend_on_direction() {
        let antenna = Isotropic::new(Params { gain: Db(2.0) });
        let back = Bearing::new(Degrees(180.0), Degrees(-20.0));
        assert_eq!(antenna.gain(back), antenna.gain(Bearing::default()));
        assert_eq!(antenna.gain(back), Db(2.0));
    }
}

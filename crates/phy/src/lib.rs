//! Physical layer of LTE and NR: path loss, antennas, link budget, link adaptation and block errors, and what differs
//! between the two ([`access`]), all as pure functions and tables. It knows no cell and no UE.

pub mod access;
pub mod amc;
pub mod antenna;
pub mod bit_channel;
pub mod blockage;
pub mod capacity;
mod carrier;
mod component;
pub mod error_model;
pub mod fading;
pub mod link_budget;
pub mod mimo;
pub mod nr;
pub mod propagation;
pub mod shadowing;
pub mod tables;

pub use carrier::{Bandwidth, Carrier, MAX_CARRIERS, SecondaryCarrier};
pub use component::ComponentCarrier;

use airwnd_units::{Db, Metres};

/// A modulation and coding scheme index, 0 to 28 (TS 36.213 Table 7.1.7.1-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mcs(pub u8);

/// A channel quality indicator, 0 (out of range) to 15 (TS 36.213 Table 7.2.3-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cqi(pub u8);

/// A number of physical resource blocks, 0 to 110.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prbs(pub u16);

impl Mcs {
    /// The highest MCS with its own transport block size.
    pub const MAX: Mcs = Mcs(28);

    /// All MCSs, lowest first.
    pub fn all() -> impl Iterator<Item = Mcs> {
        (0..=Mcs::MAX.0).map(Mcs)
    }
}

impl Cqi {
    /// No MCS meets the target error rate.
    pub const OUT_OF_RANGE: Cqi = Cqi(0);
    /// The best channel that can be reported.
    pub const MAX: Cqi = Cqi(15);
}

/// Modulation and code rate of a transmission: all that an error model needs to know of an MCS.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scheme {
    /// Modulation.
    pub modulation: tables::Modulation,
    /// Nominal code rate, 0 to 1: bits of the block with its CRC per coded bit.
    pub rate: f64,
}

impl Scheme {
    /// Information bits per modulation symbol.
    pub fn efficiency(self) -> f64 {
        f64::from(self.modulation.order()) * self.rate
    }
}

/// A point in space; `z` is the height above ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East.
    pub x: Metres,
    /// North.
    pub y: Metres,
    /// Up.
    pub z: Metres,
}

impl Position {
    /// A point from its coordinates in metres.
    pub const fn new(x: f64, y: f64, z: f64) -> Position {
        Position { x: Metres(x), y: Metres(y), z: Metres(z) }
    }

    /// The distance to `other` in space, including heights.
    pub fn distance(self, other: Position) -> Metres {
        self.distance_over(self.ground_distance(other), other)
    }

    /// The distance to `other` in space, from the horizontal distance.
    pub fn distance_over(self, ground: Metres, other: Position) -> Metres {
        Metres(libm::hypot(ground.0, other.z.0 - self.z.0))
    }

    /// The nearest to `other` of the copies of this point, which are moved by these vectors; without any, the point itself.
    pub fn nearest_copy(self, copies: &[[Metres; 2]], other: Position) -> Position {
        let moved = |[x, y]: &[Metres; 2]| Position { x: self.x + *x, y: self.y + *y, z: self.z };
        let distance = |place: Position| {
            let (east, north) = (place.x.0 - other.x.0, place.y.0 - other.y.0);
            east * east + north * north
        };
        let nearer =
            |best: Position, copy: Position| if distance(copy) < distance(best) { copy } else { best };
        copies.iter().map(moved).fold(self, nearer)
    }

    /// The horizontal distance to `other`.
    pub fn ground_distance(self, other: Position) -> Metres {
        Metres(libm::hypot(other.x.0 - self.x.0, other.y.0 - self.y.0))
    }
}

/// The signal to interference and noise ratio over the resource blocks of a transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sinr<'a> {
    /// One ratio on every block: a channel without fading and with uniform interference.
    Flat(Db),
    /// Groups of blocks, each with its own ratio.
    Groups(&'a [(Db, Prbs)]),
    /// Groups of blocks on several layers, each with this gain.
    Layers(&'a [(Db, Prbs)], &'a [Db]),
}

impl Sinr<'_> {
    /// The mean of a function of the ratio over all resource blocks and layers; zero without blocks.
    pub fn mean(&self, function: impl Fn(Db) -> f64) -> f64 {
        match self {
            Sinr::Flat(sinr) => function(*sinr),
            Sinr::Groups(groups) => mean(groups, function),
            Sinr::Layers(groups, gains) => {
                let layer = |gain: &Db| mean(groups, |sinr| function(sinr + *gain));
                gains.iter().map(layer).sum::<f64>() / gains.len() as f64
            }
        }
    }
}

/// The mean of a function of the ratio over the blocks of all groups; zero without blocks.
fn mean(groups: &[(Db, Prbs)], function: impl Fn(Db) -> f64) -> f64 {
    let (sum, blocks) = groups.iter().fold((0.0, 0.0), |(sum, blocks), (sinr, prbs)| {
        (sum + f64::from(prbs.0) * function(*sinr), blocks + f64::from(prbs.0))
    });
    if blocks > 0.0 { sum / blocks } else { 0.0 }
}

/// SINR above which no control channel is lost: the end of the curve of 3GPP R4-081920, as in ns-3 LENA.
pub const CONTROL_CURVE_END: Db = Db(-1.0);
/// [`CONTROL_CURVE_END`] as a ratio.
pub const CONTROL_CURVE_END_LINEAR: f64 = 0.794_328_234_724_281_5;

/// The probability that PCFICH and PDCCH are not decoded.
///
/// Q((SINR + 8 dB) / 2.42 dB): a fit to the curve of 3GPP R4-081920, within 0.04 from -9 dB on. The curve ends with
/// 0.2 %.
//= exception control-error-curve
pub fn control_error(sinr: Db) -> f64 {
    if sinr > CONTROL_CURVE_END {
        return 0.0;
    }
    0.5 * libm::erfc((sinr.0 + 8.0) / (2.42 * core::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_pythagoras_in_space() {
        // sqrt(3^2 + 4^2 + 12^2) = 13
        let (a, b) = (Position::new(1.0, 1.0, 1.0), Position::new(4.0, 5.0, 13.0));
        assert_eq!(a.distance(b), Metres(13.0));
        assert_eq!(a.ground_distance(b), Metres(5.0));
    }

    #[test]
    fn control_channels_fail_as_in_r4_081920() {
        for (sinr, probability) in
            [(-9.0, 0.694), (-8.0, 0.521), (-6.0, 0.206), (-4.0, 0.0455), (-2.0, 0.0067)]
        {
            assert!((control_error(Db(sinr)) - probability).abs() < 0.04, "{sinr} dB");
        }
        assert_eq!(control_error(Db(-0.9)), 0.0);
        assert!((CONTROL_CURVE_END.linear() - CONTROL_CURVE_END_LINEAR).abs() < 1e-15);
    }

    #[test]
    fn a_mean_weighs_groups_by_their_blocks() {
        // (1 x 3 + 2 x 1) / 4
        let groups = [(Db(1.0), Prbs(3)), (Db(2.0), Prbs(1))];
        assert_eq!(Sinr::Groups(&groups).mean(|sinr| sinr.0), 1.25);
        assert_eq!(Sinr::Groups(&[]).mean(|sinr| sinr.0), 0.0);
        assert_eq!(Sinr::Flat(Db(7.0)).mean(|sinr| sinr.0), 7.0);
        // 1.25 on one layer and 3.25 on the other
        assert_eq!(Sinr::Layers(&groups, &[Db(0.0), Db(2.0)]).mean(|sinr| sinr.0), 2.25);
    }
}

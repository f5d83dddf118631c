//! Path loss in a town of equal buildings: street canyon, over the rooftops, and long distances.

use super::{LinkGeometry, Propagation, wavelength};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Db, Degrees, Hertz, Metres};

/// Surroundings of the lower antenna.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Environment {
    /// Streets between buildings.
    #[word = "urban"]
    Urban,
    /// Houses and gardens.
    #[word = "suburban"]
    Suburban,
    /// Open fields.
    #[word = "open"]
    Open,
}

/// Size of the town.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum City {
    /// Small or medium town.
    #[word = "small"]
    Small,
    /// Metropolitan centre.
    #[word = "large"]
    Large,
}

/// Hybrid buildings: ITU-R P.1411 up to 1 km, Okumura-Hata or COST 231 beyond; outdoor UEs only.
///
/// Up to 1 km, and beyond if both ends are below the rooftops, ITU-R P.1411 applies: line of sight in a street canyon
/// at distances below `los_to_nlos`, diffraction over the rooftops otherwise. Beyond 1 km the model is Okumura-Hata up
/// to 1.5 GHz, COST 231 up to 2.3 GHz, and a power law fitted at 2.6 GHz above. The rules and the defaults are those of
/// ns-3's HybridBuildingsPropagationLossModel for outdoor UEs; indoor UEs are not modelled. All formulas use the link's
/// carrier frequency, as in ns-3 once its LTE helper has set it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 HybridBuildingsPropagationLossModel; ITU-R P.1411-4; COST 231 final report §4.4")]
pub struct Params {
    /// Distance below which a P.1411 link has line of sight.
    #[param(default = Metres(200.0), range = Metres(0.0)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 Los2NlosThr")]
    pub los_to_nlos: Metres,
    /// Height of the rooftops.
    #[param(default = Metres(20.0), range = Metres(1.0)..=Metres(90.0))]
    #[param(unit = "m", source = "ns-3 RooftopLevel")]
    pub rooftop: Metres,
    /// Surroundings of the lower antenna; relevant up to 2 GHz.
    #[param(basic, default = Environment::Urban, unit = "word", source = "ns-3 Environment")]
    pub environment: Environment,
    /// Size of the town.
    #[param(basic, default = City::Large, unit = "word", source = "ns-3 CitySize")]
    pub city: City,
    /// Angle between the street and the direct path.
    #[param(default = Degrees(45.0), range = Degrees(0.0)..=Degrees(90.0))]
    #[param(unit = "deg", source = "ns-3 StreetsOrientation")]
    pub street_orientation: Degrees,
    /// Width of the streets.
    #[param(default = Metres(20.0), range = Metres(1.0)..=Metres(1000.0))]
    #[param(unit = "m", source = "ns-3 StreetsWidth")]
    pub street_width: Metres,
    /// Length of the path covered by buildings.
    #[param(default = Metres(80.0), range = Metres(1.0)..=Metres(1e5))]
    #[param(unit = "m", source = "ns-3 BuildingsExtend")]
    pub buildings_extend: Metres,
    /// Distance between the centres of two rows of buildings.
    #[param(default = Metres(50.0), range = Metres(1.0)..=Metres(1000.0))]
    #[param(unit = "m", source = "ns-3 BuildingSeparation")]
    pub building_separation: Metres,
}

/// Path loss in a town.
#[derive(Clone, Debug)]
pub struct HybridBuildings {
    params: Params,
}

impl HybridBuildings {
    /// A town with these parameters.
    pub fn new(params: Params) -> HybridBuildings {
        HybridBuildings { params }
    }
}

/// Maximum distance of P.1411, a recommendation for short ranges.
const SHORT_RANGE: Metres = Metres(1000.0);
/// Frequency above which ns-3 replaces COST 231 (specified to 2 GHz) by the power law at 2.6 GHz.
// LTE band 1 uses 2.11 to 2.17 GHz, so the model is extrapolated by 6 % there.
const COST231_LIMIT: Hertz = Hertz(2.3e9);
/// Okumura-Hata holds from 150 MHz to 1.5 GHz (COST 231 final report §4.4).
const HATA_LIMIT: Hertz = Hertz(1.5e9);

impl Propagation for HybridBuildings {
    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let Params { los_to_nlos, rooftop, environment, city, .. } = self.params;
        let far_and_above = link.distance() > SHORT_RANGE && link.upper() >= rooftop;
        let loss = if far_and_above && link.frequency > COST231_LIMIT {
            kun_2600(link.distance())
        } else if far_and_above && link.frequency > HATA_LIMIT {
            cost231(link, city)
        } else if far_and_above {
            okumura_hata(link, environment, city)
        } else if link.distance() < los_to_nlos {
            street_canyon_los(link)
        } else {
            over_rooftops(link, &self.params)
        };
        Db(loss.0.max(0.0))
    }
}

fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// The square of a decimal logarithm.
fn log10_squared(x: f64) -> f64 {
    log10(x) * log10(x)
}

/// Hata's correction a(hm) for small and medium towns, which COST 231 shares.
fn small_town_correction(mhz: f64, lower: f64) -> f64 {
    (1.1 * log10(mhz) - 0.7) * lower - (1.56 * log10(mhz) - 0.8)
}

/// Okumura-Hata, 150 MHz to 1.5 GHz (COST 231 final report, eq. 4.4.1).
///
/// `PL = 69.55 + 26.16 log f - 13.82 log hb - a(hm) + (44.9 - 6.55 log hb) log d`, f in MHz, d in km; less in suburban
/// and open areas.
pub fn okumura_hata(link: &LinkGeometry, environment: Environment, city: City) -> Db {
    let mhz = link.frequency.0 / 1e6;
    let (upper, lower) = (link.upper().0, link.lower().0);
    let correction = match city {
        City::Large if mhz < 200.0 => 8.29 * log10_squared(1.54 * lower) - 1.1,
        City::Large => 3.2 * log10_squared(11.75 * lower) - 4.97,
        City::Small => small_town_correction(mhz, lower),
    };
    let clearance = match environment {
        Environment::Urban => 0.0,
        Environment::Suburban => 2.0 * log10_squared(mhz / 28.0) + 5.4,
        Environment::Open => 4.78 * log10_squared(mhz) - 18.33 * log10(mhz) + 40.94,
    };
    Db(69.55 + 26.16 * log10(mhz) - 13.82 * log10(upper) - correction
        + (44.9 - 6.55 * log10(upper)) * log10(link.distance().0 / 1e3)
        - clearance)
}

/// COST 231's extension of Hata's formula to 1.5-2 GHz (COST 231 final report, eq. 4.4.3).
///
/// `PL = 46.3 + 33.9 log f - 13.82 log hb - a(hm) + (44.9 - 6.55 log hb) log d + C`, C = 3 dB in metropolitan centres.
/// There a(hm) is 3.2 log^2(11.75 hm) without Hata's -4.97 dB, as in ns-3: 4.97 dB less loss than the usual formula at
/// any height of the UE.
pub fn cost231(link: &LinkGeometry, city: City) -> Db {
    let mhz = link.frequency.0 / 1e6;
    let (upper, lower) = (link.upper().0, link.lower().0);
    let (correction, centre) = match city {
        //= exception cost231-metropolis
        City::Large => (3.2 * log10_squared(11.75 * lower), 3.0),
        City::Small => (small_town_correction(mhz, lower), 0.0),
    };
    Db(46.3 + 33.9 * log10(mhz) - 13.82 * log10(upper) - correction
        + (44.9 - 6.55 * log10(upper)) * log10(link.distance().0 / 1e3)
        + centre)
}

/// A power law for macro cells at 2.6 GHz: `PL = 36 + 26 log d`, d in metres (Sun Kun et al., ISAPE 2008).
pub fn kun_2600(distance: Metres) -> Db {
    Db(36.0 + 26.0 * log10(distance.0))
}

/// ITU-R P.1411-4 §4.1, UHF with line of sight in a street canyon: the mean of its two bounds in decibels.
///
/// The bounds rise by 20 and 25 dB per decade up to the breakpoint 4 hb hm / wavelength, and by 40 beyond.
//= exception p1411-mean-of-bounds
pub fn street_canyon_los(link: &LinkGeometry) -> Db {
    let wavelength = wavelength(link.frequency).0;
    let heights = link.upper().0 * link.lower().0;
    let at_breakpoint = 20.0 * log10(wavelength * wavelength / (8.0 * std::f64::consts::PI * heights)).abs();
    let decades = log10(link.distance().0 / (4.0 * heights / wavelength));
    let (lower_slope, upper_slope) = if decades <= 0.0 { (20.0, 25.0) } else { (40.0, 40.0) };
    Db(at_breakpoint + (lower_slope * decades + 20.0 + upper_slope * decades) / 2.0)
}

/// ITU-R P.1411-4 §4.2.1, without line of sight over the rooftops of a town: free space, diffraction from the last
/// rooftop into the street, and diffraction over the rows of buildings before it.
// ns-3 3.44 swaps the factors of metropolitan centres (1.5) and other towns (0.7) up to 2 GHz, and has an error in the
// line for street angles above 55 degrees.
pub fn over_rooftops(link: &LinkGeometry, town: &Params) -> Db {
    let mhz = link.frequency.0 / 1e6;
    let free_space = 32.4 + 20.0 * log10(link.distance().0 / 1e3) + 20.0 * log10(mhz);
    let to_street = roof_to_street(link, town);
    let excess = to_street.0 + multi_screen(link, town).0;
    Db(free_space + excess.max(0.0))
}

/// P.1411-4 §4.2.1: diffraction from the last rooftop down to the street.
fn roof_to_street(link: &LinkGeometry, town: &Params) -> Db {
    let angle = town.street_orientation.0;
    let orientation = match angle {
        small if small < 35.0 => -10.0 + 0.354 * small,
        middle if middle < 55.0 => 2.5 + 0.075 * (middle - 35.0),
        wide => 4.0 - 0.114 * (wide - 55.0),
    };
    // The formula is for a UE below the rooftops; on a rooftop the edge is assumed to be a metre away.
    let drop = (town.rooftop.0 - link.lower().0).max(1.0);
    Db(-8.2 - 10.0 * log10(town.street_width.0)
        + 10.0 * log10(link.frequency.0 / 1e6)
        + 20.0 * log10(drop)
        + orientation)
}

/// P.1411-4 §4.2.1: diffraction over the rows of buildings.
fn multi_screen(link: &LinkGeometry, town: &Params) -> Db {
    let wavelength = wavelength(link.frequency).0;
    let distance = link.distance().0;
    let above = link.upper().0 - town.rooftop.0;
    let separation = town.building_separation.0;
    // Settled-field distance for grazing incidence; the buildings may or may not extend beyond it.
    let settled = wavelength * distance * distance / (above * above);
    if settled < town.buildings_extend.0 {
        return many_screens(link, town, above);
    }
    let field = if above.abs() < 1.0 {
        separation / distance
    } else if above > 0.0 {
        2.35 * libm::pow(above / distance * libm::sqrt(separation / wavelength), 0.9)
    } else {
        let angle = libm::atan(above / separation);
        let edge = libm::hypot(above, separation);
        separation / (std::f64::consts::TAU * distance)
            * libm::sqrt(wavelength / edge)
            * (1.0 / angle - 1.0 / (std::f64::consts::TAU + angle))
    };
    Db(-20.0 * log10(field.abs()))
}

/// P.1411-4 §4.2.1, buildings extending beyond the settled-field distance (COST 231 Walfisch-Ikegami).
fn many_screens(link: &LinkGeometry, town: &Params, above: f64) -> Db {
    let mhz = link.frequency.0 / 1e6;
    let km = link.distance().0 / 1e3;
    let (shielding, constant, per_decade) = if above > 0.0 {
        (-18.0 * log10(1.0 + above), if mhz > 2000.0 { 71.4 } else { 54.0 }, 18.0)
    } else {
        let constant = if km < 0.5 { 54.0 - 1.6 * above * km } else { 54.0 - 0.8 * above };
        (0.0, constant, 18.0 - 15.0 * above / town.rooftop.0)
    };
    let centre = town.environment == Environment::Urban && town.city == City::Large;
    let per_frequency_decade = match mhz {
        high if high > 2000.0 => -8.0,
        low => -4.0 + if centre { 1.5 } else { 0.7 } * (low / 925.0 - 1.0),
    };
    Db(shielding + constant + per_decade * log10(km) + per_frequency_decade * log10(mhz)
        - 9.0 * log10(town.building_separation.0))
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::Position;

    fn link(distance: f64, upper: f64, frequency: f64) -> LinkGeometry {
        both_ways(distance, upper, frequency)[0]
    }

    fn both_ways(distance: f64, upper: f64, frequency: f64) -> [LinkGeometry; 2] {
        let ground = libm::sqrt(distance * distance - (upper - 1.5) * (upper - 1.5));
        let (a, b) = (Position::new(0.0, 0.0, upper), Position::new(ground, 0.0, 1.5));
        [(a, b), (b, a)].map(|(from, to)| LinkGeometry::new(from, to, Hertz(frequency), Draws::MEDIAN))
    }

    fn close(left: Db, right: f64) {
        assert!((left.0 - right).abs() < 1e-3, "{} is not {right}", left.0);
    }

    #[test]
    fn okumura_hata_matches_the_textbook() {
        // 900 MHz, 30 m, 1.5 m, 1 km, metropolis:
        // 69.55 + 26.16 x 2.95424 - 13.82 x 1.47712 - (3.2 x 1.24613^2 - 4.97) = 126.421
        let l = link(1000.0, 30.0, 900e6);
        close(okumura_hata(&l, Environment::Urban, City::Large), 126.421);
        // suburban: minus 2 log^2(900/28) + 5.4 = 9.943; open: minus 4.78 x 2.95424^2 - 54.151 + 40.94 = 28.506
        let urban = okumura_hata(&l, Environment::Urban, City::Large).0;
        close(okumura_hata(&l, Environment::Suburban, City::Large), urban - 9.9427);
        close(okumura_hata(&l, Environment::Open, City::Large), urban - 28.5061);
    }

    #[test]
    fn cost231_grows_with_35_decibels_per_decade_at_30_metres() {
        // 44.9 - 6.55 log10(30) = 35.2249
        let near = cost231(&link(1000.0, 30.0, 2.12e9), City::Large);
        close(cost231(&link(10_000.0, 30.0, 2.12e9), City::Large), near.0 + 35.2249);
    }

    #[test]
    fn cost231_of_a_metropolis_lacks_hatas_constant() {
        // a(1.5 m) = 3.2 log10^2(17.625) = 4.9691: with Hata's -4.97 it would nearly vanish
        let l = link(1000.0, 30.0, 2.12e9);
        let without_correction = 46.3 + 33.9 * 2120f64.log10() - 13.82 * 30f64.log10() + 3.0;
        close(cost231(&l, City::Large), without_correction - 4.9691);
    }

    #[test]
    fn canyon_changes_slope_at_the_breakpoint() {
        // breakpoint 4 x 30 x 1.5 / 0.141411 = 1272.9 m; mean slope 22.5 dB per decade before it, 40 after
        let at = |d: f64| street_canyon_los(&link(d, 30.0, 2.12e9)).0;
        assert!((at(1000.0) - at(100.0) - 22.5).abs() < 1e-9);
        assert!((at(20_000.0) - at(2_000.0) - 40.0).abs() < 1e-9);
        assert!((at(1273.0) - at(1272.8)).abs() < 0.01, "continuous");
    }

    #[test]
    fn diffraction_above_the_rooftops_matches_the_formula() {
        // settled-field distance: 0.141411 x 500^2 / 10^2 = 353.5 m > 80 m: one knife edge per row,
        // Q = 2.35 (10/500 sqrt(50/0.141411))^0.9 = 0.976
        let field: f64 = 2.35 * (10.0 / 500.0 * (50.0 / 0.141_411_537f64).sqrt()).powf(0.9);
        close(multi_screen(&link(500.0, 30.0, 2.12e9), &Params::default()), -20.0 * field.log10());
    }

    #[test]
    fn the_model_chooses_by_distance_height_and_frequency() {
        let model = HybridBuildings::new(Params::default());
        let loss = |l: LinkGeometry| model.path_loss(&l);
        assert_eq!(loss(link(199.0, 30.0, 2.12e9)), street_canyon_los(&link(199.0, 30.0, 2.12e9)));
        let town = Params::default();
        assert_eq!(loss(link(201.0, 30.0, 2.12e9)), over_rooftops(&link(201.0, 30.0, 2.12e9), &town));
        assert_eq!(loss(link(1001.0, 30.0, 2.12e9)), cost231(&link(1001.0, 30.0, 2.12e9), City::Large));
        assert_eq!(loss(link(1001.0, 10.0, 2.12e9)), over_rooftops(&link(1001.0, 10.0, 2.12e9), &town));
        assert_eq!(loss(link(1001.0, 30.0, 2.6e9)), kun_2600(link(1001.0, 30.0, 2.6e9).distance()));
        let hata = okumura_hata(&link(1001.0, 30.0, 9e8), Environment::Urban, City::Large);
        assert_eq!(loss(link(1001.0, 30.0, 9e8)), hata);
    }

    #[test]
    fn the_loss_is_finite_and_the_same_both_ways() {
        let model = HybridBuildings::new(Params::default());
        for distance in [40.0, 150.0, 400.0, 900.0, 1500.0, 9000.0] {
            for upper in [2.0, 10.0, 19.5, 20.0, 21.0, 30.0] {
                for frequency in [7e8, 1.8e9, 2.12e9, 2.6e9] {
                    let [there, back] = both_ways(distance, upper, frequency);
                    let loss = model.path_loss(&there).0;
                    assert!(loss.is_finite() && loss >= 0.0, "{distance} m {upper} m {frequency} Hz: {loss}");
                    assert_eq!(model.path_loss(&back).0, loss);
                }
            }
        }
    }
}

//! Path loss of TR 38.901.

use super::{Draws, LinkGeometry, Propagation};
use crate::shadowing::Spread;
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Db, Metres};
use std::f64::consts::PI;

/// Scenarios of TR 38.901 §7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Scenario {
    /// Urban macro: cells above the rooftops, 25 m high in the report.
    #[word = "uma"]
    UrbanMacro,
    /// Urban micro, street canyon: cells below the rooftops, 10 m high in the report.
    #[word = "umi"]
    UrbanMicro,
    /// Rural macro: cells 35 m high in the report.
    #[word = "rma"]
    RuralMacro,
    /// Indoor, mixed office: rooms and corridors.
    #[word = "inh-mixed"]
    MixedOffice,
    /// Indoor, open office.
    #[word = "inh-open"]
    OpenOffice,
}

/// Line of sight between a UE and a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sight {
    /// By chance, with the probability of the scenario at the link's distance.
    #[word = "by-distance"]
    ByDistance,
    /// Always.
    #[word = "always"]
    Always,
    /// Never.
    #[word = "never"]
    Never,
}

/// Loss of the walls around indoor UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Penetration {
    /// Old buildings: plain glass and concrete.
    #[word = "low"]
    Low,
    /// Modern buildings: coated glass and concrete.
    #[word = "high"]
    High,
}

/// TR 38.901: urban macro, urban micro, rural macro and offices at 0.5 to 100 GHz, with or without line of sight.
///
/// A link has line of sight with the probability of TR 38.901 Table 7.4.2-1, which falls with the distance. Each UE and site
/// have one uniform draw, and the link has line of sight where the probability exceeds it, that is up to some distance.
/// Shadowing, unless it is off, has the standard deviation of the scenario instead of `radio.shadowing.sigma`: 3 to 8 dB.
///
/// The fraction `indoor` of the UEs is in buildings. Their links also lose the walls' loss, which grows with the frequency
/// and has a normal deviation for each UE, and 0.5 dB per metre of a depth of up to 25 m, in rural cells 10 m
/// (§7.4.3.1).
//= exception sight-stays
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 38.901 Tables 7.4.1-1, 7.4.2-1, 7.4.3-1 and 7.4.3-2", check)]
pub struct Params {
    /// Scenario.
    #[param(basic, default = Scenario::UrbanMacro, unit = "word", source = "TR 38.901 §7.2")]
    pub scenario: Scenario,
    /// Line of sight.
    #[param(basic, default = Sight::ByDistance, unit = "word", source = "TR 38.901 Table 7.4.2-1")]
    pub line_of_sight: Sight,
    /// Fraction of the UEs in buildings; in the report 0.8 in `uma` and `umi`, 0.5 in `rma`.
    #[param(basic, default = 0.0, range = 0.0..=1.0, unit = "1")]
    #[param(source = "a choice: UEs outdoors, as in other models")]
    pub indoor: f64,
    /// Walls of the buildings; in `rma` of low loss.
    #[param(default = Penetration::Low, unit = "word", source = "TR 38.901 Table 7.4.3-2")]
    pub penetration: Penetration,
    /// Mean height of the buildings in `rma`.
    #[param(default = Metres(5.0), range = Metres(5.0)..=Metres(50.0))]
    #[param(unit = "m", source = "TR 38.901 Table 7.4.1-1")]
    pub building_height: Metres,
    /// Mean width of the streets in `rma`.
    #[param(default = Metres(20.0), range = Metres(5.0)..=Metres(50.0))]
    #[param(unit = "m", source = "TR 38.901 Table 7.4.1-1")]
    pub street_width: Metres,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let is_office = matches!(self.scenario, Scenario::MixedOffice | Scenario::OpenOffice);
        if is_office && self.indoor > 0.0 {
            return Err(("indoor", "an office has its cells in the same building: only 0".into()));
        }
        if self.scenario == Scenario::RuralMacro && self.penetration == Penetration::High {
            return Err(("penetration", "rural buildings have walls of low loss: only \"low\"".into()));
        }
        Ok(())
    }
}

/// Path loss of a scenario.
#[derive(Clone, Debug)]
pub struct Tr38901 {
    params: Params,
}

/// Speed of light in metres per second, as the breakpoint distances have it (TR 38.901 Table 7.4.1-1, note 1).
const LIGHT: f64 = 3e8;
/// Height of the surroundings that shortens the breakpoint distance in streets (TR 38.901 Table 7.4.1-1, note 1).
const ENVIRONMENT: f64 = 1.0;
/// Lowest height of the roofs that do so for high UEs in `uma`, and the difference to the next one (the same note).
const ROOFS: f64 = 12.0;
const STOREY: f64 = 3.0;

/// Lengths of a link in metres, and its frequency in GHz.
#[derive(Clone, Copy)]
struct Path {
    ground: f64,
    space: f64,
    cell: f64,
    ue: f64,
    ghz: f64,
    /// Height of the surroundings.
    environment: f64,
}

impl Path {
    /// Heights are at least 1.5 m and distances at least a metre: the least of the report.
    fn of(link: &LinkGeometry) -> Path {
        Path {
            ground: link.ground_distance().0,
            space: link.distance().0.max(1.0),
            cell: link.cell().0.max(1.5),
            ue: link.ue().0.max(1.5),
            ghz: link.frequency.0 / 1e9,
            environment: ENVIRONMENT,
        }
    }

    /// By how much a UE above 13 m has more sight of a macro cell, C in the report.
    fn height_gain(&self) -> f64 {
        if self.ground <= 18.0 {
            return 0.0;
        }
        let (high, d) = (((self.ue.min(23.0) - 13.0) / 10.0).max(0.0), self.ground / 100.0);
        libm::pow(high, 1.5) * 1.25 * d * d * d * libm::exp(-d / 1.5)
    }

    /// The path with the height of the surroundings of a link to a macro cell: with a probability of 1 / (1 + C) the
    /// street's, otherwise that of roofs below the UE.
    fn among_roofs(self, draws: &Draws) -> Path {
        let roofs = ((self.ue - 1.5 - ROOFS) / STOREY + 1.0).floor();
        if roofs < 1.0 || draws.of_link(1) * (1.0 + self.height_gain()) < 1.0 {
            return self;
        }
        let environment = ROOFS + STOREY * (roofs * draws.of_link(2)).floor();
        Path { environment: environment.min(self.ue - 1.0).min(self.cell - 1.0), ..self }
    }

    /// Distance beyond which the ground's reflection weakens the signal.
    fn breakpoint(&self, scenario: Scenario) -> f64 {
        let heights = match scenario {
            Scenario::RuralMacro => 2.0 * PI * self.cell * self.ue,
            _ => 4.0 * (self.cell - self.environment) * (self.ue - self.environment),
        };
        heights * self.ghz * 1e9 / LIGHT
    }
}

fn lg(x: f64) -> f64 {
    libm::log10(x)
}

impl Tr38901 {
    /// A model with these parameters.
    pub fn new(params: Params) -> Tr38901 {
        Tr38901 { params }
    }

    /// The probability of line of sight.
    //= TR 38.901 Table 7.4.2-1
    fn sight_probability(&self, path: &Path) -> f64 {
        let d = path.ground;
        let decay = |from: f64, length: f64| libm::exp(-(d - from) / length);
        let street = |length: f64| 18.0 / d + libm::exp(-d / length) * (1.0 - 18.0 / d);
        match self.params.scenario {
            Scenario::UrbanMacro | Scenario::UrbanMicro if d <= 18.0 => 1.0,
            Scenario::UrbanMacro => street(63.0) * (1.0 + path.height_gain()),
            Scenario::UrbanMicro => street(36.0),
            Scenario::RuralMacro => decay(10.0, 1000.0).min(1.0),
            Scenario::MixedOffice if d < 6.5 => decay(1.2, 4.7).min(1.0),
            Scenario::MixedOffice => 0.32 * decay(6.5, 32.6),
            Scenario::OpenOffice if d <= 49.0 => decay(5.0, 70.8).min(1.0),
            Scenario::OpenOffice => 0.54 * decay(49.0, 211.7),
        }
    }

    fn has_sight(&self, link: &LinkGeometry) -> bool {
        match self.params.line_of_sight {
            Sight::ByDistance => {
                // The way to the building counts, without that inside.
                let (path, depth) = (Path::of(link), self.depth(&link.draws));
                let outside = Path { ground: (path.ground - depth).max(0.0), ..path };
                link.draws.of_link(0) < self.sight_probability(&outside)
            }
            Sight::Always => true,
            Sight::Never => false,
        }
    }

    /// Path loss with line of sight.
    //= TR 38.901 Table 7.4.1-1
    fn with_sight(&self, path: &Path) -> f64 {
        let (d, f) = (lg(path.space), 20.0 * lg(path.ghz));
        let (breakpoint, height) = (path.breakpoint(self.params.scenario), path.cell - path.ue);
        let squared = breakpoint * breakpoint + height * height;
        match self.params.scenario {
            Scenario::UrbanMacro if path.ground <= breakpoint => 28.0 + 22.0 * d + f,
            Scenario::UrbanMacro => 28.0 + 40.0 * d + f - 9.0 * lg(squared),
            Scenario::UrbanMicro if path.ground <= breakpoint => 32.4 + 21.0 * d + f,
            Scenario::UrbanMicro => 32.4 + 40.0 * d + f - 9.5 * lg(squared),
            Scenario::RuralMacro => {
                let near = |space: f64| {
                    let height = self.params.building_height.0;
                    let rough = libm::pow(height, 1.72);
                    20.0 * lg(40.0 * PI * space * path.ghz / 3.0) + (0.03 * rough).min(10.0) * lg(space)
                        - (0.044 * rough).min(14.77)
                        + 0.002 * lg(height) * space
                };
                if path.ground <= breakpoint {
                    near(path.space)
                } else {
                    near(breakpoint) + 40.0 * lg(path.space / breakpoint)
                }
            }
            Scenario::MixedOffice | Scenario::OpenOffice => 32.4 + 17.3 * d + f,
        }
    }

    /// Path loss without line of sight.
    //= TR 38.901 Table 7.4.1-1
    fn without_sight(&self, path: &Path) -> f64 {
        let (d, f) = (lg(path.space), lg(path.ghz));
        let loss = match self.params.scenario {
            Scenario::UrbanMacro => 13.54 + 39.08 * d + 20.0 * f - 0.6 * (path.ue - 1.5),
            Scenario::UrbanMicro => 22.4 + 35.3 * d + 21.3 * f - 0.3 * (path.ue - 1.5),
            Scenario::RuralMacro => {
                let (height, cell) = (self.params.building_height.0, lg(path.cell));
                let (relative, ue) = (height / path.cell, lg(11.75 * path.ue));
                161.04 - 7.1 * lg(self.params.street_width.0) + 7.5 * lg(height)
                    - (24.37 - 3.7 * relative * relative) * cell
                    + (43.42 - 3.1 * cell) * (d - 3.0)
                    + 20.0 * f
                    - (3.2 * ue * ue - 4.97)
            }
            Scenario::MixedOffice | Scenario::OpenOffice => 17.3 + 38.3 * d + 24.9 * f,
        };
        loss.max(self.with_sight(path))
    }

    /// Way through the building in metres; zero outdoors.
    fn depth(&self, draws: &Draws) -> f64 {
        if !self.is_indoor(draws) {
            return 0.0;
        }
        let deepest = if self.params.scenario == Scenario::RuralMacro { 10.0 } else { 25.0 };
        // the lower of two uniform draws
        deepest * draws.of_ue(1).min(draws.of_ue(2))
    }

    /// Loss of the walls and of the way through the building.
    //= TR 38.901 §7.4.3.1
    fn building_loss(&self, link: &LinkGeometry) -> f64 {
        let ghz = link.frequency.0 / 1e9;
        let through = |loss: f64| libm::pow(10.0, -loss / 10.0);
        let concrete = through(5.0 + 4.0 * ghz);
        let (open, deviation) = match self.params.penetration {
            Penetration::Low => (0.3 * through(2.0 + 0.2 * ghz) + 0.7 * concrete, 4.4),
            Penetration::High => (0.7 * through(23.0 + 0.3 * ghz) + 0.3 * concrete, 6.5),
        };
        5.0 - 10.0 * lg(open) + 0.5 * self.depth(&link.draws) + deviation * link.draws.normal_of_ue(3)
    }
}

impl Propagation for Tr38901 {
    fn is_indoor(&self, draws: &Draws) -> bool {
        draws.of_ue(0) < self.params.indoor
    }

    fn path_loss(&self, link: &LinkGeometry) -> Db {
        let mut path = Path::of(link);
        if self.params.scenario == Scenario::UrbanMacro {
            path = path.among_roofs(&link.draws);
        }
        let mut loss = match self.has_sight(link) {
            true => self.with_sight(&path),
            false => self.without_sight(&path),
        };
        if self.is_indoor(&link.draws) {
            loss += self.building_loss(link);
        }
        Db(loss.max(0.0))
    }

    //= TR 38.901 Table 7.4.1-1
    //= TR 38.901 Table 7.5-6
    fn shadowing(&self, link: &LinkGeometry) -> Option<Spread> {
        let path = Path::of(link);
        let is_indoor = self.is_indoor(&link.draws);
        let (sigma, distance) = match (self.params.scenario, self.has_sight(link)) {
            (Scenario::UrbanMacro | Scenario::UrbanMicro, _) if is_indoor => (7.0, 7.0),
            (Scenario::RuralMacro, _) if is_indoor => (8.0, 120.0),
            (Scenario::UrbanMacro, true) => (4.0, 37.0),
            (Scenario::UrbanMicro, true) => (4.0, 10.0),
            (Scenario::UrbanMacro, false) => (6.0, 50.0),
            (Scenario::UrbanMicro, false) => (7.82, 13.0),
            (Scenario::RuralMacro, true) if path.ground <= path.breakpoint(Scenario::RuralMacro) => {
                (4.0, 37.0)
            }
            (Scenario::RuralMacro, true) => (6.0, 37.0),
            (Scenario::RuralMacro, false) => (8.0, 120.0),
            (Scenario::MixedOffice | Scenario::OpenOffice, true) => (3.0, 10.0),
            (Scenario::MixedOffice | Scenario::OpenOffice, false) => (8.03, 6.0),
        };
        Some(Spread { sigma: Db(sigma), correlation_distance: Metres(distance) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Draws;
    use super::*;
    use crate::Position;
    use airwnd_kernel::Stream;
    use airwnd_units::Hertz;

    fn model(scenario: Scenario, line_of_sight: Sight) -> Tr38901 {
        Tr38901::new(Params { scenario, line_of_sight, ..Params::default() })
    }

    fn link(ground: f64, cell: f64, ghz: f64) -> LinkGeometry {
        let (a, b) = (Position::new(0.0, 0.0, cell), Position::new(ground, 0.0, 1.5));
        LinkGeometry::new(a, b, Hertz(ghz * 1e9), Draws::MEDIAN)
    }

    fn losses(scenario: Scenario, link: &LinkGeometry) -> [f64; 2] {
        [Sight::Always, Sight::Never].map(|sight| model(scenario, sight).path_loss(link).0)
    }

    fn near(found: [f64; 2], expected: [f64; 2]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.005), "{found:?} {expected:?}");
    }

    #[test]
    fn urban_losses_are_those_of_the_table() {
        // 25 m and 2 GHz: d'_BP = 4 x 24 x 0.5 x 2e9 / 3e8 = 320 m; 200 m: d_3D = sqrt(200^2 + 23.5^2) = 201.376 m,
        // lg = 2.30401. With sight 28 + 22 x 2.30401 + 6.0206; without 13.54 + 39.08 x 2.30401 + 6.0206
        near(losses(Scenario::UrbanMacro, &link(200.0, 25.0, 2.0)), [84.709, 109.601]);
        // 1 km, d_3D = 1000.276, lg = 3.00012: 28 + 120.0048 + 6.0206 - 9 lg(320^2 + 23.5^2); 5.01263
        near(losses(Scenario::UrbanMacro, &link(1000.0, 25.0, 2.0)), [108.912, 136.805]);
        // 10 m: d'_BP = 4 x 9 x 0.5 x 3.5e9 / 3e8 = 210 m; 100 m: d_3D = 100.3606, lg = 2.001563, lg f = 0.544068
        near(losses(Scenario::UrbanMicro, &link(100.0, 10.0, 3.5)), [85.314, 104.644]);
        // 500 m: 32.4 + 40 x 2.699033 + 10.8814 - 9.5 lg(210^2 + 8.5^2), 4.645150
        near(losses(Scenario::UrbanMicro, &link(500.0, 10.0, 3.5)), [107.114, 129.265]);
    }

    #[test]
    fn a_breakpoint_is_no_step() {
        for (scenario, cell) in
            [(Scenario::UrbanMacro, 25.0), (Scenario::UrbanMicro, 10.0), (Scenario::RuralMacro, 35.0)]
        {
            let breakpoint = Path::of(&link(100.0, cell, 0.7)).breakpoint(scenario);
            let [before, after] =
                [0.9999, 1.0001].map(|part| losses(scenario, &link(part * breakpoint, cell, 0.7))[0]);
            assert!(after > before && after - before < 0.1, "{scenario:?}: {before} {after}");
        }
    }

    #[test]
    fn rural_and_office_losses_are_those_of_the_table() {
        // 35 m, 700 MHz, 500 m: d_3D = 501.121, lg = 2.69994; 20 lg(40 pi d_3D 0.7 / 3) = 83.343;
        // 5^1.72 = 15.930: 0.4779 x 2.69994 - 0.7009 + 0.002 x 0.69897 d_3D = 1.290. Without sight:
        // 161.04 - 9.237 + 5.242 - 37.512 - 11.592 - 3.098 + 0.001
        near(losses(Scenario::RuralMacro, &link(500.0, 35.0, 0.7)), [84.633, 104.843]);
        // beyond the breakpoint of 769.7 m 40 dB per decade
        let [near_by, far] =
            [1000.0, 10_000.0].map(|at| losses(Scenario::RuralMacro, &link(at, 35.0, 0.7))[0]);
        assert!((far - near_by - 40.0).abs() < 0.02, "{near_by} {far}");
        // 3 m high, 10 m, 3.5 GHz: d_3D = 10.1119, lg = 1.004834
        near(losses(Scenario::MixedOffice, &link(10.0, 3.0, 3.5)), [60.665, 69.332]);
        assert_eq!(
            losses(Scenario::OpenOffice, &link(30.0, 3.0, 3.5)),
            losses(Scenario::MixedOffice, &link(30.0, 3.0, 3.5))
        );
    }

    #[test]
    fn sight_never_costs() {
        for scenario in
            [Scenario::UrbanMacro, Scenario::UrbanMicro, Scenario::RuralMacro, Scenario::OpenOffice]
        {
            for ground in [0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5] {
                let link = link(ground, 30.0, 28.0);
                let [with, without] = losses(scenario, &link);
                assert!(0.0 < with && with <= without && without.is_finite(), "{scenario:?} {ground}");
            }
        }
    }

    /// The part of 1e5 links with sight is the probability at their distance, with a standard error of at most 0.0016.
    #[test]
    fn sight_has_the_probability_of_its_distance() {
        let exp = libm::exp;
        for (scenario, ground, expected) in [
            (Scenario::UrbanMacro, 18.0, 1.0),
            (Scenario::UrbanMacro, 100.0, 0.18 + exp(-100.0 / 63.0) * 0.82),
            (Scenario::UrbanMicro, 100.0, 0.18 + exp(-100.0 / 36.0) * 0.82),
            (Scenario::RuralMacro, 510.0, exp(-0.5)),
            (Scenario::MixedOffice, 5.9, exp(-1.0)),
            (Scenario::MixedOffice, 39.1, 0.32 * exp(-1.0)),
            (Scenario::OpenOffice, 40.4, exp(-0.5)),
            (Scenario::OpenOffice, 260.7, 0.54 * exp(-1.0)),
        ] {
            let model = model(scenario, Sight::ByDistance);
            let geometry = |ue| {
                let draws = Draws::new(Stream::new(1, "test"), ue, 3);
                LinkGeometry { draws, ..link(ground, 10.0, 2.0) }
            };
            let part = (0..100_000).filter(|ue| model.has_sight(&geometry(*ue))).count() as f64 / 1e5;
            assert!((part - expected).abs() < 0.007, "{scenario:?} {ground}: {part} {expected}");
        }
    }

    #[test]
    fn a_ue_loses_sight_once_and_differently_at_each_site() {
        let model = model(Scenario::UrbanMacro, Sight::ByDistance);
        let sight = |ue, site, ground| {
            let draws = Draws::new(Stream::new(1, "test"), ue, site);
            model.has_sight(&LinkGeometry { draws, ..link(ground, 25.0, 2.0) })
        };
        let course = |ue, site| -> Vec<bool> {
            (1..200).map(|step| sight(ue, site, 10.0 * f64::from(step))).collect()
        };
        for ue in 0..50 {
            assert!(course(ue, 0).is_sorted_by_key(|sight| !sight));
        }
        assert!((0..50).any(|ue| course(ue, 0) != course(ue, 1)));
    }

    #[test]
    fn buildings_cost_their_walls_and_half_a_decibel_per_metre() {
        // 3.5 GHz: glass 2.7 dB, coated glass 24.05 dB, concrete 19 dB; the median depth is that of draws of 0.5
        let through = |loss: f64| libm::pow(10.0, -loss / 10.0);
        let low = 5.0 - 10.0 * lg(0.3 * through(2.7) + 0.7 * through(19.0));
        let high = 5.0 - 10.0 * lg(0.7 * through(24.05) + 0.3 * through(19.0));
        assert!((low - 12.698).abs() < 0.001 && (high - 26.850).abs() < 0.001, "{low} {high}");
        for (scenario, penetration, walls, depth) in [
            (Scenario::UrbanMacro, Penetration::Low, low, 12.5),
            (Scenario::UrbanMicro, Penetration::High, high, 12.5),
            (Scenario::RuralMacro, Penetration::Low, low, 5.0),
        ] {
            let (line_of_sight, indoor) = (Sight::Never, 1.0);
            let params = Params { scenario, line_of_sight, indoor, penetration, ..Params::default() };
            let (inside, outside) = (Tr38901::new(params), model(scenario, Sight::Never));
            let link = link(300.0, 30.0, 3.5);
            let loss = inside.path_loss(&link).0 - outside.path_loss(&link).0;
            assert!((loss - walls - 0.5 * depth).abs() < 1e-9, "{scenario:?}: {loss}");
            assert!(inside.shadowing(&link) != outside.shadowing(&link) || scenario == Scenario::RuralMacro);
        }
        // 0.8 of the UEs with a standard error of 0.0013; walls vary by 4.4 dB, depths by less
        let mixed = Tr38901::new(Params { indoor: 0.8, line_of_sight: Sight::Never, ..Params::default() });
        let outside = mixed.path_loss(&link(300.0, 30.0, 3.5)).0 - low - 6.25;
        let added: Vec<f64> = (0..100_000)
            .map(|ue| {
                let draws = Draws::new(Stream::new(1, "test"), ue, 0);
                mixed.path_loss(&LinkGeometry { draws, ..link(300.0, 30.0, 3.5) }).0 - outside
            })
            .filter(|loss| loss.abs() > 1e-9)
            .collect();
        assert!((added.len() as f64 / 1e5 - 0.8).abs() < 0.006);
        // The mean of the lower of two uniform draws is a third: 25 / 3 m.
        let mean = added.iter().sum::<f64>() / added.len() as f64;
        assert!((mean - low - 12.5 / 3.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn shadowing_depends_on_sight() {
        let sigma = |scenario, sight, ground| {
            model(scenario, sight).shadowing(&link(ground, 35.0, 0.7)).map(|spread| spread.sigma)
        };
        assert_eq!(sigma(Scenario::UrbanMacro, Sight::Always, 100.0), Some(Db(4.0)));
        assert_eq!(sigma(Scenario::UrbanMicro, Sight::Never, 100.0), Some(Db(7.82)));
        // breakpoint 2 pi x 35 x 1.5 x 0.7e9 / 3e8 = 769.7 m
        let rural = [100.0, 769.0, 770.0].map(|ground| sigma(Scenario::RuralMacro, Sight::Always, ground));
        assert_eq!(rural, [4.0, 4.0, 6.0].map(|sigma| Some(Db(sigma))));
        assert_eq!(sigma(Scenario::OpenOffice, Sight::Never, 10.0), Some(Db(8.03)));
    }

    #[test]
    fn buildings_fit_their_scenario() {
        let office = Params { scenario: Scenario::OpenOffice, indoor: 0.5, ..Params::default() };
        assert_eq!(office.check().unwrap_err().0, "indoor");
        let (scenario, penetration) = (Scenario::RuralMacro, Penetration::High);
        let rural = Params { scenario, penetration, ..Params::default() };
        assert_eq!(rural.check().unwrap_err().0, "penetration");
        assert_eq!(Params { penetration: Penetration::Low, ..rural }.check(), Ok(()));
    }
}

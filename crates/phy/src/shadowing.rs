//! Log-normal shadowing: an offset per UE and site, or per UE and cell, which changes along the way of a UE that moves.

use crate::Position;
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Db, Metres};
use std::sync::OnceLock;

/// Links of a UE with a common draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sectors {
    /// All sectors of a site have the same loss, because they share the obstacles.
    #[word = "shared"]
    Shared,
    /// Each sector has a separate loss, as in ns-3, where each eNB node has one.
    #[word = "independent"]
    Independent,
}

/// Log-normal shadowing: a Gaussian loss in decibels, drawn per UE and site.
///
/// ```math
/// \mathrm{loss} = \sigma \, (\sqrt{c} \, A + \sqrt{1 - c} \, B)
/// ```
///
/// c is the correlation, A a standard normal draw per UE and B one per UE and site. For UEs that move A and B depend on
/// the place: two places in a distance d have the correlation exp(-d / correlation distance), and a UE that returns finds
/// the same loss. UEs at rest keep one draw.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 36.942 §4.5.2 (LogF)")]
pub struct Params {
    /// Standard deviation of the loss; zero disables shadowing.
    #[param(basic)]
    #[param(default = Db(8.0), range = Db(0.0)..=Db(20.0), unit = "dB", source = "TR 36.814 Table A.2.1.1-2")]
    pub sigma: Db,
    /// Correlation of a UE's losses to different sites.
    #[param(default = 0.5, range = 0.0..=1.0)]
    #[param(unit = "1", source = "TR 36.942 §4.5.2; ns-3 BuildingsPropagationLossModel: 0")]
    pub correlation: f64,
    /// Distance over which the correlation of a moving UE's losses falls to 1/e, where the propagation model does not set
    /// it; `none`: its losses do not change.
    #[param(default = Some(Metres(50.0)), range = Metres(1.0)..=Metres(1000.0), unit = "m")]
    #[param(
        source = "TR 36.814 Table A.2.1.1-2; TR 38.901 §7.4.4; ns-3 BuildingsPropagationLossModel: none"
    )]
    pub correlation_distance: Option<Metres>,
    /// Losses of the sectors of a site.
    #[param(expert, default = Sectors::Shared)]
    #[param(unit = "word", source = "TR 36.942 §4.5.2; ns-3 BuildingsPropagationLossModel: independent")]
    pub sectors: Sectors,
}

/// Shadowing of all links.
#[derive(Clone, Debug)]
pub struct Shadowing {
    params: Params,
    stream: Stream,
}

impl Shadowing {
    /// Shadowing with all draws from `stream`.
    pub fn new(params: Params, stream: Stream) -> Shadowing {
        Shadowing { params, stream }
    }

    /// Spread over UEs and over places, where the propagation model does not set it.
    pub fn spread(&self) -> Spread {
        let Params { sigma, correlation_distance, .. } = self.params;
        Spread { sigma, correlation_distance: correlation_distance.unwrap_or(Metres(f64::INFINITY)) }
    }

    /// Whether the losses of a moving UE change.
    pub fn changes(&self) -> bool {
        self.params.correlation_distance.is_some()
    }

    /// The losses of a UE's links.
    //= exception shadowing-by-ue
    pub fn of(&self, ue: u32) -> Losses<'_> {
        Losses { params: &self.params, links: self.stream.child(u64::from(ue)), common: None, site: None }
    }
}

/// Spread of a link's losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation.
    pub sigma: Db,
    /// Distance over which the correlation of a moving UE's losses falls to 1/e.
    pub correlation_distance: Metres,
}

/// The position of a moving UE in correlation distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledPosition {
    x: f64,
    y: f64,
}

impl ScaledPosition {
    /// A position, for losses with this correlation distance.
    pub fn of(position: Position, correlation_distance: Metres) -> ScaledPosition {
        let scale = 1.0 / correlation_distance.0;
        ScaledPosition { x: position.x.0 * scale, y: position.y.0 * scale }
    }
}

/// Shadowing of one UE's links.
#[derive(Clone, Debug)]
pub struct Losses<'a> {
    params: &'a Params,
    links: Stream,
    /// The part that all sites have in common, where it was asked for last.
    common: Option<Common>,
    /// The last site and its draw, for the site's next sector.
    site: Option<OfSite>,
}

#[derive(Clone, Copy, Debug)]
struct Common {
    at: Option<ScaledPosition>,
    draw: f64,
}

#[derive(Clone, Copy, Debug)]
struct OfSite {
    site: u32,
    at: Option<ScaledPosition>,
    draw: f64,
}

impl Losses<'_> {
    /// The loss, of either sign, to be added to the path loss between the UE and this cell of a site, in standard
    /// deviations. `at`: where the UE is; `None`: it does not move.
    pub fn to(&mut self, site: u32, cell: u32, at: Option<ScaledPosition>) -> f64 {
        let Params { correlation, sectors, .. } = *self.params;
        let own = match (sectors, self.site) {
            (Sectors::Shared, Some(last)) if last.site == site && last.at == at => last.draw,
            (Sectors::Shared, _) => {
                let draw = normal(self.links.child(u64::from(site)), at);
                self.site = Some(OfSite { site, at, draw });
                draw
            }
            (Sectors::Independent, _) => normal(self.links.child(INDEPENDENT).child(u64::from(cell)), at),
        };
        libm::sqrt(correlation) * self.common(at) + libm::sqrt(1.0 - correlation) * own
    }

    fn common(&mut self, at: Option<ScaledPosition>) -> f64 {
        match self.common {
            _ if self.params.correlation == 0.0 => 0.0,
            Some(last) if last.at == at => last.draw,
            _ => {
                let draw = normal(self.links.child(COMMON), at);
                self.common = Some(Common { at, draw });
                draw
            }
        }
    }
}

/// A standard normal draw of a link, at a place if the UE moves.
fn normal(link: Stream, at: Option<ScaledPosition>) -> f64 {
    at.map_or_else(|| standard_normal(link.at(0), link.at(1)), |at| field(link.child(FIELD), at))
}

/// Number of waves of a field. With 16 the correlation of two places deviates by at most 0.04 from the exponential.
const WAVES: usize = 16;

/// A standard normal number at a place: the sum of plane waves with random phases, whose wave numbers have the spectrum
/// of a plane field with exponential correlation (Cai and Giannakis, "A two-dimensional channel simulation model for
/// shadowing processes", IEEE Trans. Veh. Tech. 52(6), 2003). It depends on the place only, not on the way to it.
fn field(mut link: Stream, at: ScaledPosition) -> f64 {
    let turn = std::f64::consts::TAU * link.uniform();
    let (sin, cos) = (libm::sin(turn), libm::cos(turn));
    let (x, y) = (at.x * cos - at.y * sin, at.x * sin + at.y * cos);
    let waves = waves();
    let sum: f64 = waves.iter().map(|wave| cosine(wave[0] * x + wave[1] * y + link.uniform())).sum();
    sum * libm::sqrt(2.0 / WAVES as f64)
}

/// The wave vectors of a field in turns per correlation distance: quantiles of the spectrum's radial distribution, 1 -
/// (1 + k^2)^(-1/2), in directions a golden section of a turn apart. The shortest wave has 0.31 correlation distances,
/// 15 m of 50 m: what varies faster is fading.
fn waves() -> &'static [[f64; 2]; WAVES] {
    static TABLE: OnceLock<[[f64; 2]; WAVES]> = OnceLock::new();
    TABLE.get_or_init(|| {
        std::array::from_fn(|number| {
            let above = (number as f64 + 0.8) / (WAVES as f64 + 0.3);
            let turns = libm::sqrt(1.0 / (above * above) - 1.0) / std::f64::consts::TAU;
            let direction = std::f64::consts::TAU * GOLDEN_SECTION * number as f64;
            [turns * libm::cos(direction), turns * libm::sin(direction)]
        })
    })
}

const GOLDEN_SECTION: f64 = 0.618_033_988_749_894_9;

/// The cosine of a number of turns, within 0.0002.
fn cosine(turns: f64) -> f64 {
    let turn = (turns - turns as i64 as f64).abs();
    let angle = std::f64::consts::TAU * (0.25 - (0.5 - (turn - 0.5).abs()));
    let square = angle * angle;
    angle * (1.0 + square * (-1.0 / 6.0 + square * (1.0 / 120.0 - square / 5040.0)))
}

/// The stream of a UE's common draw, distinct from those of sites, whose numbers have 32 bits.
const COMMON: u64 = 1 << 32;
/// The parent stream of draws by cell.
const INDEPENDENT: u64 = COMMON + 1;
/// The stream of a link's field, distinct from its draws.
const FIELD: u64 = 2;

/// A standard normal number from two uniform on [0, 1) (Box and Muller 1958).
pub fn standard_normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log1p(-u)) * libm::cos(std::f64::consts::TAU * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadowing(correlation: f64, sectors: Sectors) -> Shadowing {
        let params = Params { sigma: Db(8.0), correlation, correlation_distance: None, sectors };
        Shadowing::new(params, Stream::new(1, "shadowing"))
    }

    /// The covariance of the losses of 1e5 UEs over two links.
    fn correlation(shadowing: &Shadowing, one: (u32, u32), other: (u32, u32)) -> f64 {
        let product =
            |ue| shadowing.of(ue).to(one.0, one.1, None) * shadowing.of(ue).to(other.0, other.1, None);
        (0..100_000).map(product).sum::<f64>() / 1e5
    }

    #[test]
    fn losses_have_the_moments_of_the_distribution() {
        // mean 0, standard deviation 1; with 1e5 draws their standard errors are 0.003 and 0.002
        for (correlated, sectors) in
            [(0.0, Sectors::Shared), (0.5, Sectors::Shared), (0.5, Sectors::Independent)]
        {
            let shadowing = shadowing(correlated, sectors);
            let losses: Vec<f64> = (0..100_000).map(|ue| shadowing.of(ue).to(0, 0, None)).collect();
            let mean = losses.iter().sum::<f64>() / 1e5;
            let sigma = (losses.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5).sqrt();
            assert!(mean.abs() < 0.0125, "{mean}");
            assert!((sigma - 1.0).abs() < 0.0125, "{sigma}");
        }
    }

    /// Standard errors are at most 0.0045 (a square of a normal number has variance 2).
    #[test]
    fn sites_and_sectors_have_the_configured_correlation() {
        for asked in [0.0, 0.5, 0.8] {
            let shared = shadowing(asked, Sectors::Shared);
            assert!((correlation(&shared, (0, 0), (1, 3)) - asked).abs() < 0.02);
            assert!((correlation(&shared, (0, 0), (0, 1)) - 1.0).abs() < 0.02);
            let independent = shadowing(asked, Sectors::Independent);
            assert!((correlation(&independent, (0, 0), (0, 1)) - asked).abs() < 0.02);
            assert!((correlation(&independent, (0, 0), (1, 3)) - asked).abs() < 0.02);
        }
    }

    #[test]
    fn a_link_has_its_own_draw_and_keeps_it() {
        let shared = shadowing(0.0, Sectors::Shared);
        assert_eq!(shared.of(3).to(2, 6, None), shared.of(3).to(2, 7, None));
        assert_ne!(shared.of(3).to(2, 6, None), shared.of(3).to(1, 3, None));
        assert_ne!(shared.of(3).to(2, 6, None), shared.of(2).to(2, 6, None));
        let independent = shadowing(0.0, Sectors::Independent);
        assert_ne!(independent.of(3).to(2, 6, None), independent.of(3).to(2, 7, None));
    }

    #[test]
    fn earlier_questions_do_not_change_a_loss() {
        for sectors in [Sectors::Shared, Sectors::Independent] {
            let shadowing = shadowing(0.5, sectors);
            let mut losses = shadowing.of(3);
            for (site, cell) in [(0, 0), (0, 1), (1, 2), (0, 1), (1, 2), (0, 0)] {
                assert_eq!(
                    losses.to(site, cell, None),
                    shadowing.of(3).to(site, cell, None),
                    "{site} {cell}"
                );
            }
        }
    }

    fn at(x: f64, y: f64) -> Option<ScaledPosition> {
        Some(ScaledPosition::of(Position::new(x, y, 1.5), Metres(50.0)))
    }

    #[test]
    fn cosines_are_close() {
        for turns in (-3000..3000).map(|step| f64::from(step) / 700.0) {
            let exact = libm::cos(std::f64::consts::TAU * turns);
            assert!((cosine(turns) - exact).abs() < 2e-4, "{turns}");
        }
    }

    /// Over 2e4 UEs standard errors are 0.007 (mean), 0.005 (deviation) and at most 0.01 (correlation).
    #[test]
    fn losses_of_places_have_the_exponential_correlation() {
        let shadowing = shadowing(0.5, Sectors::Shared);
        for (x, y) in
            [(0.0, 0.0), (5.0, 0.0), (0.0, 12.5), (-20.0, 15.0), (50.0, 0.0), (0.0, -100.0), (300.0, 400.0)]
        {
            let pairs: Vec<[f64; 2]> = (0..20_000)
                .map(|ue| {
                    let mut losses = shadowing.of(ue);
                    [losses.to(3, 9, at(1000.0, -200.0)), losses.to(3, 9, at(1000.0 + x, y - 200.0))]
                })
                .collect();
            let mean = |value: &dyn Fn(&[f64; 2]) -> f64| pairs.iter().map(value).sum::<f64>() / 2e4;
            assert!(mean(&|pair| pair[1]).abs() < 0.03);
            assert!((mean(&|pair| pair[1] * pair[1]).sqrt() - 1.0).abs() < 0.025);
            let expected = libm::exp(-libm::hypot(x, y) / 50.0);
            let found = mean(&|pair| pair[0] * pair[1]);
            assert!((found - expected).abs() < 0.06, "{x}, {y}: {found}, {expected}");
        }
    }

    #[test]
    fn a_returning_ue_finds_the_same_loss_by_any_way() {
        let shadowing = shadowing(0.5, Sectors::Shared);
        let mut losses = shadowing.of(5);
        let first = losses.to(1, 3, at(10.0, 20.0));
        assert_ne!(losses.to(1, 3, at(11.0, 20.0)), first);
        assert_ne!(losses.to(2, 6, at(10.0, 20.0)), first);
        assert_eq!(losses.to(1, 4, at(10.0, 20.0)), first, "sectors share it");
        assert_eq!(shadowing.of(5).to(1, 3, at(10.0, 20.0)), first);
    }
}

//! Log-normal shadowing: one constant offset per UE and site, or per UE and cell.

use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::Db;

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

/// Log-normal shadowing: a Gaussian loss in decibels, drawn once per UE and site.
///
/// ```math
/// \mathrm{loss} = \sigma \, (\sqrt{c} \, A + \sqrt{1 - c} \, B)
/// ```
///
/// c is the correlation, A a standard normal draw per UE and B one per UE and site. The loss does not change as the UE
/// moves, so the model suits UEs that are static or move at walking speed.
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

    /// The standard deviation of losses.
    pub fn sigma(&self) -> Db {
        self.params.sigma
    }

    /// The losses of a UE's links.
    pub fn of(&self, ue: u32) -> Losses<'_> {
        let links = self.stream.child(u64::from(ue));
        let common = if self.params.correlation > 0.0 { normal(links.child(COMMON)) } else { 0.0 };
        Losses { params: &self.params, links, common, site: None }
    }
}

/// Shadowing of one UE's links.
#[derive(Clone, Debug)]
pub struct Losses<'a> {
    params: &'a Params,
    links: Stream,
    common: f64,
    /// The last site and its draw, for the site's next sector.
    site: Option<(u32, f64)>,
}

impl Losses<'_> {
    /// The loss, of either sign, to be added to the path loss between the UE and this cell of a site, in standard
    /// deviations.
    //= exception shadowing-stays
    pub fn to(&mut self, site: u32, cell: u32) -> f64 {
        let Params { correlation, sectors, .. } = *self.params;
        let own = match (sectors, self.site) {
            (Sectors::Shared, Some((last, own))) if last == site => own,
            (Sectors::Shared, _) => {
                let own = normal(self.links.child(u64::from(site)));
                self.site = Some((site, own));
                own
            }
            (Sectors::Independent, _) => normal(self.links.child(INDEPENDENT).child(u64::from(cell))),
        };
        libm::sqrt(correlation) * self.common + libm::sqrt(1.0 - correlation) * own
    }
}

/// A link's standard normal draw.
fn normal(link: Stream) -> f64 {
    standard_normal(link.at(0), link.at(1))
}

/// The stream of a UE's common draw, distinct from those of sites, whose numbers have 32 bits.
const COMMON: u64 = 1 << 32;
/// The parent stream of draws by cell.
const INDEPENDENT: u64 = COMMON + 1;

/// A standard normal number from two uniform on [0, 1) (Box and Muller 1958).
pub fn standard_normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log1p(-u)) * libm::cos(std::f64::consts::TAU * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadowing(correlation: f64, sectors: Sectors) -> Shadowing {
        let params = Params { sigma: Db(8.0), correlation, sectors };
        Shadowing::new(params, Stream::new(1, "shadowing"))
    }

    /// The covariance of the losses of 1e5 UEs over two links.
    fn correlation(shadowing: &Shadowing, one: (u32, u32), other: (u32, u32)) -> f64 {
        let product = |ue| shadowing.of(ue).to(one.0, one.1) * shadowing.of(ue).to(other.0, other.1);
        (0..100_000).map(product).sum::<f64>() / 1e5
    }

    #[test]
    fn losses_have_the_moments_of_the_distribution() {
        // mean 0, standard deviation 1; with 1e5 draws their standard errors are 0.003 and 0.002
        for (correlated, sectors) in
            [(0.0, Sectors::Shared), (0.5, Sectors::Shared), (0.5, Sectors::Independent)]
        {
            let shadowing = shadowing(correlated, sectors);
            let losses: Vec<f64> = (0..100_000).map(|ue| shadowing.of(ue).to(0, 0)).collect();
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
        assert_eq!(shared.of(3).to(2, 6), shared.of(3).to(2, 7));
        assert_ne!(shared.of(3).to(2, 6), shared.of(3).to(1, 3));
        assert_ne!(shared.of(3).to(2, 6), shared.of(2).to(2, 6));
        let independent = shadowing(0.0, Sectors::Independent);
        assert_ne!(independent.of(3).to(2, 6), independent.of(3).to(2, 7));
    }

    #[test]
    fn earlier_questions_do_not_change_a_loss() {
        for sectors in [Sectors::Shared, Sectors::Independent] {
            let shadowing = shadowing(0.5, sectors);
            let mut losses = shadowing.of(3);
            for (site, cell) in [(0, 0), (0, 1), (1, 2), (0, 1), (1, 2), (0, 0)] {
                assert_eq!(losses.to(site, cell), shadowing.of(3).to(site, cell), "{site} {cell}");
            }
        }
    }
}

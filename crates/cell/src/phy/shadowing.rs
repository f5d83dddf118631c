//! Log-normal shadowing: one constant offset per user and site.

use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Db;

/// Log-normal shadowing: a Gaussian loss in decibels, drawn once per user and site.
///
/// The sectors of a site share the draw, as obstacles do. It does not change as the user moves, so it
/// suits users that stand still or walk.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TR 36.942 §4.5.2 (LogF)")]
pub struct Params {
    /// Standard deviation of the loss; zero switches shadowing off.
    #[param(default = Db(0.0), range = Db(0.0)..=Db(20.0), unit = "dB", source = "off unless asked for")]
    pub sigma: Db,
}

/// The shadowing of every link.
#[derive(Clone, Copy, Debug)]
pub struct Shadowing {
    sigma: Db,
    stream: Stream,
}

impl Shadowing {
    /// Shadowing whose draws come from `stream` and from nothing else.
    pub fn new(params: Params, stream: Stream) -> Shadowing {
        Shadowing { sigma: params.sigma, stream }
    }

    /// The loss, of either sign, to be added to the path loss between this user and this site.
    //= exception shadowing-uncorrelated
    pub fn loss(&self, ue: u32, site: u32) -> Db {
        let draw = self.stream.child(u64::from(ue)).child(u64::from(site));
        Db(self.sigma.0 * standard_normal(draw.at(0), draw.at(1)))
    }
}

/// A standard normal number from two uniform on [0, 1) (Box and Muller 1958).
fn standard_normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log1p(-u)) * libm::cos(std::f64::consts::TAU * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_have_the_moments_of_the_distribution() {
        // mean 0, standard deviation 8 dB; of 1e5 draws their standard errors are 0.025 and 0.018
        let shadowing = Shadowing::new(Params { sigma: Db(8.0) }, Stream::new(1, "shadowing"));
        let losses: Vec<f64> = (0..100_000).map(|ue| shadowing.loss(ue, 0).0).collect();
        let mean = losses.iter().sum::<f64>() / 1e5;
        let sigma = (losses.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5).sqrt();
        assert!(mean.abs() < 0.1, "{mean}");
        assert!((sigma - 8.0).abs() < 0.1, "{sigma}");
    }

    #[test]
    fn a_link_has_its_own_draw_and_keeps_it() {
        let shadowing = Shadowing::new(Params { sigma: Db(8.0) }, Stream::new(1, "shadowing"));
        assert_eq!(shadowing.loss(3, 2), shadowing.loss(3, 2));
        assert_ne!(shadowing.loss(3, 2), shadowing.loss(3, 1));
        assert_ne!(shadowing.loss(3, 2), shadowing.loss(2, 2));
        let off = Shadowing::new(Params::default(), Stream::new(1, "shadowing"));
        assert_eq!(off.loss(3, 2).0, 0.0);
    }
}

//! Pareto-distributed sizes.

use super::{MAX, Sizes, check_bounds, whole};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Pareto: heavy-tailed sizes of a bounded Pareto distribution; most are small, and a few large ones have most bytes.
///
/// P(X > x) ~ x^(-shape) between `min` and `max`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Crovella, Bestavros: Self-Similarity in World Wide Web Traffic: Evidence and Possible \
              Causes, IEEE/ACM ToN 5(6), 1997",
    check
)]
pub struct Params {
    /// Shape parameter (exponent); between 1 and 2 the variance before truncation is infinite.
    #[param(basic, default = 1.2, range = 0.01..=20.0)]
    #[param(unit = "1", source = "Crovella and Bestavros 1997: between 1 and 2")]
    pub shape: f64,
    /// Minimum size.
    #[param(basic, default = Bytes(10_000), range = Bytes(1)..=MAX, unit = "B", source = "the scenario")]
    pub min: Bytes,
    /// Maximum size.
    #[param(basic, default = Bytes(10_000_000), range = Bytes(1)..=MAX, unit = "B", source = "the scenario")]
    pub max: Bytes,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check_bounds(self.min, self.max)
    }
}

/// Pareto-distributed sizes.
pub struct Pareto {
    params: Params,
    /// Probability mass of the unbounded distribution within the bounds.
    within: f64,
}

impl Pareto {
    /// Creates the distribution.
    pub fn new(params: Params) -> Self {
        let within = 1.0 - libm::pow(params.min.0 as f64 / params.max.0 as f64, params.shape);
        Pareto { params, within }
    }
}

impl Sizes for Pareto {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let tail = 1.0 - stream.uniform() * self.within;
        let size = self.params.min.0 as f64 * libm::pow(tail, -1.0 / self.params.shape);
        whole(size).clamp(self.params.min, self.params.max)
    }
}

//! Lognormally distributed sizes.

use super::{MAX, Sizes, check_bounds, check_part, whole};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Bisection steps: the initial interval of 80 standard deviations is divided by 2^60.
const HALVINGS: u32 = 60;
/// Bound of the quantile search in standard deviations; the probability beyond it is negligible.
const FARTHEST: f64 = 40.0;

/// Lognormal: lognormally distributed sizes, truncated to the range from `min` to `max`.
///
/// The defaults are those of the main object of a web page.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "3GPP R1-070674, HTTP traffic model, main object", check)]
pub struct Params {
    /// Mean of the size's natural logarithm.
    #[param(basic)]
    #[param(default = 8.37, range = 0.0..=28.0, unit = "ln B", source = "3GPP R1-070674, HTTP traffic model")]
    pub mu: f64,
    /// Standard deviation of the size's natural logarithm.
    #[param(basic, default = 1.37, range = 0.01..=10.0)]
    #[param(unit = "ln B", source = "3GPP R1-070674, HTTP traffic model")]
    pub sigma: f64,
    /// Minimum size.
    #[param(default = Bytes(100), range = Bytes(1)..=MAX)]
    #[param(unit = "B", source = "3GPP R1-070674, HTTP traffic model")]
    pub min: Bytes,
    /// Maximum size.
    #[param(default = Bytes(2_000_000), range = Bytes(1)..=MAX)]
    #[param(unit = "B", source = "3GPP R1-070674, HTTP traffic model")]
    pub max: Bytes,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check_bounds(self.min, self.max)?;
        check_part(self.part_within())
    }

    /// P(X < size).
    fn below(&self, size: Bytes) -> f64 {
        standard_below((libm::log(size.0 as f64) - self.mu) / self.sigma)
    }

    /// Probability mass within the bounds.
    fn part_within(&self) -> f64 {
        self.below(self.max) - self.below(self.min)
    }
}

/// P(Z < z) of the standard normal distribution.
fn standard_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Returns the z with P(Z < z) = `part`, by bisection.
fn standard_quantile(part: f64) -> f64 {
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if standard_below(middle) < part {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Lognormally distributed sizes.
pub struct Lognormal {
    params: Params,
    /// P(X < min), P(X < max).
    below: [f64; 2],
}

impl Lognormal {
    /// Creates the distribution.
    pub fn new(params: Params) -> Self {
        let below = [params.below(params.min), params.below(params.max)];
        Lognormal { params, below }
    }
}

impl Sizes for Lognormal {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let [min, max] = self.below;
        let z = standard_quantile(min + stream.uniform() * (max - min));
        let size = libm::exp(self.params.mu + self.params.sigma * z);
        whole(size).clamp(self.params.min, self.params.max)
    }
}

//! Exponentially distributed sizes.

use super::{MAX, Sizes, check_bounds, check_part, whole};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Exponential: exponentially distributed sizes, truncated to the range from `min` to `max`.
///
/// P(X > x) = e^(-x / mean) before truncation.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Law: Simulation Modeling and Analysis, 5th ed., section 8.3.2", check)]
pub struct Params {
    /// Mean before truncation.
    #[param(basic, default = Bytes(100_000), range = Bytes(1)..=MAX, unit = "B", source = "the scenario")]
    pub mean: Bytes,
    /// Minimum size.
    #[param(default = Bytes(1), range = Bytes(1)..=MAX, unit = "B", source = "one byte")]
    pub min: Bytes,
    /// Maximum size.
    #[param(default = MAX, range = Bytes(1)..=MAX, unit = "B", source = "effectively unbounded")]
    pub max: Bytes,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        check_bounds(self.min, self.max)?;
        check_part(self.part_within())
    }

    /// P(X > size).
    fn tail(&self, size: Bytes) -> f64 {
        libm::exp(-(size.0 as f64) / self.mean.0 as f64)
    }

    /// Probability mass within the bounds.
    fn part_within(&self) -> f64 {
        self.tail(self.min) - self.tail(self.max)
    }
}

/// Exponentially distributed sizes.
pub struct Exponential {
    params: Params,
    /// P(X > min), P(X > max).
    tails: [f64; 2],
}

impl Exponential {
    /// Creates the distribution.
    pub fn new(params: Params) -> Self {
        let tails = [params.tail(params.min), params.tail(params.max)];
        Exponential { params, tails }
    }
}

impl Sizes for Exponential {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let [max, min] = self.tails;
        let tail = max - stream.uniform() * (max - min);
        let size = -(self.params.mean.0 as f64) * libm::log(tail);
        whole(size).clamp(self.params.min, self.params.max)
    }
}

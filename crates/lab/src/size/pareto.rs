//! Pareto-distributed.

use super::{MOST, Sizes, check_bounds, whole};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Pareto: sizes of a bounded Pareto distribution: most are small, most bytes are in the few large ones.
///
/// P(X > x) ~ x^(-shape) between `min` and `max`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Crovella and Bestavros, IEEE/ACM ToN 5(6), 1997: sizes of files in the Web", check)]
pub struct Params {
    /// The exponent; between 1 and 2 the untruncated variance is infinite.
    #[param(default = 1.2, range = 0.01..=20.0)]
    #[param(unit = "1", source = "Crovella and Bestavros 1997: between 1 and 2")]
    pub shape: f64,
    /// The smallest size.
    #[param(default = Bytes(10_000), range = Bytes(1)..=MOST, unit = "B", source = "the scenario")]
    pub min: Bytes,
    /// The largest size.
    #[param(default = Bytes(10_000_000), range = Bytes(1)..=MOST, unit = "B", source = "the scenario")]
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
    /// The part of the unbounded distribution that lies within the bounds.
    within: f64,
}

impl Pareto {
    /// Sizes with this shape.
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

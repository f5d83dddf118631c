//! Pareto-distributed.

use super::{MOST, Sizes, whole};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

params! {
    /// Pareto: sizes of a bounded Pareto distribution: most are small, most bytes are in the few large ones.
    ///
    /// P(X > x) ~ x^(-shape) between `min` and `max`.
    pub struct Params ("Crovella and Bestavros, IEEE/ACM ToN 5(6), 1997: sizes of files in the Web") {
        /// The exponent; between 1 and 2 the untruncated variance is infinite.
        pub shape: f64 = 1.2, unit "1", range 0.01..=20.0, source "Crovella and Bestavros 1997: between 1 and 2";
        /// The smallest size.
        pub min: Bytes = Bytes(10_000), unit "B", range Bytes(1)..=MOST, source "the scenario";
        /// The largest size.
        pub max: Bytes = Bytes(10_000_000), unit "B", range Bytes(1)..=MOST, source "the scenario";
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

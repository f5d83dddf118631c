//! Lognormally distributed.

use super::{MOST, Sizes, whole};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

/// Halvings of an interval of 80 standard deviations until it is a part in 2^60 of it.
const HALVINGS: u32 = 60;
/// Beyond this many standard deviations there is nothing.
const FARTHEST: f64 = 40.0;

params! {
    /// Lognormal: sizes whose logarithm is normally distributed, of which the part between `min` and `max` is taken.
    ///
    /// The defaults are those of a page's main object.
    pub struct Params ("3GPP R1-070674, HTTP traffic model, main object") {
        /// Mean of the size's natural logarithm.
        pub mu: f64 = 8.37, unit "ln B", range 0.0..=28.0, source "3GPP R1-070674, HTTP traffic model";
        /// Standard deviation of the size's natural logarithm.
        pub sigma: f64 = 1.37, unit "ln B", range 0.01..=10.0, source "3GPP R1-070674, HTTP traffic model";
        /// The smallest size.
        pub min: Bytes = Bytes(100), unit "B", range Bytes(1)..=MOST, source "3GPP R1-070674, HTTP traffic model";
        /// The largest size.
        pub max: Bytes = Bytes(2_000_000), unit "B", range Bytes(1)..=MOST, source "3GPP R1-070674, HTTP traffic model";
    }
}

impl Params {
    /// P(X < size).
    fn below(&self, size: Bytes) -> f64 {
        standard_below((libm::log(size.0 as f64) - self.mu) / self.sigma)
    }

    /// The part of the distribution that lies within the bounds.
    pub(super) fn part_within(&self) -> f64 {
        self.below(self.max) - self.below(self.min)
    }
}

/// P(Z < z) of the standard normal distribution.
fn standard_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The z with P(Z < z) = `part`, by bisection.
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
    /// Sizes with these logarithms.
    pub fn new(params: Params) -> Self {
        let below = [params.below(params.min), params.below(params.max)];
        Lognormal { params, below }
    }
}

impl Sizes for Lognormal {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let [least, most] = self.below;
        let z = standard_quantile(least + stream.uniform() * (most - least));
        let size = libm::exp(self.params.mu + self.params.sigma * z);
        whole(size).clamp(self.params.min, self.params.max)
    }
}

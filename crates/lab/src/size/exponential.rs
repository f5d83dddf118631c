//! Exponentially distributed.

use super::{MOST, Sizes, whole};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;

params! {
    /// Exponential: sizes of an exponential distribution, of which the part between `min` and `max` is taken.
    ///
    /// P(X > x) = e^(-x / mean).
    pub struct Params ("Law, Simulation Modeling and Analysis, 5th ed., section 8.3.2") {
        /// Mean of the whole distribution.
        pub mean: Bytes = Bytes(100_000), unit "B", range Bytes(1)..=MOST, source "the scenario";
        /// The smallest size.
        pub min: Bytes = Bytes(1), unit "B", range Bytes(1)..=MOST, source "one byte";
        /// The largest size.
        pub max: Bytes = MOST, unit "B", range Bytes(1)..=MOST, source "no bound that matters";
    }
}

impl Params {
    /// P(X > size).
    fn tail(&self, size: Bytes) -> f64 {
        libm::exp(-(size.0 as f64) / self.mean.0 as f64)
    }

    /// The part of the distribution that lies within the bounds.
    pub(super) fn part_within(&self) -> f64 {
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
    /// Sizes with this mean.
    pub fn new(params: Params) -> Self {
        let tails = [params.tail(params.min), params.tail(params.max)];
        Exponential { params, tails }
    }
}

impl Sizes for Exponential {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let [most, least] = self.tails;
        let tail = most - stream.uniform() * (most - least);
        let size = -(self.params.mean.0 as f64) * libm::log(tail);
        whole(size).clamp(self.params.min, self.params.max)
    }
}

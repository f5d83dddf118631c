//! At random.

use super::{Arrival, Arrivals};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

params! {
    /// Poisson: flows that know nothing of each other: the times between arrivals are exponentially distributed.
    ///
    /// P(gap > t) = e^(-rate t). Each terminal has a process of its own.
    pub struct Params ("Kingman, Poisson Processes, 1993, section 4.1") {
        /// Flows that arrive in a second, for each terminal, on average.
        pub rate: f64 = 1.0, unit "1/s", range 1e-6..=1e6, source "the scenario";
    }
}

/// A Poisson process.
pub struct Poisson {
    rate: f64,
}

impl Poisson {
    /// With this rate.
    pub fn new(params: Params) -> Self {
        Poisson { rate: params.rate }
    }
}

impl Arrivals for Poisson {
    fn times(&self, until: Span, mut stream: Stream) -> Vec<Arrival> {
        let mut now = Span::ZERO;
        std::iter::from_fn(|| {
            now += Span::from_secs_f64(-libm::log1p(-stream.uniform()) / self.rate);
            (now < until).then(|| Arrival::at(now))
        })
        .collect()
    }
    fn expected(&self, until: Span) -> f64 {
        self.rate * until.as_secs()
    }
}

//! Poisson arrivals.

use super::{Arrival, Arrivals};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

/// Poisson: independent arrivals at a constant mean rate, with exponentially distributed inter-arrival times.
///
/// P(T > t) = e^(-rate t) for the time T between arrivals. The processes of different UEs are independent.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "Kingman: Poisson Processes, 1993, section 4.1")]
pub struct Params {
    /// Mean arrival rate per UE.
    #[param(basic, default = 1.0, range = 1e-6..=1e6, unit = "1/s", source = "the scenario")]
    pub rate: f64,
}

/// A Poisson process.
pub struct Poisson {
    rate: f64,
}

impl Poisson {
    /// Creates a process with this rate.
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
    fn continues(&self) -> bool {
        true
    }
}

//! Periodic arrivals.

use super::{Arrival, Arrivals};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

/// Periodic: an arrival at the start and after each period.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd")]
pub struct Params {
    /// Time between arrivals.
    #[param(basic, default = Span::from_secs(1), range = Span::from_millis(1)..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub period: Span,
}

/// Arrivals at equal intervals.
pub struct Periodic {
    period: Span,
}

impl Periodic {
    /// Creates a process with this period.
    pub fn new(params: Params) -> Self {
        Periodic { period: params.period }
    }
}

impl Arrivals for Periodic {
    fn times(&self, until: Span, _stream: Stream) -> Vec<Arrival> {
        (0..until.0.div_ceil(self.period.0)).map(|number| Arrival::at(self.period * number)).collect()
    }
    fn expected(&self, until: Span) -> f64 {
        until.as_secs() / self.period.as_secs()
    }
    fn continues(&self) -> bool {
        true
    }
}

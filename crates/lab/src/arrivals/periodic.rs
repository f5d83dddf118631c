//! Again and again.

use super::{Arrival, Arrivals};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

params! {
    /// Periodic: a new flow at the start and after each period.
    pub struct Params ("airwnd") {
        /// Time between two arrivals.
        pub period: Span = Span::from_secs(1), unit "time", range Span::from_millis(1)..=Span::from_secs(31_536_000), source "the scenario";
    }
}

/// Arrivals at even distances.
pub struct Periodic {
    period: Span,
}

impl Periodic {
    /// With this period.
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
}

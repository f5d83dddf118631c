//! At the start.

use super::{Arrival, Arrivals};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

params! {
    /// Once: at the start, and never again.
    pub struct Params ("an ordinary application") {}
}

/// One arrival.
pub struct Once;

impl Once {
    /// There is nothing to set.
    pub fn new(_params: Params) -> Self {
        Once
    }
}

impl Arrivals for Once {
    fn times(&self, _until: Span, _stream: Stream) -> Vec<Arrival> {
        vec![Arrival::at(Span::ZERO)]
    }
    fn expected(&self, _until: Span) -> f64 {
        1.0
    }
}

//! At the start.

use super::{Arrival, Arrivals};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

/// Once: at the start, and never again.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "an ordinary application")]
pub struct Params {}

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

//! A single arrival.

use super::{Arrival, Arrivals};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

/// Once: a single arrival at the start.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "an ordinary application")]
pub struct Params {}

/// One arrival.
pub struct Once;

impl Once {
    /// Creates the process.
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

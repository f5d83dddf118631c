//! At given times.

use super::{Arrival, Arrivals};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

params! {
    /// Schedule: at the times that are written down, each a new flow.
    pub section Params ("airwnd") {
        /// The times in ascending order, counted from the start of the group of flows.
        pub times: Vec<Span>, unit "time", range Span::ZERO..=Span::from_secs(31_536_000), source "the scenario";
    }
}

/// A list of times.
pub struct Schedule {
    times: Vec<Span>,
}

impl Schedule {
    /// At these times.
    pub fn new(params: Params) -> Self {
        Schedule { times: params.times }
    }
}

impl Arrivals for Schedule {
    fn times(&self, until: Span, _stream: Stream) -> Vec<Arrival> {
        self.times.iter().filter(|at| **at < until).map(|at| Arrival::at(*at)).collect()
    }
    fn expected(&self, _until: Span) -> f64 {
        self.times.len() as f64
    }
}

//! Arrivals at given times.

use super::{Arrival, Arrivals};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Span;

/// Schedule: an arrival at each listed time.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd", check)]
pub struct Params {
    /// Times in ascending order, counted from the start of the group of flows.
    #[param(range = Span::ZERO..=Span::from_secs(31_536_000), unit = "time", source = "the scenario")]
    pub times: Vec<Span>,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.times.is_empty() {
            return Err(("times", "the list is empty; at least one time is required".into()));
        }
        match self.times.windows(2).find(|pair| pair[1] < pair[0]) {
            Some(pair) => Err(("times", format!("{} comes after {}; times must ascend", pair[1], pair[0]))),
            None => Ok(()),
        }
    }
}

/// A list of times.
pub struct Schedule {
    times: Vec<Span>,
}

impl Schedule {
    /// Creates a process with these times.
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
    fn check_end(&self, until: Span) -> Result<(), (&'static str, String)> {
        match self.times.last().filter(|last| **last >= until) {
            Some(last) => Err(("times", format!("{last} is not before the end of the arrivals at {until}"))),
            None => Ok(()),
        }
    }
}

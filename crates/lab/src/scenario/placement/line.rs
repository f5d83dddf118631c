//! Placement on a line.

use super::{Place, Placement};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Metres;

/// Line: evenly spaced from one point to another, both ends included.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 reference run S2")]
pub struct Params {
    /// Position of the first UE.
    #[param(basic, default = [Metres(500.0), Metres(0.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 reference run S2")]
    pub from: [Metres; 2],
    /// Position of the last UE.
    #[param(basic, default = [Metres(5000.0), Metres(0.0)], range = Metres(-1e6)..=Metres(1e6))]
    #[param(unit = "m", source = "ns-3 reference run S2")]
    pub to: [Metres; 2],
}

/// Placement on a line.
pub struct Line {
    params: Params,
}

impl Line {
    /// Creates the placement.
    pub fn new(params: Params) -> Self {
        Line { params }
    }
}

impl Placement for Line {
    fn place(&self, index: usize, count: usize, _stream: Stream) -> Option<Place> {
        let (from, to) = (&self.params.from, &self.params.to);
        let part = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.0 };
        let between = |axis: usize| from[axis].0 + part * (to[axis].0 - from[axis].0);
        Some(Place::at(between(0), between(1)))
    }
}

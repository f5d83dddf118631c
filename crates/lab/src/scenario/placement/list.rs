//! Placement at given points.

use super::{Place, Placement};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Metres;

/// List: the listed points, in order.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd")]
pub struct Params {
    /// Points, each as [x, y].
    #[param(range = Metres(-1e6)..=Metres(1e6), unit = "m", source = "the scenario")]
    pub points: Vec<[Metres; 2]>,
}

/// Placement at listed points.
pub struct List {
    params: Params,
}

impl List {
    /// Creates the placement.
    pub fn new(params: Params) -> Self {
        List { params }
    }
}

impl Placement for List {
    fn place(&self, index: usize, _count: usize, _stream: Stream) -> Option<Place> {
        self.params.points.get(index).map(|[x, y]| Place::at(x.0, y.0))
    }
    fn places(&self) -> Option<usize> {
        Some(self.params.points.len())
    }
}

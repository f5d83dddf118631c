//! At given points.

use super::{Place, Placement};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Metres;

params! {
    /// List: the points that are written down, in their order.
    pub section Params ("airwnd") {
        /// The points, each as [x, y].
        pub points: Vec<[Metres; 2]>, unit "m", range Metres(-1e6)..=Metres(1e6), source "the scenario";
    }
}

/// A list of places.
pub struct List {
    params: Params,
}

impl List {
    /// A list.
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

//! Numbers of cells, carriers and UEs.

/// A cell's number, in the order of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId(pub u16);

/// A carrier's number in a cell; zero is the primary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CarrierId(pub u8);

impl CarrierId {
    /// The primary carrier.
    pub(crate) const PRIMARY: CarrierId = CarrierId(0);

    /// Index among the secondary carriers; `None`: the primary one.
    pub(crate) fn secondary(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

/// A UE's number, in the order of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UeId(pub u32);

/// Number of a bearer of a UE; zero is its default bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BearerId(pub u8);

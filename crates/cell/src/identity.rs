//! Numbers of cells and UEs.

/// A cell's number, in the order of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId(pub u16);

/// A UE's number, in the order of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UeId(pub u32);

/// Number of a bearer of a UE; zero is its default bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BearerId(pub u8);

//! Numbers of cells, carriers and UEs.

/// A cell's number, in the order of the setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId(pub u16);

impl CellId {
    /// Index in a list by cell.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// Index in a list of cells that begins with this one.
    #[inline]
    pub(crate) fn index_from(self, first: CellId) -> usize {
        self.index() - first.index()
    }

    /// It and the cells after it.
    #[inline]
    pub(crate) fn onwards(self) -> impl Iterator<Item = CellId> + Clone {
        (self.0..u16::MAX).map(CellId)
    }

    /// The cell at an index of a list by cell.
    #[inline]
    pub(crate) fn at(index: usize) -> CellId {
        CellId(index as u16)
    }
}

/// A carrier's number in a cell; zero is the primary one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UeId(pub u32);

impl UeId {
    /// Index in a list by UE.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// It and the UEs after it.
    #[inline]
    pub(crate) fn onwards(self) -> impl Iterator<Item = UeId> + Clone {
        (self.0..u32::MAX).map(UeId)
    }

    /// The first UEs, this many.
    pub(crate) fn all(count: usize) -> impl DoubleEndedIterator<Item = UeId> + ExactSizeIterator + Clone {
        (0..count as u32).map(UeId)
    }

    /// The UE at an index of a list by UE.
    #[inline]
    pub(crate) fn at(index: usize) -> UeId {
        UeId(index as u32)
    }
}

/// A place for a UE in a cell. A UE that joins takes the lowest free one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UeSlot(pub u16);

impl UeSlot {
    /// Index in a list by slot.
    #[inline]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The slot after it.
    #[inline]
    pub(crate) fn next(self) -> UeSlot {
        UeSlot(self.0 + 1)
    }

    /// All slots, the lowest first.
    pub(crate) fn all() -> impl Iterator<Item = UeSlot> + Clone {
        (0..u16::MAX).map(UeSlot)
    }
}

/// Number of a bearer of a UE; zero is its default bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BearerId(pub u8);

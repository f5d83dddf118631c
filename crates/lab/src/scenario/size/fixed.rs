//! A constant size.

use super::{MAX, Sizes};
use airwnd_catalog::Params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;
use std::ops::RangeInclusive;

/// Range of sizes.
pub(super) const RANGE: RangeInclusive<Bytes> = Bytes(1)..=MAX;

/// Fixed: a constant size; `size = "1MiB"` is shorthand for it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "DFCSD 2019 §5.1: flows of 64 KB to 10 MB")]
pub struct Params {
    /// Size.
    #[param(basic, default = Bytes(1 << 20), range = RANGE, unit = "B", source = "a typical object")]
    pub bytes: Bytes,
}

/// A constant size.
pub struct Fixed {
    bytes: Bytes,
}

impl Fixed {
    /// Creates the distribution.
    pub fn new(params: Params) -> Self {
        Fixed { bytes: params.bytes }
    }
}

impl Sizes for Fixed {
    fn draw(&self, _stream: &mut Stream) -> Bytes {
        self.bytes
    }
}

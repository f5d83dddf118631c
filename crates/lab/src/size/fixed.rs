//! Always the same.

use super::{MOST, Sizes};
use airwnd_catalog::params;
use airwnd_kernel::Stream;
use airwnd_units::Bytes;
use std::ops::RangeInclusive;

/// What a size may be.
pub(super) const RANGE: RangeInclusive<Bytes> = Bytes(1)..=MOST;

params! {
    /// Fixed: always the same number of bytes; `size = "1MiB"` is short for it.
    pub struct Params ("DFCSD 2019 §5.1: flows of 64 KB to 10 MB") {
        /// The size.
        pub bytes: Bytes = Bytes(1 << 20), unit "B", range RANGE, source "a typical object";
    }
}

/// One size.
pub struct Fixed {
    bytes: Bytes,
}

impl Fixed {
    /// This size.
    pub fn new(params: Params) -> Self {
        Fixed { bytes: params.bytes }
    }
}

impl Sizes for Fixed {
    fn draw(&self, _stream: &mut Stream) -> Bytes {
        self.bytes
    }
}

//! Combination of the transmissions of a block.

use super::SoftBits;
use super::segment::with_crc;
use crate::Scheme;
use airwnd_units::Bytes;

/// How the soft bits of transmissions are combined: as received, or as in another simulator. Chosen once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Combining {
    /// The soft bits after a transmission of a block with this scheme and mean information of a coded bit.
    pub receive: fn(SoftBits, Scheme, Bytes, f64) -> SoftBits,
    /// Coded bits per bit of the block, and the mean information of a coded bit.
    pub combined: fn(Bytes, SoftBits) -> (f64, f64),
}

impl Combining {
    /// Incremental redundancy: coded bits and information accumulate.
    pub const STANDARD: Combining = Combining {
        receive: |before, scheme, block, mean| {
            let coded = f64::from(with_crc(block)) / scheme.rate;
            let (coded, information) = (before.coded + coded, before.information + coded * mean);
            SoftBits { coded, information, scheme, uncounted: None }
        },
        combined: |block, soft| (soft.coded / f64::from(with_crc(block)), soft.information / soft.coded),
    };
}

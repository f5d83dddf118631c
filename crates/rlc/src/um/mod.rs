//! Unacknowledged mode (TS 36.322 §5.1.2): lost PDUs are not retransmitted.

mod rx;
mod tx;

pub use rx::Rx;
pub use tx::Tx;

use airwnd_catalog::Params;
use airwnd_units::Bytes;

/// Sizes of a sequence number in bits in LTE: TS 36.322 §6.2.2.3.
pub const LTE_SIZES: [u16; 2] = [5, 10];
/// In NR: TS 38.322 §6.2.3.3.
pub const NR_SIZES: [u16; 2] = [6, 12];

/// Longest header of LTE without length indicators.
pub(super) const FIXED_HEADER: Bytes = fixed_header(LTE_SIZES[1]);

/// Header of LTE with a sequence number of this size (TS 36.322 §6.2.1.3).
const fn fixed_header(sn_size: u16) -> Bytes {
    if sn_size == LTE_SIZES[0] { Bytes(1) } else { Bytes(2) }
}

/// UM_Window_Size: half of the sequence numbers.
//= TS 36.322 §7.2
//= TS 38.322 §7.2
pub(super) fn window(sn_size: u16) -> u64 {
    1 << (sn_size - 1)
}

/// Unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "TS 36.322 §5.1.2; TS 38.322 §5.2.2")]
pub struct Params {
    /// Size of a sequence number in bits, of which half the values are the window: 5 or 10 in LTE, 6 or 12 in NR;
    /// `none`: 10 in LTE, 12 in NR.
    #[param(default = None, range = 5..=12)]
    #[param(unit = "bit", source = "TS 36.322 §6.2.2.3; TS 38.322 §6.2.3.3; ns-3 LteRlcUm: 10")]
    pub sn_size: Option<u16>,
}

impl Params {
    pub(super) fn lte(&self) -> u16 {
        self.sn_size.unwrap_or(LTE_SIZES[1])
    }

    pub(super) fn nr(&self) -> u16 {
        self.sn_size.unwrap_or(NR_SIZES[1])
    }
}

/// A PDU: an interval of the bearer's stream of SDU bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number, counted without wrap-around. On air it has [`Params::sn_size`] bits; the receive window
    /// resolves the ambiguity as long as fewer PDUs than that are in transit.
    pub sn: u64,
    /// First byte of the stream in this PDU.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
}

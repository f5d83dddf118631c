//! Unacknowledged mode (TS 36.322 §5.1.2): lost PDUs are not retransmitted.

mod rx;
mod tx;

pub use rx::Rx;
pub use tx::Tx;

use airwnd_units::Bytes;

/// Header with a 10-bit sequence number (TS 36.322 §6.2.1.3).
pub(super) const FIXED_HEADER: Bytes = Bytes(2);

/// A PDU: an interval of the bearer's stream of SDU bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number, counted without wrap-around. On air it has 10 bits; the receive window of 512 (TS 36.322 §7.2)
    /// resolves the ambiguity as long as fewer PDUs than that are in transit.
    pub sn: u64,
    /// First byte of the stream in this PDU.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
}

//! Radio link control, unacknowledged mode (TS 36.322), with PDCP's header (TS 36.323).
//!
//! Downlink and uplink use the same two halves: [`RlcTx`] queues SDUs, segments and concatenates them into
//! PDUs of whatever size the MAC grants; [`RlcRx`] reorders PDUs and reassembles SDUs.
//!
//! Payload bytes do not exist in a simulator, but their positions do: the SDUs of a bearer, one after the
//! other, form a stream of bytes, and a PDU is an interval of it. So a PDU is three numbers, and reassembly
//! asks which SDUs lie wholly inside what has arrived.

pub mod aqm;
mod rx;
mod tx;

pub use rx::RlcRx;
pub use tx::RlcTx;

use airwnd_engine::Key;
use airwnd_units::{Bytes, Time};

/// PDCP data PDU header with a 12-bit sequence number (TS 36.323 §6.2.3).
//= exception pdcp-plain
pub const PDCP_HEADER: Bytes = Bytes(2);
/// RLC UM header with a 10-bit sequence number (TS 36.322 §6.2.1.3).
//= exception unacknowledged-mode-only
pub const RLC_FIXED_HEADER: Bytes = Bytes(2);

/// An SDU: an IP packet on its way through a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdu {
    /// The packet's key in the owner's slab.
    pub packet: Key,
    /// Size with IP header and PDCP header.
    pub size: Bytes,
    /// When it entered the queue.
    pub arrived: Time,
}

/// An RLC PDU: an interval of the bearer's stream of SDU bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Sequence number, counted without wrap-around. On air it has 10 bits; the receive window of 512
    /// (TS 36.322 §7.2) tells the two apart as long as fewer PDUs than that are under way.
    //= exception rlc-numbers-do-not-wrap
    pub sn: u64,
    /// First byte of the stream in this PDU.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Why a packet was dropped inside a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The queue before RLC was full.
    QueueFull,
    /// A part of the SDU was in a transport block that HARQ gave up.
    RadioLoss,
}

/// What becomes of SDUs that are not delivered.
pub trait Fate {
    /// Called once for each SDU that is dropped.
    fn dropped(&mut self, sdu: Sdu, cause: DropCause);
}

impl<F: FnMut(Sdu, DropCause)> Fate for F {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        self(sdu, cause);
    }
}

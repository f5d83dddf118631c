//! Radio link control, unacknowledged mode (TS 36.322), with PDCP's header (TS 36.323).
//!
//! Downlink and uplink use the same two halves: [`RlcTx`] queues SDUs, segments and concatenates them into
//! PDUs of whatever size the MAC grants; [`RlcRx`] reorders PDUs and reassembles SDUs.
//!
//! Payload bytes do not exist in a simulator, but their positions do: the SDUs of a bearer, one after the
//! other, form a stream of bytes, and a PDU is an interval of it. So a PDU is three numbers, and reassembly
//! asks which SDUs lie wholly inside what has arrived.

mod rx;
mod tx;

pub use rx::RlcRx;
pub use tx::RlcTx;

use airwnd_engine::{Key, aqm};
use airwnd_units::Bytes;

/// An SDU: an IP packet on its way through a bearer, its size with IP and PDCP headers.
pub use airwnd_engine::aqm::Waiting as Sdu;

/// PDCP data PDU header with a 12-bit sequence number (TS 36.323 §6.2.3).
//= exception pdcp-plain
pub const PDCP_HEADER: Bytes = Bytes(2);
/// RLC UM header with a 10-bit sequence number (TS 36.322 §6.2.1.3).
//= exception unacknowledged-mode-only
pub const RLC_FIXED_HEADER: Bytes = Bytes(2);

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
    /// The queue before RLC dropped it.
    Queue(aqm::Cause),
    /// A part of the SDU was in a transport block that HARQ gave up.
    RadioLoss,
    /// It was on air when the terminal left the cell, or was not forwarded.
    Handover,
    /// It was on air when the radio link failed.
    LinkFailure,
}

/// What becomes of SDUs that are not just delivered.
pub trait Fate {
    /// Called once for each SDU that is dropped.
    fn dropped(&mut self, sdu: Sdu, cause: DropCause);
    /// The queue has set the packet's ECN field to "congestion experienced".
    fn marked(&mut self, packet: Key);
}

/// Tells what a bearer's queue does as the bearer's doing.
struct Told<'a>(&'a mut dyn Fate);

impl aqm::Fate for Told<'_> {
    fn dropped(&mut self, sdu: Sdu, cause: aqm::Cause) {
        self.0.dropped(sdu, DropCause::Queue(cause));
    }
    fn marked(&mut self, packet: Key) {
        self.0.marked(packet);
    }
}

/// A closure hears of drops.
#[cfg(test)]
impl<F: FnMut(Sdu, DropCause)> Fate for F {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        self(sdu, cause);
    }
    fn marked(&mut self, _packet: Key) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_engine::{Codepoint, Stream};
    use airwnd_units::Time;

    /// A packet of this size with its IP header, before PDCP.
    pub fn packet(key: u32, size: u64) -> Sdu {
        let (packet, size) = (Key(key), Bytes(size));
        Sdu { packet, size, arrived: Time::ZERO, flow: 0, ecn: Codepoint::NotEct }
    }

    /// A transmitter whose queue holds this much.
    pub fn transmitter(buffer: Bytes) -> RlcTx {
        let params = aqm::drop_tail::Params { buffer, packets: None };
        RlcTx::new(
            aqm::Spec::DropTail(params).build(&aqm::Ctx { stream: Stream::new(1, "test queue"), rate: None }),
        )
    }
}

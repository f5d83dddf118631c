//! Radio link control (TS 36.322, TS 38.322), with PDCP's header (TS 36.323, TS 38.323).
//!
//! Downlink and uplink use the same two entities. A transmitter queues SDUs and segments them into PDUs of the size that
//! the MAC grants. A receiver reassembles SDUs and delivers them in order. LTE concatenates SDUs in a PDU; in NR each SDU
//! or segment has a PDU of its own ([`nr`]). In unacknowledged mode ([`um`], [`nr_um`]) lost PDUs stay lost; in
//! acknowledged mode ([`am`], for both) they are retransmitted.
//!
//! The simulator has no payload bytes, only their positions: the SDUs of a bearer, one after the other, form a stream
//! of bytes, and a PDU is an interval of it. A PDU is therefore three numbers, and reassembly determines which SDUs lie
//! entirely within the received intervals.

pub mod am;
pub mod nr;
pub mod nr_um;
mod one_way;
mod segmenter;
mod settings;
pub mod trace;
pub mod um;

pub use airwnd_phy::access::Protocol;
pub use one_way::{Content, OneWay};
pub use segmenter::Returned;
pub use settings::{DiscardTimer, Rlc, RlcMode};

use airwnd_kernel::Key;
use airwnd_links::aqm;
use airwnd_units::Bytes;

/// An SDU: an IP packet inside a bearer; the size includes the IP and PDCP headers.
pub use airwnd_links::aqm::Waiting as Sdu;

/// PDCP data PDU header with a 12-bit sequence number (TS 36.323 §6.2.3).
//= exception pdcp-plain
pub const PDCP_HEADER: Bytes = Bytes(2);

/// Headers of a PDU in unacknowledged mode, at most.
fn longest_headers(protocol: Protocol) -> Bytes {
    match protocol {
        Protocol::Lte => Bytes(4),
        Protocol::Nr => nr::LONGEST_HEADERS,
    }
}

/// Header of a PDCP data PDU.
fn pdcp_header(protocol: Protocol) -> Bytes {
    match protocol {
        Protocol::Lte => PDCP_HEADER,
        Protocol::Nr => nr::PDCP_HEADER,
    }
}

/// Buffer status reported to the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// STATUS PDU that is due.
    pub status: Bytes,
    /// Bytes to retransmit, or that may have to be.
    pub again: Bytes,
    /// New bytes.
    pub new: Bytes,
}

impl std::ops::Add for BufferStatus {
    type Output = BufferStatus;
    fn add(self, other: BufferStatus) -> BufferStatus {
        BufferStatus {
            status: self.status + other.status,
            again: self.again + other.again,
            new: self.new + other.new,
        }
    }
}

impl BufferStatus {
    /// Sum of all parts.
    pub fn total(&self) -> Bytes {
        self.status + self.again + self.new
    }

    /// Updates the eNB's view after a block of `size` bytes: the block is attributed to the first part that it can
    /// hold.
    //= exception rlc-am-as-in-ns3: a block holds one STATUS PDU or one data PDU
    pub fn on_block_down(&mut self, size: Bytes) {
        if self.status > Bytes::ZERO && size >= self.status {
            self.status = Bytes::ZERO;
        } else if self.again > Bytes::ZERO && size >= self.again {
            self.again = Bytes::ZERO;
        } else {
            self.new = self.new.saturating_sub(size.saturating_sub(um::FIXED_HEADER));
        }
    }
}

/// Reason for a drop inside a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// Dropped by the queue before RLC.
    Queue(aqm::Cause),
    /// Expiry of PDCP's discard timer.
    Discarded,
    /// A part of the SDU was in a transport block that HARQ did not deliver.
    RadioLoss,
    /// On air when the UE left the cell, or not forwarded.
    Handover,
    /// On air when the radio link failed.
    LinkFailure,
}

/// Drops and marks inside a bearer.
pub trait BearerEvents {
    /// Called once for each SDU that is dropped.
    fn dropped(&mut self, sdu: Sdu, cause: DropCause);
    /// Called when the queue has set the packet's ECN field to "congestion experienced".
    fn marked(&mut self, packet: Key);
}

/// Passes the events of a bearer's queue on as events of the bearer.
struct QueueToBearer<'a>(&'a mut dyn BearerEvents);

impl aqm::QueueEvents for QueueToBearer<'_> {
    fn dropped(&mut self, sdu: Sdu, cause: aqm::Cause) {
        self.0.dropped(sdu, DropCause::Queue(cause));
    }
    fn marked(&mut self, packet: Key) {
        self.0.marked(packet);
    }
}

/// A closure receives drops.
#[cfg(test)]
impl<F: FnMut(Sdu, DropCause)> BearerEvents for F {
    fn dropped(&mut self, sdu: Sdu, cause: DropCause) {
        self(sdu, cause);
    }
    fn marked(&mut self, _packet: Key) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_kernel::{Codepoint, Stream};
    use airwnd_units::Time;

    /// A packet of this size with its IP header, before PDCP.
    pub fn packet(key: u32, size: u64) -> Sdu {
        let (packet, size) = (Key(key), Bytes(size));
        Sdu { packet, size, arrived: Time::ZERO, flow: 0, ecn: Codepoint::NotEct }
    }

    /// A transmitter with a queue of this capacity.
    pub fn transmitter(buffer: Bytes) -> um::Tx {
        um::Tx::new(queue(buffer))
    }

    /// A queue of this capacity.
    pub fn queue(buffer: Bytes) -> Box<dyn aqm::QueueDisc> {
        let params = aqm::drop_tail::Params { buffer, packets: None };
        aqm::Spec::DropTail(params).build(&aqm::QueueContext {
            stream: Stream::new(1, "test queue"),
            rate: None,
            identity: Default::default(),
        })
    }
}

//! Radio link control (TS 36.322), with PDCP's header (TS 36.323).
//!
//! Downlink and uplink use the same two halves: a transmitter queues SDUs, segments and concatenates them into PDUs
//! of whatever size the MAC grants; a receiver reorders PDUs and reassembles SDUs. In unacknowledged mode ([`um`])
//! what is lost is lost; in acknowledged mode ([`am`]) it is sent again.
//!
//! Payload bytes do not exist in a simulator, but their positions do: the SDUs of a bearer, one after the
//! other, form a stream of bytes, and a PDU is an interval of it. So a PDU is three numbers, and reassembly
//! asks which SDUs lie wholly inside what has arrived.

pub mod am;
mod one_way;
mod segmenter;
pub mod um;

pub use one_way::{Content, OneWay, PROCESSES};
pub use segmenter::Returned;

use airwnd_kernel::Key;
use airwnd_links::aqm;
use airwnd_units::Bytes;

/// An SDU: an IP packet on its way through a bearer, its size with IP and PDCP headers.
pub use airwnd_links::aqm::Waiting as Sdu;

/// PDCP data PDU header with a 12-bit sequence number (TS 36.323 §6.2.3).
//= exception pdcp-plain
pub const PDCP_HEADER: Bytes = Bytes(2);

/// What RLC tells the MAC to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// The STATUS PDU that is due.
    pub status: Bytes,
    /// What is to be sent again, or may have to.
    pub again: Bytes,
    /// What is new.
    pub new: Bytes,
}

impl BufferStatus {
    /// All of it.
    pub fn total(&self) -> Bytes {
        self.status + self.again + self.new
    }

    /// What the base station believes to be left after a block of `size` bytes. The block is taken for what comes
    /// first and fits.
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

    /// What a UE believes to be left after a block of `size` bytes.
    //= exception rlc-am-as-in-ns3: a block holds one STATUS PDU or one data PDU
    pub fn on_block_up(&mut self, size: Bytes) {
        let mut size = size;
        if size > self.status {
            size -= std::mem::take(&mut self.status);
        }
        if self.again > Bytes::ZERO {
            self.again = self.again.saturating_sub(size);
        } else {
            self.new = self.new.saturating_sub(size.saturating_sub(um::FIXED_HEADER));
        }
    }
}

/// Why a packet was dropped inside a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The queue before RLC dropped it.
    Queue(aqm::Cause),
    /// It had waited for PDCP's discard timer.
    Discarded,
    /// A part of the SDU was in a transport block that HARQ gave up.
    RadioLoss,
    /// It was on air when the UE left the cell, or was not forwarded.
    Handover,
    /// It was on air when the radio link failed.
    LinkFailure,
}

/// What becomes of SDUs that are not just delivered.
pub trait BearerEvents {
    /// Called once for each SDU that is dropped.
    fn dropped(&mut self, sdu: Sdu, cause: DropCause);
    /// The queue has set the packet's ECN field to "congestion experienced".
    fn marked(&mut self, packet: Key);
}

/// Tells what a bearer's queue does as the bearer's doing.
struct Told<'a>(&'a mut dyn BearerEvents);

impl aqm::QueueEvents for Told<'_> {
    fn dropped(&mut self, sdu: Sdu, cause: aqm::Cause) {
        self.0.dropped(sdu, DropCause::Queue(cause));
    }
    fn marked(&mut self, packet: Key) {
        self.0.marked(packet);
    }
}

/// A closure hears of drops.
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

    /// A transmitter whose queue holds this much.
    pub fn transmitter(buffer: Bytes) -> um::Tx {
        um::Tx::new(queue(buffer))
    }

    /// A queue that holds this much.
    pub fn queue(buffer: Bytes) -> Box<dyn aqm::QueueDisc> {
        let params = aqm::drop_tail::Params { buffer, packets: None };
        aqm::Spec::DropTail(params)
            .build(&aqm::QueueContext { stream: Stream::new(1, "test queue"), rate: None })
    }
}

//! Counters of a link or medium in one direction.

use airwnd_units::{Bytes, Span};

/// Counters of one direction: packets carried and queued. Sizes are those on the link, with framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Packets that arrived at the end of the link.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Packets dropped by the policer.
    pub policed: u64,
    /// Copies of packets that the link has made; they count among the packets that arrived.
    pub copies: u64,
    /// Packets dropped because the queue was full.
    pub refused: u64,
    /// Packets dropped by a queue discipline before its queue was full.
    pub early: u64,
    /// Packets lost; on a medium, after link-layer recovery.
    pub lost: u64,
    /// Packets marked.
    pub marked: u64,
    /// Maximum number of waiting packets; on a medium, over all senders of a direction.
    pub max_packets: u64,
    /// Maximum number of waiting bytes.
    pub max_bytes: Bytes,
    /// Integral over time of the waiting packets, in nanoseconds.
    pub packet_nanos: u128,
    /// Integral over time of the waiting bytes, in nanoseconds.
    pub byte_nanos: u128,
}

impl Figures {
    /// Updates the maxima with the current queue.
    pub(super) fn note_queue(&mut self, packets: u64, bytes: Bytes) {
        self.max_packets = self.max_packets.max(packets);
        self.max_bytes = self.max_bytes.max(bytes);
    }

    /// Adds the waiting time of a packet of this size to the integrals.
    pub(super) fn add_wait(&mut self, size: Bytes, time: Span) {
        self.packet_nanos += u128::from(time.0);
        self.byte_nanos += u128::from(size.0) * u128::from(time.0);
    }
}

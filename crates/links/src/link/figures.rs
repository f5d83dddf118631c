//! What a link or a medium did in one direction.

use airwnd_units::{Bytes, Span};

/// What was carried in one direction, and what waited. Sizes are those on the link, with framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Packets that arrived at its end.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Packets that a queue had no room for.
    pub refused: u64,
    /// Packets that a queue discipline dropped before its queue was full.
    pub early: u64,
    /// Packets that it lost; on a medium, behind link-layer recovery.
    pub lost: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// Most packets that ever waited; on a medium, at all senders of a direction.
    pub most_packets: u64,
    /// Most bytes that ever waited.
    pub most_bytes: Bytes,
    /// Sum over time of the packets that wait, in nanoseconds.
    pub packet_nanos: u128,
    /// Sum over time of the bytes that wait, in nanoseconds.
    pub byte_nanos: u128,
}

impl Figures {
    /// So much waits now.
    pub(super) fn note_queue(&mut self, packets: u64, bytes: Bytes) {
        self.most_packets = self.most_packets.max(packets);
        self.most_bytes = self.most_bytes.max(bytes);
    }

    /// A packet of this size waits, or has waited, for so long.
    pub(super) fn add_wait(&mut self, size: Bytes, time: Span) {
        self.packet_nanos += u128::from(time.0);
        self.byte_nanos += u128::from(size.0) * u128::from(time.0);
    }
}

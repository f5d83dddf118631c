//! TCP segments: the header, and the length of a payload that is never stored.

use crate::Seq;
pub use airwnd_kernel::Codepoint;
use airwnd_rwnd::SeqRange;
pub use airwnd_rwnd::Timestamps;
use airwnd_units::{Bytes, Time};
use std::num::{NonZeroU8, NonZeroU16};
use std::ops::BitOr;

/// The control bits of a segment (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo: congestion encountered (RFC 3168 §6.1); also the lowest bit of [`ace`](Flags::ace).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768 §2.1); also the highest bit of [`ace`](Flags::ace).
    pub const AE: Flags = Flags(0x100);

    /// Returns true if all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits AE, CWR and ECE as a number. After an accurate ECN handshake it counts marked packets, modulo 8
    /// (RFC 9768 §3.2.2).
    pub fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }

    /// Encodes a count in the bits AE, CWR and ECE.
    pub fn from_ace(count: u8) -> Flags {
        Flags(u16::from(count & 7) << 6)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Bytes received above the cumulative acknowledgment: `start` is the first, `end` the one after the last. An empty
/// block marks an unused slot.
pub type SackBlock = SeqRange;

/// SACK blocks of one segment; unused slots are empty and last.
///
/// Three, not four: the maximum next to timestamps (RFC 2018 §3), which every preset but ns-2's sends.
pub type SackBlocks = [SackBlock; 3];

/// A TCP segment in an IPv4 packet, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Transmission time at the sending endpoint. Not on the wire: a real receiver has only the tick of the timestamp
    /// clock, see [`rwnd::Arrival::one_way_delay`](crate::rwnd::Arrival::one_way_delay).
    pub sent_at: Time,
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// Next sequence number expected, if `flags` has [`Flags::ACK`].
    pub ack: Seq,
    /// RFC 7323 timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018).
    pub sack: SackBlocks,
    /// Payload bytes.
    pub len: u16,
    /// Window field as on the wire, not shifted.
    pub window: u16,
    /// Maximum segment size option; on a SYN only.
    pub mss: Option<NonZeroU16>,
    /// Window scale option; on a SYN only.
    pub window_scale: Option<u8>,
    /// Window code as an option, see [`rwnd::Carriage`](crate::rwnd::Carriage).
    pub code: Option<NonZeroU8>,
    /// Control bits.
    pub flags: Flags,
    /// ECN field of the IP header.
    pub ecn: Codepoint,
    /// SACK-permitted option; on a SYN only.
    pub sack_permitted: bool,
    /// True if any byte was sent before. Not on the wire.
    pub retransmission: bool,
}

impl Segment {
    /// Maximum option bytes of a TCP header (data offset 15 words).
    pub const MAX_OPTION_BYTES: u32 = 40;
    /// Size of the experimental option for a window code (RFC 6994 §3): kind, length, experiment identifier and code.
    pub(crate) const CODE_OPTION_BYTES: u32 = 5;
    pub(crate) const TIMESTAMPS_BYTES: u32 = 10;

    /// Returns the length in sequence space: payload, SYN and FIN.
    pub fn space(&self) -> u32 {
        u32::from(self.len) + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// Returns the sequence number after the last one.
    pub fn end(&self) -> Seq {
        self.seq + self.space()
    }

    /// Returns the bytes of IPv4 and TCP header, with options padded to a multiple of four.
    pub fn header_bytes(&self) -> Bytes {
        let sack = match self.sack.iter().position(|block| block.is_empty()) {
            Some(0) => 0,
            blocks => 2 + 8 * blocks.unwrap_or(self.sack.len()) as u32,
        };
        let options = 4 * u32::from(self.mss.is_some())
            + 3 * u32::from(self.window_scale.is_some())
            + 2 * u32::from(self.sack_permitted)
            + Self::TIMESTAMPS_BYTES * u32::from(self.timestamps.is_some())
            + Self::CODE_OPTION_BYTES * u32::from(self.code.is_some())
            + sack;
        Bytes(u64::from(20 + 20 + options.next_multiple_of(4)))
    }

    /// Returns the bytes of the IPv4 packet.
    pub fn wire_bytes(&self) -> Bytes {
        self.header_bytes() + Bytes(u64::from(self.len))
    }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    /// A segment with 1000 bytes of payload and no optional header fields.
    pub fn plain() -> Segment {
        Segment {
            sent_at: Time::ZERO,
            seq: Seq(0),
            ack: Seq(0),
            timestamps: None,
            sack: Default::default(),
            len: 1000,
            window: 0,
            mss: None,
            window_scale: None,
            code: None,
            flags: Flags::ACK,
            ecn: Codepoint::NotEct,
            sack_permitted: false,
            retransmission: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::plain;
    use super::*;

    #[test]
    fn the_size_of_a_segment_is_72_bytes() {
        assert_eq!(size_of::<Segment>(), 72);
    }

    #[test]
    fn the_ace_count_spans_ae_cwr_and_ece() {
        assert_eq!(Flags::from_ace(5), Flags::AE | Flags::ECE);
        assert_eq!((Flags::ACK | Flags::CWR | Flags::ECE).ace(), 3);
    }

    #[test]
    fn options_are_padded_to_words() {
        assert_eq!(plain().wire_bytes(), Bytes(1040));
        let timestamps = Some(Timestamps { val: 1, ecr: 2 });
        assert_eq!(Segment { timestamps, ..plain() }.header_bytes(), Bytes(40 + 12));
        let block = SackBlock { start: Seq(1), end: Seq(2) };
        let full = Segment { timestamps, sack: [block; 3], ..plain() };
        assert_eq!(full.header_bytes(), Bytes(40 + (10_u64 + 26).next_multiple_of(4)));
        let syn = Segment {
            flags: Flags::SYN,
            len: 0,
            window_scale: Some(2),
            sack_permitted: true,
            timestamps,
            ..plain()
        };
        assert_eq!(syn.header_bytes(), Bytes(40 + 16));
        assert_eq!(syn.space(), 1);
    }
}

//! Queue limits.

use crate::aqm::Backlog;
use airwnd_units::Bytes;

/// A limit in bytes, in packets, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Maximum number of bytes; `None`: no limit.
    pub bytes: Option<Bytes>,
    /// Maximum number of packets; `None`: no limit.
    pub packets: Option<u64>,
}

impl Limit {
    /// Returns whether a packet of `size` fits in addition to the backlog and to `held`, the bytes of a partly sent
    /// packet.
    pub fn admits(&self, backlog: Backlog, held: Bytes, size: Bytes) -> bool {
        !self.is_exceeded(Backlog { bytes: backlog.bytes + size, packets: backlog.packets + 1 }, held)
    }

    /// Returns whether the backlog exceeds the limit, including `held`, the bytes of a partly sent packet.
    pub fn is_exceeded(&self, backlog: Backlog, held: Bytes) -> bool {
        let packets = backlog.packets + u64::from(held > Bytes::ZERO);
        self.bytes.is_some_and(|limit| backlog.bytes + held > limit)
            || self.packets.is_some_and(|limit| packets > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partly_sent_packet_counts() {
        let waiting = Backlog { bytes: Bytes(2000), packets: 2 };
        let limit = Limit { bytes: Some(Bytes(4000)), packets: Some(3) };
        assert!(limit.admits(waiting, Bytes::ZERO, Bytes(2000)));
        assert!(!limit.admits(waiting, Bytes::ZERO, Bytes(2001)));
        assert!(!limit.admits(waiting, Bytes(1), Bytes(1000)), "the fourth packet");
        assert!(Limit { packets: None, ..limit }.admits(waiting, Bytes(1000), Bytes(1000)));
        assert!(!Limit { packets: None, ..limit }.admits(waiting, Bytes(1001), Bytes(1000)));
        assert!(Limit::default().admits(waiting, Bytes(1 << 40), Bytes(1 << 40)));
    }
}

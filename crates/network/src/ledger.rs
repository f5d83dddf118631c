//! Packet accounting: offered, delivered and dropped packets.

use airwnd_links::aqm;
use airwnd_rlc::DropCause;
use airwnd_units::Bytes;

/// Cause of a packet's drop or loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Drop by a full queue before a link.
    LinkQueue,
    /// Early drop by the queue discipline before a link, as a congestion signal.
    LinkEarly,
    /// Drop by a policer before a link, or of a packet larger than the burst of its shaper.
    LinkPoliced,
    /// Loss on a link.
    LinkError,
    /// Drop at the retry limit of the sender on a shared medium.
    RetryLimit,
    /// Drop by the full queue before RLC.
    RlcQueue,
    /// Early drop by the queue discipline before RLC, as a congestion signal.
    RlcEarly,
    /// Expiry of PDCP's discard timer while the packet waited in a bearer.
    Discarded,
    /// Maximum HARQ transmissions of a transport block with a part of the packet.
    Radio,
    /// Handover while the packet was on air, or without forwarding.
    Handover,
    /// Radio link failure while the packet was on air.
    LinkFailure,
}

impl Cause {
    /// All causes, in the order of results.
    pub const ALL: [Cause; 11] = [
        Cause::LinkQueue,
        Cause::LinkEarly,
        Cause::LinkPoliced,
        Cause::LinkError,
        Cause::RetryLimit,
        Cause::RlcQueue,
        Cause::RlcEarly,
        Cause::Discarded,
        Cause::Radio,
        Cause::Handover,
        Cause::LinkFailure,
    ];

    /// Returns the cause's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::LinkQueue => "link_queue_full",
            Cause::LinkEarly => "link_queue_early",
            Cause::LinkPoliced => "link_policed",
            Cause::LinkError => "link_error",
            Cause::RetryLimit => "retry_limit",
            Cause::RlcQueue => "rlc_queue_full",
            Cause::RlcEarly => "rlc_queue_early",
            Cause::Discarded => "pdcp_discard",
            Cause::Radio => "radio_loss",
            Cause::Handover => "handover",
            Cause::LinkFailure => "radio_link_failure",
        }
    }
}

impl From<DropCause> for Cause {
    fn from(cause: DropCause) -> Cause {
        match cause {
            DropCause::Queue(aqm::Cause::Full) => Cause::RlcQueue,
            DropCause::Queue(aqm::Cause::Early) => Cause::RlcEarly,
            DropCause::Discarded => Cause::Discarded,
            DropCause::RadioLoss => Cause::Radio,
            DropCause::Handover => Cause::Handover,
            DropCause::LinkFailure => Cause::LinkFailure,
        }
    }
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their sizes with IP headers.
    pub bytes: Bytes,
}

impl Count {
    /// Counts one packet.
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// Packet accounting: packets and bytes that entered the network or were copied in it, and how they left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Packets sent into the network.
    pub offered: Count,
    /// Copies made by links that duplicate packets.
    pub copied: Count,
    /// Packets delivered at the far end.
    pub delivered: Count,
    dropped: [Count; Cause::ALL.len()],
}

impl Ledger {
    /// Counts a drop.
    pub fn drop(&mut self, cause: Cause, size: Bytes) {
        self.dropped[cause as usize].add(size);
    }

    /// Returns the drops of a cause.
    pub fn dropped(&self, cause: Cause) -> Count {
        self.dropped[cause as usize]
    }

    /// Asserts conservation: offered + copied = delivered + dropped + inside, in packets and in bytes.
    pub fn assert_balanced(&self, inside: Count) {
        let dropped = self.dropped.iter().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        });
        assert_eq!(
            self.offered.packets + self.copied.packets,
            self.delivered.packets + dropped.packets + inside.packets,
            "packets offered or copied are delivered, dropped or inside"
        );
        assert_eq!(
            self.offered.bytes + self.copied.bytes,
            self.delivered.bytes + dropped.bytes + inside.bytes,
            "bytes offered or copied are delivered, dropped or inside"
        );
    }
}

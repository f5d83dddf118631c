//! The books: what entered the network and how it left.

use airwnd_cell::rlc::DropCause;
use airwnd_links::aqm;
use airwnd_units::Bytes;

/// Why a packet never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The queue before a link was full.
    LinkQueue,
    /// The discipline before a link dropped it early, as a congestion signal.
    LinkEarly,
    /// A link lost it.
    LinkError,
    /// The sender on a shared medium reached its retry limit.
    RetryLimit,
    /// The queue before RLC was full.
    RlcQueue,
    /// The discipline before RLC dropped it early, as a congestion signal.
    RlcEarly,
    /// PDCP's discard timer expired while it waited in a bearer.
    Discarded,
    /// HARQ gave up a transport block that carried a part of it.
    Radio,
    /// Its UE changed cells while it was on air, or it was not forwarded.
    Handover,
    /// The radio link failed while it was on air.
    LinkFailure,
}

impl Cause {
    /// Every cause, in the order of results.
    pub const ALL: [Cause; 10] = [
        Cause::LinkQueue,
        Cause::LinkEarly,
        Cause::LinkError,
        Cause::RetryLimit,
        Cause::RlcQueue,
        Cause::RlcEarly,
        Cause::Discarded,
        Cause::Radio,
        Cause::Handover,
        Cause::LinkFailure,
    ];

    /// The cause's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::LinkQueue => "link_queue_full",
            Cause::LinkEarly => "link_queue_early",
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

/// Packets and their bytes.
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

/// The books: packets and bytes that entered the network, and how they left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Sent in at one end.
    pub offered: Count,
    /// Delivered at the other end.
    pub delivered: Count,
    dropped: [Count; Cause::ALL.len()],
}

impl Ledger {
    /// Counts a drop.
    pub fn drop(&mut self, cause: Cause, size: Bytes) {
        self.dropped[cause as usize].add(size);
    }

    /// Drops of a cause.
    pub fn dropped(&self, cause: Cause) -> Count {
        self.dropped[cause as usize]
    }

    /// Asserts conservation: offered = delivered + dropped + inside, in packets and in bytes.
    pub fn assert_balanced(&self, inside: Count) {
        let dropped = self.dropped.iter().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        });
        assert_eq!(
            self.offered.packets,
            self.delivered.packets + dropped.packets + inside.packets,
            "packets offered are delivered, dropped or inside"
        );
        assert_eq!(
            self.offered.bytes,
            self.delivered.bytes + dropped.bytes + inside.bytes,
            "bytes offered are delivered, dropped or inside"
        );
    }
}

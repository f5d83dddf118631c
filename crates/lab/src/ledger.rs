//! Where every packet went.

use airwnd_cell::rlc::DropCause;
use airwnd_links::aqm;
use airwnd_units::Bytes;

/// Why a packet never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The queue before a link was full.
    LinkQueue,
    /// The queue before a link dropped it to tell its sender of congestion.
    LinkEarly,
    /// A link lost it.
    LinkError,
    /// A sender on a shared medium gave it up after its attempts.
    RetryLimit,
    /// The queue before RLC was full.
    RlcQueue,
    /// The queue before RLC dropped it to tell its sender of congestion.
    RlcEarly,
    /// It had waited in a bearer for PDCP's discard timer.
    Discarded,
    /// HARQ gave up a transport block with a part of it.
    Radio,
    /// Its terminal changed cells while it was on air, or it was not forwarded.
    Handover,
    /// The radio link failed while it was on air.
    LinkFailure,
}

impl Cause {
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
pub(crate) struct Count {
    pub packets: u64,
    pub bytes: Bytes,
}

impl Count {
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// The books: what entered the network and what became of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub offered: Count,
    pub delivered: Count,
    dropped: [Count; Cause::ALL.len()],
}

impl Ledger {
    pub fn drop(&mut self, cause: Cause, size: Bytes) {
        self.dropped[cause as usize].add(size);
    }

    pub fn dropped(&self, cause: Cause) -> Count {
        self.dropped[cause as usize]
    }

    /// Offered = delivered + dropped + inside, in packets and in bytes; anything else is a bug of ours.
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

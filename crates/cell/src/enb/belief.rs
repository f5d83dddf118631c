//! The belief of a cell in a UE's uplink backlog.

use airwnd_units::Bytes;

/// Buffer information that the eNB receives from a UE.
#[derive(Clone, Copy, Debug)]
pub(super) enum BufferNews {
    /// Current backlog.
    Waits(Bytes),
    /// A scheduling request: the backlog is not zero.
    Request,
    /// Backlog when the UE built the block for a grant; `granted`: bytes granted up to that grant.
    Waited { waiting: Bytes, granted: u64 },
    /// The block for this grant was full, with neither padding nor a report. The backlog may not be zero.
    Full { granted: u64 },
    /// Nothing was received on this grant for new data, because the UE lost it: its bytes still wait.
    Missed { granted: u64, carried: Bytes },
}

/// Uplink backlog of a UE, as far as its cell knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub waiting: Bytes,
    /// Bytes granted for new data so far, and up to the grant answered by the newest report in a block.
    pub granted: u64,
    pub answered: u64,
}

/// Conclusions from requests, reports and blocks, chosen once for a network: those of UEs of the standard, or those of
/// another simulator ([`compat`](super::compat)).
pub(super) trait Belief: Send + Sync {
    /// Whether the cell notices that nothing is sent on a grant.
    fn notices_lost_grants(&self) -> bool {
        true
    }

    /// News of a block that is given up undecoded. The eNB does not know whether it had a report; without a grant, the UE
    /// would wait for retxBSR-Timer, 320 ms or more.
    fn of_given_up_block(&self) -> Option<BufferNews> {
        Some(BufferNews::Request)
    }

    /// News of a decoded block, which has reported this or was full; `granted`: bytes granted up to its grant.
    fn of_block(&self, reported: Option<Bytes>, granted: u64) -> Option<BufferNews> {
        Some(match reported {
            Some(waiting) => BufferNews::Waited { waiting, granted },
            None => BufferNews::Full { granted },
        })
    }

    /// The backlog after a request.
    fn on_request(&self, known: &Known, request_grant: Bytes) -> Bytes {
        known.waiting.max(request_grant)
    }

    /// The backlog after a report in the block of a grant; `None`: it remains. HARQ can deliver an older report after a newer
    /// one.
    fn on_report(&self, known: &mut Known, waiting: Bytes, granted: u64) -> Option<Bytes> {
        if granted < known.answered {
            return None;
        }
        known.answered = granted;
        let since = Bytes(known.granted - granted);
        Some(waiting.saturating_sub(since))
    }

    /// The backlog after a grant that leaves this rest.
    fn after_grant(&self, rest: Bytes, _request_grant: Bytes) -> Bytes {
        rest
    }
}

/// The conclusions of TS 36.321 and TS 38.321.
pub(super) struct Standard;

impl Belief for Standard {}

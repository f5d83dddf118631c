//! Events of the flows: drops, timeouts, loss recoveries, handovers.

use crate::results::columns::{Cell, Columns, FlowNumber, Kind, one_column};
use crate::results::table::Rows;
use airwnd_network::Cause;
use airwnd_units::{Bytes, Span};
use std::sync::LazyLock;

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incident {
    /// A packet of the flow was dropped, data or ACK.
    Drop(Cause, Bytes),
    /// The sender's retransmission timer expired.
    Timeout,
    /// The sender began a loss recovery.
    Recovery,
    /// The UE started a handover to this cell.
    HandoverStart(u16),
    /// The UE completed a handover to this cell.
    HandoverEnd(u16),
    /// A handover of the UE to this cell failed.
    HandoverFailure(u16),
    /// The UE declared radio link failure.
    LinkFailure,
    /// The UE re-established its connection in this cell after a radio link failure.
    Reestablishment(u16),
}

impl Incident {
    const WORDS: [&str; 8] = [
        "drop",
        "timeout",
        "recovery",
        "handover_start",
        "handover_end",
        "handover_failure",
        "radio_link_failure",
        "reestablishment",
    ];

    /// Index of the word in [`Incident::WORDS`].
    fn word(self) -> u32 {
        match self {
            Incident::Drop(..) => 0,
            Incident::Timeout => 1,
            Incident::Recovery => 2,
            Incident::HandoverStart(_) => 3,
            Incident::HandoverEnd(_) => 4,
            Incident::HandoverFailure(_) => 5,
            Incident::LinkFailure => 6,
            Incident::Reestablishment(_) => 7,
        }
    }

    fn cause(self) -> Option<Cause> {
        match self {
            Incident::Drop(cause, _) => Some(cause),
            _ => None,
        }
    }

    fn bytes(self) -> Option<Bytes> {
        match self {
            Incident::Drop(_, size) => Some(size),
            _ => None,
        }
    }

    fn cell(self) -> Option<u16> {
        match self {
            Incident::HandoverStart(cell)
            | Incident::HandoverEnd(cell)
            | Incident::HandoverFailure(cell)
            | Incident::Reestablishment(cell) => Some(cell),
            _ => None,
        }
    }
}

one_column!(Incident, Kind::Word(&Incident::WORDS), |incident| Cell::Place(incident.word()));

/// Names of the causes, in the order of [`Cause`].
static CAUSES: LazyLock<Vec<&str>> = LazyLock::new(|| Cause::ALL.map(Cause::name).to_vec());

one_column!(Cause, Kind::Word(CAUSES.as_slice()), |cause| Cell::Place(*cause as u32));

/// A row per event of a flow, in chronological order.
#[derive(Clone, Copy, Debug, Columns)]
pub(crate) struct Event {
    /// Time from the end of the warm-up.
    #[column(unit = "s")]
    pub time_s: f64,
    /// Id of the flow.
    pub flow: FlowNumber,
    /// Type of the event: `drop` of a packet (data or ACK); at the sender of the data `timeout` (the retransmission
    /// timer expired) or `recovery` (a loss recovery began); at the UE of the flow `handover_start`, `handover_end`,
    /// `handover_failure`, `radio_link_failure` or `reestablishment`.
    pub event: Incident,
    /// Cause of a drop, as in the `drops_` columns of the totals; null for other events.
    pub cause: Option<Cause>,
    /// Size of the packet dropped; null for other events.
    #[column(unit = "bytes")]
    pub bytes: Option<u64>,
    /// New cell of a handover or re-establishment; null for other events.
    pub cell: Option<u16>,
}

impl Event {
    /// Creates an event of a flow at this time from the end of the warm-up.
    pub fn new(at: Span, flow: u32, event: Incident) -> Event {
        Event {
            time_s: at.as_secs(),
            flow: FlowNumber(flow),
            event,
            cause: event.cause(),
            bytes: event.bytes().map(|size| size.0),
            cell: event.cell(),
        }
    }
}

/// Events of all flows.
pub(crate) type Incidents = Rows<Event>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_words_have_the_same_order() {
        let drop = Incident::Drop(Cause::Radio, Bytes(1));
        let all = [
            (drop, "drop"),
            (Incident::Timeout, "timeout"),
            (Incident::Recovery, "recovery"),
            (Incident::HandoverStart(1), "handover_start"),
            (Incident::HandoverEnd(1), "handover_end"),
            (Incident::HandoverFailure(1), "handover_failure"),
            (Incident::LinkFailure, "radio_link_failure"),
            (Incident::Reestablishment(1), "reestablishment"),
        ];
        for (incident, word) in all {
            assert_eq!(Incident::WORDS[incident.word() as usize], word);
        }
        for (place, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, place, "{cause:?}");
        }
    }
}

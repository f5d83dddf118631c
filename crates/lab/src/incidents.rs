//! What befell the flows between two samples of their series: drops, timeouts, loss recovery, handover.

use crate::columns::{Cell, Columns, FlowNumber, Kind, one_column};
use crate::table::Rows;
use airwnd_network::Cause;
use airwnd_units::{Bytes, Span};
use std::sync::LazyLock;

/// What befell a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incident {
    /// A packet of it was dropped, data or acknowledgment.
    Drop(Cause, Bytes),
    /// The retransmission timer of its sender expired.
    Timeout,
    /// Its sender began to repair a loss.
    Recovery,
    /// Its UE left its cell for this one.
    HandoverStart(u16),
    /// This cell serves its UE.
    HandoverEnd(u16),
    /// This cell could not take its UE.
    HandoverFailure(u16),
    /// Its UE gave its cell up.
    LinkFailure,
    /// This cell serves its UE after a failure.
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

    /// The place of its word in [`Incident::WORDS`].
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

/// Names of the causes, each at the place of its cause.
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
    /// `drop` of a packet, data or ACK; `timeout` or `recovery` (the data's sender's retransmission timer expired, or it
    /// began a loss recovery); for the flow's UE `handover_start`, `handover_end`, `handover_failure`,
    /// `radio_link_failure` or `reestablishment`.
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
    /// Of a flow, at this time from the end of the warm-up.
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
    fn each_word_stands_at_its_place() {
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

//! What befell the flows between two samples of their series: drops, timeouts, loss recovery, handover.

use crate::table::{Column, NOTHING, Table, table};
use airwnd_network::Cause;
use airwnd_units::{Bytes, Span};

/// What befell a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incident {
    /// A packet of it was dropped, data or acknowledgment.
    Drop(Cause, Bytes),
    /// The retransmission timer of its sender expired.
    Timeout,
    /// Its sender began to repair a loss.
    Recovery,
    /// Its terminal left its cell for this one.
    HandoverStart(u16),
    /// This cell serves its terminal.
    HandoverEnd(u16),
    /// This cell could not take its terminal.
    HandoverFailure(u16),
    /// Its terminal gave its cell up.
    LinkFailure,
    /// This cell serves its terminal after a failure.
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

/// Incidents of all flows in the order of time, which counts from the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incidents {
    rows: Vec<(Span, u32, Incident)>,
}

impl Incidents {
    pub fn record(&mut self, at: Span, flow: u32, incident: Incident) {
        self.rows.push((at, flow, incident));
    }

    /// The table by columns; `flows` names the flows.
    pub fn table(&self, flows: Vec<String>) -> Table {
        let whole = |of: fn(Incident) -> Option<u32>| {
            self.rows.iter().map(|(_, _, incident)| of(*incident).unwrap_or(NOTHING)).collect()
        };
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        table([
            ("time_s", Column::F64(self.rows.iter().map(|(at, ..)| at.as_secs()).collect())),
            ("flow", Column::Words(self.rows.iter().map(|(_, flow, _)| *flow).collect(), flows)),
            ("event", Column::Words(whole(|incident| Some(incident.word())), words(&Incident::WORDS))),
            (
                "cause",
                Column::Words(
                    whole(|incident| incident.cause().map(|cause| cause as u32)),
                    words(&Cause::ALL.map(Cause::name)),
                ),
            ),
            ("bytes", Column::U32(whole(|incident| incident.bytes().map(|size| size.0 as u32)))),
            ("cell", Column::U32(whole(|incident| incident.cell().map(u32::from)))),
        ])
    }
}

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

//! Forward RTO-Recovery (RFC 5682): detects a spurious timeout by the ACKs that follow it.

/// State of the detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// Inactive, or decided: lost segments are retransmitted.
    #[default]
    Off,
    /// The head was retransmitted; its ACK is pending.
    HeadResent,
    /// That ACK was received; new data is sent instead of lost segments until the next ACK decides.
    Forward,
}

/// Properties of an ACK after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reply {
    /// It acknowledges new data.
    pub advanced: bool,
    /// It SACKs new data, or is a duplicate ACK.
    pub is_duplicate: bool,
    /// It reports data that was sent before the timeout and never retransmitted.
    pub has_original: bool,
    /// It acknowledges all data sent before the timeout.
    pub is_complete: bool,
    /// New data was sent since the timeout.
    pub went_forward: bool,
    /// New data can be sent.
    pub has_new: bool,
}

impl Frto {
    /// Processes an ACK; returns true if the timeout was spurious.
    pub fn on_ack(&mut self, reply: Reply) -> bool {
        if *self == Frto::Off {
            return false;
        }
        //= RFC 5682 §3.1 step 3 (b), §2.1 step 3 (b): data that was not retransmitted has arrived
        if reply.has_original && !(reply.is_complete && *self == Frto::HeadResent) {
            *self = Frto::Off;
            return true;
        }
        *self = match *self {
            //= RFC 5682 §2.1 step 2 (b)
            Frto::HeadResent if reply.advanced && !reply.is_complete && reply.has_new => Frto::Forward,
            //= RFC 5682 §2.1 steps 2 (a) and 3 (a)
            _ if reply.advanced || (reply.is_duplicate && reply.went_forward) => Frto::Off,
            unchanged => unchanged,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD_ACKED: Reply = Reply {
        advanced: true,
        is_duplicate: false,
        has_original: false,
        is_complete: false,
        went_forward: false,
        has_new: true,
    };

    #[test]
    fn an_ack_of_data_sent_once_proves_the_timeout_spurious() {
        let mut frto = Frto::HeadResent;
        assert!(!frto.on_ack(HEAD_ACKED));
        assert_eq!(frto, Frto::Forward);
        assert!(frto.on_ack(Reply { has_original: true, went_forward: true, ..HEAD_ACKED }));
        assert_eq!(frto, Frto::Off);
    }

    #[test]
    fn a_duplicate_ack_after_new_data_proves_the_loss() {
        let mut frto = Frto::HeadResent;
        let duplicate = Reply { advanced: false, is_duplicate: true, ..HEAD_ACKED };
        assert!(!frto.on_ack(duplicate));
        assert_eq!(frto, Frto::HeadResent, "it may be caused by data sent before the timeout");
        frto.on_ack(HEAD_ACKED);
        assert!(!frto.on_ack(Reply { went_forward: true, ..duplicate }));
        assert_eq!(frto, Frto::Off);
    }

    #[test]
    fn no_decision_if_all_is_acknowledged_at_once_or_without_new_data() {
        let mut complete = Frto::HeadResent;
        assert!(!complete.on_ack(Reply { has_original: true, is_complete: true, ..HEAD_ACKED }));
        assert_eq!(complete, Frto::Off);
        let mut idle = Frto::HeadResent;
        assert!(!idle.on_ack(Reply { has_new: false, ..HEAD_ACKED }));
        assert_eq!(idle, Frto::Off);
    }
}

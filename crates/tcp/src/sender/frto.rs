//! Forward RTO-recovery (RFC 5682): after a timeout, do the next ACKs answer what was sent before it?

/// How far the question is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// It is not asked, or answered: lost segments are sent again.
    #[default]
    Off,
    /// The first segment went out again; its ACK is waited for.
    Asked,
    /// That came, and new data goes out instead of lost segments until the next ACK tells.
    Forward,
}

/// What an ACK brings after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reply {
    /// It acknowledges something new.
    pub advanced: bool,
    /// It reports something by SACK, or is a duplicate ACK.
    pub is_duplicate: bool,
    /// It reports data sent before the timeout and never again.
    pub has_original: bool,
    /// It acknowledges all that was sent before the timeout.
    pub is_complete: bool,
    /// New data was sent since.
    pub went_forward: bool,
    /// New data can be sent.
    pub has_new: bool,
}

impl Frto {
    /// Returns whether the timeout was spurious.
    pub fn on_ack(&mut self, reply: Reply) -> bool {
        if *self == Frto::Off {
            return false;
        }
        //= RFC 5682 §3.1 step 3 (b), §2.1 step 3 (b): what was not sent again has arrived
        if reply.has_original && !(reply.is_complete && *self == Frto::Asked) {
            *self = Frto::Off;
            return true;
        }
        *self = match *self {
            //= RFC 5682 §2.1 step 2 (b)
            Frto::Asked if reply.advanced && !reply.is_complete && reply.has_new => Frto::Forward,
            //= RFC 5682 §2.1 steps 2 (a) and 3 (a)
            _ if reply.advanced || (reply.is_duplicate && reply.went_forward) => Frto::Off,
            asked => asked,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD_ANSWERED: Reply = Reply {
        advanced: true,
        is_duplicate: false,
        has_original: false,
        is_complete: false,
        went_forward: false,
        has_new: true,
    };

    #[test]
    fn data_that_was_not_sent_again_proves_the_timeout_spurious() {
        let mut frto = Frto::Asked;
        assert!(!frto.on_ack(HEAD_ANSWERED));
        assert_eq!(frto, Frto::Forward);
        assert!(frto.on_ack(Reply { has_original: true, went_forward: true, ..HEAD_ANSWERED }));
        assert_eq!(frto, Frto::Off);
    }

    #[test]
    fn a_duplicate_after_new_data_proves_the_loss() {
        let mut frto = Frto::Asked;
        let duplicate = Reply { advanced: false, is_duplicate: true, ..HEAD_ANSWERED };
        assert!(!frto.on_ack(duplicate));
        assert_eq!(frto, Frto::Asked, "it may be an answer to what was sent before");
        frto.on_ack(HEAD_ANSWERED);
        assert!(!frto.on_ack(Reply { went_forward: true, ..duplicate }));
        assert_eq!(frto, Frto::Off);
    }

    #[test]
    fn nothing_is_learnt_if_all_is_acknowledged_at_once_or_there_is_no_new_data() {
        let mut complete = Frto::Asked;
        assert!(!complete.on_ack(Reply { has_original: true, is_complete: true, ..HEAD_ANSWERED }));
        assert_eq!(complete, Frto::Off);
        let mut idle = Frto::Asked;
        assert!(!idle.on_ack(Reply { has_new: false, ..HEAD_ANSWERED }));
        assert_eq!(idle, Frto::Off);
    }
}

//! Detection of spurious reductions, to undo them.

use crate::Seq;
use crate::cc::Before;
use airwnd_units::Time;

/// The window before the last reduction for a loss, and the outcome of retransmissions since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    episode: Option<Episode>,
    /// Transmission time of the first of the retransmissions that are not all acknowledged. A retransmission of an
    /// earlier episode may be acknowledged in this one.
    first_resend: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Episode {
    before: Before,
    /// SND.UNA at the start: D-SACKs below it concern earlier episodes.
    una: Seq,
    /// Retransmissions not reported by a D-SACK; `None`: no retransmissions yet.
    unexplained: Option<u32>,
}

impl Undo {
    /// Starts an episode when a loss reduces the window. A reduction during recovery (`continues`) belongs to the
    /// current episode. `resent` earlier retransmitted segments are still outstanding.
    pub fn begin(&mut self, before: Before, una: Seq, resent: u32, continues: bool) {
        if continues && self.episode.is_some() {
            return;
        }
        let unexplained = (resent > 0).then_some(resent);
        self.episode = Some(Episode { before, una, unexplained });
        if resent == 0 {
            self.first_resend = None;
        }
    }

    pub fn on_resend(&mut self, now: Time) {
        self.first_resend.get_or_insert(now);
        if let Some(episode) = &mut self.episode {
            episode.unexplained = Some(episode.unexplained.unwrap_or(0) + 1);
        }
    }

    /// Processes a D-SACK of `segments` segments up to `end`.
    pub fn on_dsack(&mut self, segments: u32, end: Seq) {
        if let Some(episode) = self.episode.as_mut().filter(|episode| end.is_after(episode.una)) {
            episode.unexplained = episode.unexplained.map(|left| left.saturating_sub(segments));
        }
    }

    /// Returns true if there is a reduction that could be undone.
    pub fn is_open(&self) -> bool {
        self.episode.is_some()
    }

    //= RFC 3708 §3: the originals of all retransmissions have arrived
    pub fn all_were_duplicates(&self) -> bool {
        self.episode.is_some_and(|episode| episode.unexplained == Some(0))
    }

    //= RFC 3522 §3.2 (4): the first ACK of new data echoes a timestamp older than the retransmission's
    /// `echoed_by` is the end of the tick in which the echoed segment left.
    pub fn is_ack_of_original(&self, echoed_by: Option<Time>) -> bool {
        matches!((echoed_by, self.first_resend), (Some(echoed_by), Some(first)) if echoed_by < first)
    }

    /// Ends a spurious episode; returns the window before it.
    pub fn take(&mut self) -> Option<Before> {
        self.episode.take().map(|episode| episode.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_units::Bytes;

    const BEFORE: Before = Before { cwnd: Bytes(10_000), ssthresh: Bytes(7000) };

    #[test]
    fn undo_requires_a_duplicate_of_every_retransmission() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        assert!(!undo.all_were_duplicates(), "no retransmissions yet");
        undo.on_resend(Time(1));
        undo.on_resend(Time(2));
        undo.on_dsack(1, Seq(1000));
        assert!(!undo.all_were_duplicates());
        undo.on_dsack(1, Seq(0));
        assert!(!undo.all_were_duplicates(), "the D-SACK concerns an earlier episode");
        undo.on_dsack(1, Seq(2000));
        assert!(undo.all_were_duplicates());
        assert_eq!(undo.take(), Some(BEFORE));
        assert_eq!(undo.take(), None);
    }

    #[test]
    fn the_echo_must_be_older_than_the_first_retransmission() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        assert!(!undo.is_ack_of_original(Some(Time(0))));
        undo.on_resend(Time(100));
        undo.on_resend(Time(200));
        assert!(undo.is_ack_of_original(Some(Time(99))));
        assert!(!undo.is_ack_of_original(Some(Time(100))) && !undo.is_ack_of_original(None));
    }

    #[test]
    fn an_ack_of_an_earlier_episodes_retransmission_is_not_an_ack_of_an_original() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        undo.on_resend(Time(100));
        undo.begin(BEFORE, Seq(5000), 1, false);
        undo.on_resend(Time(300));
        assert!(undo.is_ack_of_original(Some(Time(99))) && !undo.is_ack_of_original(Some(Time(100))));
        undo.begin(BEFORE, Seq(9000), 0, false);
        undo.on_resend(Time(500));
        assert!(undo.is_ack_of_original(Some(Time(499))));
    }

    #[test]
    fn undo_of_a_timeout_in_a_recovery_restores_the_window_before_both() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        undo.begin(Before { cwnd: Bytes(5000), ssthresh: Bytes(5000) }, Seq(0), 1, true);
        assert_eq!(undo.take(), Some(BEFORE));
    }
}

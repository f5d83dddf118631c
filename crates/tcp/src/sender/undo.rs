//! Reductions that had no reason: how they are recognised, so that they can be taken back.

use crate::Seq;
use crate::cc::Before;
use airwnd_units::Time;

/// What was before the last reduction for a loss, and what has become of the retransmissions since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    episode: Option<Episode>,
    /// When the first of the retransmissions went out that are not all acknowledged. What was sent again in an earlier
    /// episode may be answered in this one.
    first_resend: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Episode {
    before: Before,
    /// SND.UNA then: D-SACKs below tell of older things.
    una: Seq,
    /// Retransmissions that no D-SACK has reported, if there were any.
    unexplained: Option<u32>,
}

impl Undo {
    /// A loss reduces the window. One that does so while another is repaired is part of it. `resent` segments sent
    /// again before are still out.
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

    /// So many segments came twice, up to `end`.
    pub fn on_dsack(&mut self, segments: u32, end: Seq) {
        if let Some(episode) = self.episode.as_mut().filter(|episode| end.is_after(episode.una)) {
            episode.unexplained = episode.unexplained.map(|left| left.saturating_sub(segments));
        }
    }

    /// Whether there is a reduction that could be taken back.
    pub fn is_open(&self) -> bool {
        self.episode.is_some()
    }

    //= RFC 3708 §3: all that was sent again had arrived the first time
    pub fn all_came_twice(&self) -> bool {
        self.episode.is_some_and(|episode| episode.unexplained == Some(0))
    }

    //= RFC 3522 §3.2 (4): the first ACK of new data echoes a timestamp older than the retransmission's
    /// `echoed_by` is the end of the tick in which the echoed segment left.
    pub fn is_answer_to_original(&self, echoed_by: Option<Time>) -> bool {
        matches!((echoed_by, self.first_resend), (Some(echoed_by), Some(first)) if echoed_by < first)
    }

    /// It was spurious: what was before.
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
    fn every_retransmission_must_have_come_twice() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        assert!(!undo.all_came_twice(), "nothing was sent again yet");
        undo.on_resend(Time(1));
        undo.on_resend(Time(2));
        undo.on_dsack(1, Seq(1000));
        assert!(!undo.all_came_twice());
        undo.on_dsack(1, Seq(0));
        assert!(!undo.all_came_twice(), "that was before");
        undo.on_dsack(1, Seq(2000));
        assert!(undo.all_came_twice());
        assert_eq!(undo.take(), Some(BEFORE));
        assert_eq!(undo.take(), None);
    }

    #[test]
    fn the_echo_must_be_older_than_the_first_retransmission() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        assert!(!undo.is_answer_to_original(Some(Time(0))));
        undo.on_resend(Time(100));
        undo.on_resend(Time(200));
        assert!(undo.is_answer_to_original(Some(Time(99))));
        assert!(!undo.is_answer_to_original(Some(Time(100))) && !undo.is_answer_to_original(None));
    }

    #[test]
    fn the_answer_to_a_retransmission_of_an_earlier_episode_is_none_to_an_original() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        undo.on_resend(Time(100));
        undo.begin(BEFORE, Seq(5000), 1, false);
        undo.on_resend(Time(300));
        assert!(undo.is_answer_to_original(Some(Time(99))) && !undo.is_answer_to_original(Some(Time(100))));
        undo.begin(BEFORE, Seq(9000), 0, false);
        undo.on_resend(Time(500));
        assert!(undo.is_answer_to_original(Some(Time(499))));
    }

    #[test]
    fn a_timeout_in_a_recovery_goes_back_to_what_was_before_both() {
        let mut undo = Undo::default();
        undo.begin(BEFORE, Seq(0), 0, false);
        undo.begin(Before { cwnd: Bytes(5000), ssthresh: Bytes(5000) }, Seq(0), 1, true);
        assert_eq!(undo.take(), Some(BEFORE));
    }
}

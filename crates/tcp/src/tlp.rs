//! Tail loss probes (RFC 8985 §7): when no ACK comes, a segment that asks for one, before the retransmission timeout.

use crate::Seq;
use airwnd_units::{Span, Time};

/// The timeout before the first round-trip time sample.
const FIRST_TIMEOUT: Span = Span::from_secs(1);

/// The probe timer, and the probe that is under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    at: Option<Time>,
    due: bool,
    /// SND.NXT after the probe (TLP.end_seq), while its outcome is open.
    pending: Option<Pending>,
    /// A probe went out since the last round-trip time sample.
    unsampled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    end: Seq,
    retransmits: bool,
}

/// What an ACK says of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub ack: Seq,
    /// The end of what it reports to have come twice.
    pub dsack_end: Option<Seq>,
    /// It acknowledges nothing new and has no SACK.
    pub is_bare_duplicate: bool,
}

impl Tlp {
    //= RFC 8985 §7.2 TLP_calc_PTO
    /// Starts the timer anew. `ack_delay` is allowed for if the peer may be waiting for a second segment.
    pub fn schedule(&mut self, now: Time, srtt: Option<Span>, ack_delay: Option<Span>, rto_at: Option<Time>) {
        let wait = srtt.map_or(FIRST_TIMEOUT, |srtt| srtt * 2 + ack_delay.unwrap_or(Span::ZERO));
        self.at = Some(rto_at.map_or(now + wait, |rto| rto.min(now + wait)));
    }

    pub fn cancel(&mut self) {
        self.at = None;
        self.due = false;
    }

    pub fn at(&self) -> Option<Time> {
        self.at
    }

    /// Time has come to `now`; returns whether a probe is due.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        if self.at.is_none_or(|at| at > now) {
            return false;
        }
        self.at = None;
        //= RFC 8985 §7.3: one at a time, and not without a new round-trip time
        self.due = self.pending.is_none() && !self.unsampled;
        self.due
    }

    /// Whether a probe shall go out, once.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    pub fn on_probe(&mut self, end: Seq, retransmits: bool) {
        self.pending = Some(Pending { end, retransmits });
        self.unsampled = true;
    }

    pub fn on_rtt_sample(&mut self) {
        self.unsampled = false;
    }

    //= RFC 8985 §7.4.2 TLP_process_ack
    /// Returns whether the probe has repaired a loss that nothing else will tell of.
    pub fn on_ack(&mut self, answer: Answer) -> bool {
        let Some(pending) = self.pending.filter(|pending| !answer.ack.is_before(pending.end)) else {
            return false;
        };
        let beyond = answer.ack.is_after(pending.end);
        let came_twice = answer.dsack_end == Some(pending.end) || answer.is_bare_duplicate;
        if !pending.retransmits || came_twice || beyond {
            self.pending = None;
        }
        pending.retransmits && !came_twice && beyond
    }

    /// A recovery begins, of which the probe is a part.
    pub fn on_recovery(&mut self) {
        self.pending = None;
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn answer(ack: u32) -> Answer {
        Answer { ack: Seq(ack), dsack_end: None, is_bare_duplicate: false }
    }

    #[test]
    fn the_timer_is_two_round_trips_but_no_later_than_the_timeout() {
        let mut tlp = Tlp::default();
        let srtt = Some(Span::from_millis(50));
        tlp.schedule(ms(10), srtt, None, Some(ms(500)));
        assert_eq!(tlp.at(), Some(ms(110)));
        tlp.schedule(ms(10), srtt, Some(Span::from_millis(200)), Some(ms(500)));
        assert_eq!(tlp.at(), Some(ms(310)));
        tlp.schedule(ms(10), srtt, None, Some(ms(90)));
        assert_eq!(tlp.at(), Some(ms(90)));
        tlp.schedule(ms(10), None, None, None);
        assert_eq!(tlp.at(), Some(ms(1010)));
    }

    #[test]
    fn no_second_probe_before_the_first_is_answered_and_a_round_trip_is_sampled() {
        let mut tlp = Tlp::default();
        tlp.schedule(ms(0), None, None, Some(ms(100)));
        assert!(!tlp.on_timeout(ms(99)) && tlp.on_timeout(ms(100)) && tlp.take_due());
        tlp.on_probe(Seq(5000), false);
        tlp.schedule(ms(100), None, None, Some(ms(200)));
        assert!(!tlp.on_timeout(ms(200)));
        assert!(!tlp.on_ack(answer(5000)));
        tlp.schedule(ms(200), None, None, Some(ms(300)));
        assert!(!tlp.on_timeout(ms(300)), "no sample yet");
        tlp.on_rtt_sample();
        tlp.schedule(ms(300), None, None, Some(ms(400)));
        assert!(tlp.on_timeout(ms(400)));
    }

    #[test]
    fn a_repaired_loss_is_told_and_a_needless_probe_is_not() {
        let probed = || {
            let mut tlp = Tlp::default();
            tlp.on_probe(Seq(5000), true);
            tlp
        };
        let mut repaired = probed();
        assert!(!repaired.on_ack(answer(4000)) && !repaired.on_ack(answer(5000)));
        assert!(repaired.on_ack(answer(6000)));
        assert!(!repaired.on_ack(answer(7000)), "once");
        let mut reported = probed();
        assert!(!reported.on_ack(Answer { dsack_end: Some(Seq(5000)), ..answer(5000) }));
        assert!(!reported.on_ack(answer(6000)));
        let mut repeated = probed();
        assert!(!repeated.on_ack(Answer { is_bare_duplicate: true, ..answer(5000) }));
        assert!(!repeated.on_ack(answer(6000)));
    }
}

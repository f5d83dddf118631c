//! Tail loss probes (RFC 8985 §7): if no ACK arrives, a segment is sent to elicit one before the retransmission
//! timeout.

use crate::Seq;
use airwnd_units::{Span, Time};

/// Probe timeout before the first RTT sample.
const FIRST_TIMEOUT: Span = Span::from_secs(1);

/// The probe timer, and the outstanding probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    at: Option<Time>,
    due: bool,
    /// SND.NXT after the probe (TLP.end_seq), until its outcome is known.
    pending: Option<Pending>,
    /// A probe was sent since the last RTT sample.
    unsampled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    end: Seq,
    retransmits: bool,
}

/// Properties of an ACK for the evaluation of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    pub ack: Seq,
    /// End of the D-SACK block, if any.
    pub dsack_end: Option<Seq>,
    /// It acknowledges no new data and has no SACK blocks.
    pub is_bare_duplicate: bool,
}

impl Tlp {
    //= RFC 8985 §7.2 TLP_calc_PTO
    /// Restarts the timer. `ack_delay` is added if the peer may delay its ACK until a second segment arrives.
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

    /// Processes the timer at `now`; returns true if a probe is due.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        if self.at.is_none_or(|at| at > now) {
            return false;
        }
        self.at = None;
        //= RFC 8985 §7.3: one at a time, and not without a new RTT sample
        self.due = self.pending.is_none() && !self.unsampled;
        self.due
    }

    /// Returns true once if a probe is due.
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
    /// Returns true if the probe has repaired a loss that no other signal will reveal.
    pub fn on_ack(&mut self, ack: ProbeAck) -> bool {
        let Some(pending) = self.pending.filter(|pending| !ack.ack.is_before(pending.end)) else {
            return false;
        };
        let beyond = ack.ack.is_after(pending.end);
        let is_duplicate = ack.dsack_end == Some(pending.end) || ack.is_bare_duplicate;
        if !pending.retransmits || is_duplicate || beyond {
            self.pending = None;
        }
        pending.retransmits && !is_duplicate && beyond
    }

    /// Cancels probing at the start of a recovery, which includes the outstanding probe.
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

    fn probe_ack(ack: u32) -> ProbeAck {
        ProbeAck { ack: Seq(ack), dsack_end: None, is_bare_duplicate: false }
    }

    #[test]
    fn the_timer_is_two_rtts_but_at_most_the_retransmission_timeout() {
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
    fn no_second_probe_before_the_first_is_acked_and_an_rtt_is_sampled() {
        let mut tlp = Tlp::default();
        tlp.schedule(ms(0), None, None, Some(ms(100)));
        assert!(!tlp.on_timeout(ms(99)) && tlp.on_timeout(ms(100)) && tlp.take_due());
        tlp.on_probe(Seq(5000), false);
        tlp.schedule(ms(100), None, None, Some(ms(200)));
        assert!(!tlp.on_timeout(ms(200)));
        assert!(!tlp.on_ack(probe_ack(5000)));
        tlp.schedule(ms(200), None, None, Some(ms(300)));
        assert!(!tlp.on_timeout(ms(300)), "no sample yet");
        tlp.on_rtt_sample();
        tlp.schedule(ms(300), None, None, Some(ms(400)));
        assert!(tlp.on_timeout(ms(400)));
    }

    #[test]
    fn a_repaired_loss_is_reported_and_a_spurious_probe_is_not() {
        let probed = || {
            let mut tlp = Tlp::default();
            tlp.on_probe(Seq(5000), true);
            tlp
        };
        let mut repaired = probed();
        assert!(!repaired.on_ack(probe_ack(4000)) && !repaired.on_ack(probe_ack(5000)));
        assert!(repaired.on_ack(probe_ack(6000)));
        assert!(!repaired.on_ack(probe_ack(7000)), "once");
        let mut reported = probed();
        assert!(!reported.on_ack(ProbeAck { dsack_end: Some(Seq(5000)), ..probe_ack(5000) }));
        assert!(!reported.on_ack(probe_ack(6000)));
        let mut repeated = probed();
        assert!(!repeated.on_ack(ProbeAck { is_bare_duplicate: true, ..probe_ack(5000) }));
        assert!(!repeated.on_ack(probe_ack(6000)));
    }
}

//! RACK loss detection (RFC 8985): a segment is lost if it was sent sufficiently long before a delivered one.

use crate::Seq;
use airwnd_units::{Span, Time};

/// Recoveries without a D-SACK after which the reordering window is reset (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;

/// Most recently sent delivered segment, and reordering observed so far (RFC 8985 §5.2).
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The delivered segment with the latest transmission time (RACK.xmit_ts, RACK.end_seq).
    newest: Option<Sending>,
    /// RTT of that segment (RACK.rtt).
    rtt: Span,
    /// Minimum RTT of segments sent once. Exact, where an RTT by timestamps may be a tick too long.
    exact_min: Option<Span>,
    /// End of the highest delivered segment (RACK.fack), and its value before the current ACK.
    highest: Option<Seq>,
    highest_before: Option<Seq>,
    /// A segment sent once was delivered after a higher one (RACK.reordering_seen).
    reordering_seen: bool,
    /// Largest distance from the end of such a segment to that of the highest one delivered before, in bytes; 0 after a
    /// timeout that shows that it was overestimated.
    extent: u32,
    /// SND.NXT at the last increase of the window; no further increase before it is acknowledged (RACK.dsack_round).
    widened_until: Option<Seq>,
    /// The reordering window in quarters of the minimum RTT (RACK.reo_wnd_mult).
    quarters: u32,
    persist: u32,
    /// `newest` has changed since the last loss detection.
    advanced: bool,
    evidence: Evidence,
}

/// Last transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub at: Time,
    pub end: Seq,
    /// True if the segment was sent more than once.
    pub again: bool,
}

/// Timing information of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    pub now: Time,
    /// Upper bound of the transmission time of the segment whose timestamp is echoed: the end of its tick.
    pub echoed_by: Option<Time>,
    pub min_rtt: Option<Span>,
}

/// Inputs of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingInputs {
    pub min_rtt: Option<Span>,
    pub srtt: Option<Span>,
    /// True during loss recovery, or if as many segments are SACKed as the duplicate threshold.
    pub is_urgent: bool,
}

impl Rack {
    pub fn new() -> Rack {
        Rack {
            newest: None,
            rtt: Span::ZERO,
            exact_min: None,
            highest: None,
            highest_before: None,
            reordering_seen: false,
            extent: 0,
            widened_until: None,
            quarters: 1,
            persist: 0,
            advanced: false,
            evidence: Evidence::default(),
        }
    }

    /// Starts an ACK: the following arrivals belong to it.
    pub fn on_ack(&mut self, evidence: Evidence) {
        self.evidence = evidence;
        self.highest_before = self.highest;
    }

    /// Processes the first report of a segment's delivery, cumulatively or by SACK. With SACK the timestamp echoes the
    /// last in-order segment (RFC 7323 §4.3) and does not identify this one.
    pub fn on_arrival(&mut self, segment: Sending, by_sack: bool) {
        self.note_order(segment);
        let Evidence { now, echoed_by, min_rtt } = self.evidence;
        let rtt = now - segment.at;
        //= RFC 8985 §6.2 step 1
        if !segment.again {
            self.exact_min = Some(self.exact_min.map_or(rtt, |min| min.min(rtt)));
        }
        let min_rtt = self.min_rtt(min_rtt);
        //= RFC 8985 §6.2 step 2: the ACK of a retransmitted segment may be due to the original transmission
        let is_old =
            echoed_by.is_some_and(|by| by < segment.at && !by_sack) || min_rtt.is_some_and(|min| rtt < min);
        if segment.again && is_old {
            return;
        }
        if self.newest.is_none_or(|newest| is_after(segment, newest)) {
            self.newest = Some(segment);
            self.rtt = rtt;
            self.advanced = true;
        }
    }

    fn min_rtt(&self, estimated: Option<Span>) -> Option<Span> {
        self.exact_min.into_iter().chain(estimated).min()
    }

    //= RFC 8985 §6.2 step 3
    fn note_order(&mut self, segment: Sending) {
        if let Some(highest) = self.highest_before.filter(|highest| segment.end.is_before(*highest))
            && !segment.again
        {
            self.reordering_seen = true;
            self.extent = self.extent.max(highest.since(segment.end));
        }
        self.highest = Some(self.highest.map_or(segment.end, |highest| highest.max(segment.end)));
    }

    /// Discards marks below `una`, which would appear to lie ahead after a wrap of sequence numbers.
    pub fn forget_before(&mut self, una: Seq) {
        if self.highest.is_some_and(|highest| highest.is_before(una)) {
            self.highest = Some(una);
        }
        //= RFC 8985 §6.2 step 4
        if self.widened_until.is_some_and(|until| !una.is_before(until)) {
            self.widened_until = None;
        }
    }

    /// Enlarges the reordering window after a spurious retransmission, at most once per RTT.
    pub fn on_dsack(&mut self, nxt: Seq) {
        if self.widened_until.is_none() {
            self.widened_until = Some(nxt);
            self.quarters += 1;
            self.persist = PERSISTENCE;
        }
    }

    /// Records reordering when timestamps show that the original transmission of a segment deemed lost arrived (Linux
    /// tcp_try_undo_partial). Step 3 alone ignores retransmitted segments, so a path that always reorders by more than
    /// the duplicate threshold would never be recognized.
    pub fn on_late_arrival(&mut self) {
        self.reordering_seen = true;
    }

    /// Returns true if a segment has been overtaken by at least so many segments sent later.
    pub fn reorders_by(&self, segments: u32, mss: u32) -> bool {
        self.extent >= segments * mss
    }

    /// Records a timeout although as many segments were SACKed as the extent of reordering allows to be early.
    pub fn on_overestimate(&mut self) {
        self.extent = 0;
    }

    /// Records the end of a recovery.
    pub fn on_repaired(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Returns the reordering window (RACK.reo_wnd).
    pub fn window(&self, inputs: ReorderingInputs) -> Span {
        //= RFC 8985 §6.2 step 4: no wait for reordered segments until reordering has been seen
        if !self.reordering_seen && inputs.is_urgent {
            return Span::ZERO;
        }
        let Some(min) = self.min_rtt(inputs.min_rtt) else { return Span::ZERO };
        let window = Span(min.0 / 4 * u64::from(self.quarters));
        inputs.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Returns true if `newest` has changed since the last call.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Returns true if the segment was sent before `newest`.
    pub fn is_overtaken(&self, segment: Sending) -> bool {
        self.newest.is_some_and(|newest| is_after(newest, segment))
    }

    //= RFC 8985 §6.2 step 5
    /// Returns the time at which the segment is lost, unless it arrives before.
    pub fn deadline(&self, segment: Sending, window: Span) -> Time {
        segment.at + self.rtt + window
    }
}

/// RFC 8985 §6.2 RACK_sent_after.
fn is_after(one: Sending, other: Sending) -> bool {
    one.at > other.at || (one.at == other.at && one.end.is_after(other.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn sending(at: u64, segment: u32, again: bool) -> Sending {
        Sending { at: ms(at), end: Seq((segment + 1) * 1000), again }
    }

    fn ack(rack: &mut Rack, now: u64, arrivals: &[Sending]) {
        let min_rtt = Some(Span::from_millis(40));
        rack.on_ack(Evidence { now: ms(now), echoed_by: None, min_rtt });
        for arrival in arrivals {
            rack.on_arrival(*arrival, true);
        }
    }

    fn inputs(is_urgent: bool) -> ReorderingInputs {
        ReorderingInputs {
            min_rtt: Some(Span::from_millis(40)),
            srtt: Some(Span::from_millis(100)),
            is_urgent,
        }
    }

    #[test]
    fn overtaken_segments_are_lost_an_rtt_and_a_window_after_transmission() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(10, 3, false)]);
        assert!(rack.is_overtaken(sending(10, 2, false)) && rack.is_overtaken(sending(9, 4, false)));
        assert!(!rack.is_overtaken(sending(10, 4, false)));
        // 5 + 50 + 40 / 4
        let window = rack.window(inputs(false));
        assert_eq!(rack.deadline(sending(5, 0, false), window), ms(65));
        assert_eq!(rack.window(inputs(true)), Span::ZERO);
    }

    #[test]
    fn an_ack_within_the_minimum_rtt_is_due_to_the_original_transmission() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(30, 0, true)]);
        assert!(!rack.take_advanced());
        ack(&mut rack, 70, &[sending(30, 1, true)]);
        assert!(rack.take_advanced() && !rack.take_advanced());
        rack.on_ack(Evidence { now: ms(200), echoed_by: Some(ms(90)), min_rtt: None });
        rack.on_arrival(sending(100, 2, true), false);
        assert!(!rack.take_advanced(), "the echo is older than the retransmission");
        rack.on_arrival(sending(100, 2, true), true);
        assert!(rack.take_advanced(), "with SACK the echo is not considered");
    }

    /// Segments 1 and 2 of one ACK are in order, regardless of their order in the list; segment 0 is late.
    #[test]
    fn reordering_is_an_arrival_below_an_earlier_acks_highest_segment() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(10, 2, false), sending(10, 1, false)]);
        assert_eq!(rack.window(inputs(true)), Span::ZERO);
        ack(&mut rack, 61, &[sending(50, 0, true)]);
        assert_eq!(rack.window(inputs(true)), Span::ZERO, "a retransmission is no reordering");
        ack(&mut rack, 61, &[sending(10, 0, false)]);
        assert_eq!(rack.window(inputs(true)), Span::from_millis(10));
        let mut reordering = Rack::new();
        reordering.on_late_arrival();
        assert_eq!(reordering.window(inputs(true)), Span::from_millis(10));
    }

    /// Segment 1 arrives after segment 4, three segments later. Retransmissions do not count.
    #[test]
    fn the_extent_of_reordering_is_a_distance_in_segments() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(10, 4, false)]);
        ack(&mut rack, 61, &[sending(30, 0, true)]);
        assert!(!rack.reorders_by(1, 1000));
        ack(&mut rack, 62, &[sending(10, 1, false)]);
        assert!(rack.reorders_by(3, 1000) && !rack.reorders_by(4, 1000));
        ack(&mut rack, 63, &[sending(10, 3, false)]);
        assert!(rack.reorders_by(3, 1000));
        rack.on_overestimate();
        assert!(!rack.reorders_by(1, 1000));
    }

    #[test]
    fn the_window_grows_once_per_round_up_to_srtt_and_is_reset_after_sixteen_recoveries() {
        let mut rack = Rack::new();
        for round in 1..=20 {
            rack.on_dsack(Seq(round * 1000));
            rack.on_dsack(Seq(round * 1000));
            let expected = (10 * (u64::from(round) + 1)).min(100);
            assert_eq!(rack.window(inputs(false)), Span::from_millis(expected));
            rack.forget_before(Seq(round * 1000));
        }
        for _ in 0..15 {
            rack.on_repaired();
        }
        assert_eq!(rack.window(inputs(false)), Span::from_millis(100));
        rack.on_repaired();
        assert_eq!(rack.window(inputs(false)), Span::from_millis(10));
    }
}

//! Losses found by time (RFC 8985, RACK): what was sent well before something that has arrived is lost.

use crate::Seq;
use airwnd_units::{Span, Time};

/// Recoveries without a D-SACK after which the reordering window is small again (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;

/// What is known of the newest arrival, and of how much packets overtake each other (RFC 8985 §5.2).
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The last sent of the segments that have arrived (RACK.xmit_ts, RACK.end_seq).
    newest: Option<Sending>,
    /// The round-trip time that it measured (RACK.rtt).
    rtt: Span,
    /// The least round-trip time of what was sent once; exact, where one by timestamps may be a tick too long.
    least: Option<Span>,
    /// The end of the highest segment that has arrived (RACK.fack), and what it was before the ACK at hand.
    highest: Option<Seq>,
    highest_before: Option<Seq>,
    /// A segment that was sent once has arrived after a higher one (RACK.reordering_seen).
    reordering_seen: bool,
    /// SND.NXT at the last widening: none before it is acknowledged (RACK.dsack_round).
    widened_until: Option<Seq>,
    /// The reordering window in quarters of the least round-trip time (RACK.reo_wnd_mult).
    quarters: u32,
    persist: u32,
    /// Something was learnt since losses were last looked for.
    advanced: bool,
    evidence: Evidence,
}

/// When a segment was last sent, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub at: Time,
    pub end: Seq,
    /// Whether it was sent more than once.
    pub again: bool,
}

/// What an ACK says beside its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    pub now: Time,
    /// When the segment left that its timestamp echoes, to a tick; the end of that tick.
    pub echoed_by: Option<Time>,
    pub min_rtt: Option<Span>,
}

/// What decides how long overtaken segments are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub min_rtt: Option<Span>,
    pub srtt: Option<Span>,
    /// A loss is being repaired, or so many segments are SACKed that one would be assumed by counting.
    pub hurries: bool,
}

impl Rack {
    pub fn new() -> Rack {
        Rack {
            newest: None,
            rtt: Span::ZERO,
            least: None,
            highest: None,
            highest_before: None,
            reordering_seen: false,
            widened_until: None,
            quarters: 1,
            persist: 0,
            advanced: false,
            evidence: Evidence::default(),
        }
    }

    /// An ACK begins: arrivals are its.
    pub fn on_ack(&mut self, evidence: Evidence) {
        self.evidence = evidence;
        self.highest_before = self.highest;
    }

    /// It reports this segment, which none has reported before: by its number, or by SACK. With SACK the echo is of
    /// what came last in order (RFC 7323 §4.3), and tells nothing of the segment.
    pub fn on_arrival(&mut self, segment: Sending, by_sack: bool) {
        self.note_order(segment);
        let Evidence { now, echoed_by, min_rtt } = self.evidence;
        let rtt = now - segment.at;
        //= RFC 8985 §6.2 step 1
        if !segment.again {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let min_rtt = self.min_rtt(min_rtt);
        //= RFC 8985 §6.2 step 2: of a segment sent again it may be the first sending that has arrived
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
        self.least.into_iter().chain(estimated).min()
    }

    //= RFC 8985 §6.2 step 3
    fn note_order(&mut self, segment: Sending) {
        let overtaken = self.highest_before.is_some_and(|highest| segment.end.is_before(highest));
        self.reordering_seen |= overtaken && !segment.again;
        self.highest = Some(self.highest.map_or(segment.end, |highest| highest.max(segment.end)));
    }

    /// Everything before `una` is acknowledged: marks behind it would come to lie ahead.
    pub fn forget_before(&mut self, una: Seq) {
        if self.highest.is_some_and(|highest| highest.is_before(una)) {
            self.highest = Some(una);
        }
        //= RFC 8985 §6.2 step 4
        if self.widened_until.is_some_and(|until| !una.is_before(until)) {
            self.widened_until = None;
        }
    }

    /// A retransmission had no reason: wait longer, but not twice in a round trip.
    pub fn on_dsack(&mut self, nxt: Seq) {
        if self.widened_until.is_none() {
            self.widened_until = Some(nxt);
            self.quarters += 1;
            self.persist = PERSISTENCE;
        }
    }

    /// What was sent again for lost has arrived before that, as timestamps tell: packets do overtake each other. By
    /// step 3 alone, which ignores what was sent again, a path on which they always do so by more than the threshold
    /// of duplicates would never be known as one (Linux tcp_try_undo_partial).
    pub fn on_late_arrival(&mut self) {
        self.reordering_seen = true;
    }

    /// A loss is repaired.
    pub fn on_repaired(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// How long overtaken segments are waited for (RACK.reo_wnd).
    pub fn window(&self, patience: Patience) -> Span {
        //= RFC 8985 §6.2 step 4: until reordering has been seen, the threshold of duplicates holds
        if !self.reordering_seen && patience.hurries {
            return Span::ZERO;
        }
        let Some(min) = self.min_rtt(patience.min_rtt) else { return Span::ZERO };
        let window = Span(min.0 / 4 * u64::from(self.quarters));
        patience.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Whether anything was learnt since the last call.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Whether the segment was sent before the newest that has arrived.
    pub fn is_overtaken(&self, segment: Sending) -> bool {
        self.newest.is_some_and(|newest| is_after(newest, segment))
    }

    //= RFC 8985 §6.2 step 5
    /// When the segment is lost, unless it arrives before.
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

    fn patience(hurries: bool) -> Patience {
        Patience { min_rtt: Some(Span::from_millis(40)), srtt: Some(Span::from_millis(100)), hurries }
    }

    #[test]
    fn overtaken_segments_are_due_a_round_trip_and_a_window_after_they_were_sent() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(10, 3, false)]);
        assert!(rack.is_overtaken(sending(10, 2, false)) && rack.is_overtaken(sending(9, 4, false)));
        assert!(!rack.is_overtaken(sending(10, 4, false)));
        // 5 + 50 + 40 / 4
        let window = rack.window(patience(false));
        assert_eq!(rack.deadline(sending(5, 0, false), window), ms(65));
        assert_eq!(rack.window(patience(true)), Span::ZERO);
    }

    #[test]
    fn an_answer_sooner_than_the_least_round_trip_is_to_the_first_sending() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(30, 0, true)]);
        assert!(!rack.take_advanced());
        ack(&mut rack, 70, &[sending(30, 1, true)]);
        assert!(rack.take_advanced() && !rack.take_advanced());
        rack.on_ack(Evidence { now: ms(200), echoed_by: Some(ms(90)), min_rtt: None });
        rack.on_arrival(sending(100, 2, true), false);
        assert!(!rack.take_advanced(), "the echo is older than the retransmission");
        rack.on_arrival(sending(100, 2, true), true);
        assert!(rack.take_advanced(), "of a SACK that says nothing");
    }

    /// Segments 1 and 2 of one ACK are in order, however they are listed; segment 0 comes late.
    #[test]
    fn reordering_is_an_arrival_below_what_an_earlier_ack_reported() {
        let mut rack = Rack::new();
        ack(&mut rack, 60, &[sending(10, 2, false), sending(10, 1, false)]);
        assert_eq!(rack.window(patience(true)), Span::ZERO);
        ack(&mut rack, 61, &[sending(50, 0, true)]);
        assert_eq!(rack.window(patience(true)), Span::ZERO, "a retransmission is no reordering");
        ack(&mut rack, 61, &[sending(10, 0, false)]);
        assert_eq!(rack.window(patience(true)), Span::from_millis(10));
        let mut told = Rack::new();
        told.on_late_arrival();
        assert_eq!(told.window(patience(true)), Span::from_millis(10));
    }

    #[test]
    fn the_window_grows_once_a_round_up_to_srtt_and_shrinks_after_sixteen_recoveries() {
        let mut rack = Rack::new();
        for round in 1..=20 {
            rack.on_dsack(Seq(round * 1000));
            rack.on_dsack(Seq(round * 1000));
            let expected = (10 * (u64::from(round) + 1)).min(100);
            assert_eq!(rack.window(patience(false)), Span::from_millis(expected));
            rack.forget_before(Seq(round * 1000));
        }
        for _ in 0..15 {
            rack.on_repaired();
        }
        assert_eq!(rack.window(patience(false)), Span::from_millis(100));
        rack.on_repaired();
        assert_eq!(rack.window(patience(false)), Span::from_millis(10));
    }
}

//! What an ACK brings: the window, what has arrived, what the congestion control hears of it.

use super::rack::Evidence;
use super::scoreboard::Advanced;
use super::{Acknowledgment, Phase, Position, Progress, Sender};
use crate::Seq;
use crate::cc::{Ack, Congestion, Signal};
use crate::rwnd::Instruction;
use crate::segment::SackBlock;
use crate::stack::Recovery;
use airwnd_units::{Bytes, Time};
use std::num::NonZeroU8;

impl Sender {
    pub fn position(&self, ack: Seq) -> Position {
        if ack.is_before(self.una) {
            Position::Old
        } else if ack.is_after(self.nxt + u32::from(self.probed)) {
            Position::Unsent
        } else {
            Position::Valid
        }
    }

    /// Whether an acknowledgment is for something that none has been for.
    pub fn is_news(&self, ack: Seq) -> bool {
        ack.is_after(self.una) && self.position(ack) == Position::Valid
    }

    /// An acknowledgment at a valid [`position`](Sender::position).
    pub fn on_ack(&mut self, ack: &Acknowledgment<'_>) {
        let repeats_window = self.update_window(ack);
        // What an end that only receives gets with each segment: there is nothing to learn.
        if ack.ack == self.una && self.board.outstanding() == 0 && self.sender_half.is_none() {
            return;
        }
        if ack.ack.is_after(self.nxt) {
            self.accept_probe(ack.now);
        }
        let prior_flight = self.board.pipe();
        let carried_sack = self.sack && !ack.sack[0].is_empty();
        let (now, echoed_by) = (ack.now, ack.echoed_by);
        self.board.on_ack(Evidence { now, echoed_by, min_rtt: self.rtt.min() });
        let twice = if carried_sack { self.take_dsack(ack) } else { None };
        let sacked =
            if carried_sack { self.board.sack(ack.sack, self.config.duplicate_threshold) } else { 0 };
        let had_outstanding = self.board.outstanding() > 0;
        let una_before = self.una;
        let step = self.advance(ack);
        let advanced = step.is_some();
        let taken = step.unwrap_or_default();
        self.find_losses(ack.now, false);
        let is_duplicate = if self.sack {
            //= RFC 6675 §2: it SACKs what was not SACKed before
            sacked > 0
        } else {
            //= RFC 5681 §2: nothing new, no data, and data is outstanding
            let repeats = repeats_window || !self.config.duplicate_repeats_window;
            !advanced && had_outstanding && !ack.has_data && repeats
        };
        let delivered = sacked + taken.delivered;
        self.counts.duplicate_acks += u64::from(is_duplicate);
        let recounts = self.config.recount_at_exit && advanced && self.ends_recovery();
        let counted = if recounts { self.una.since(una_before) } else { delivered };
        let rate = self.board.take_rate_sample(ack.now, self.rtt.min());
        let told = std::mem::replace(&mut self.lost_told, self.board.totals().lost);
        let lost = self.lost_told - told;
        let marks = self.heed.on_ack(ack.flags, delivered, self.mss);
        let mut progress =
            Progress { delivered, counted, taken, advanced, is_duplicate, prior_flight, lost, rate, marks };
        self.tell_losses(ack.now);
        if advanced || is_duplicate {
            let delivered = self.presume(&progress, advanced);
            let event = self.event(ack, &progress, delivered);
            self.cc.on_delivery(&event);
        }
        if marks.any {
            self.on_marks(ack.now);
        }
        self.take_back(ack, &progress);
        if is_duplicate {
            self.on_duplicate(ack.now, &progress);
        }
        progress.is_duplicate |= self.repair_late(ack.now, &progress);
        if advanced {
            self.on_advance(ack, &progress);
            self.schedule_probe(ack.now);
        }
        self.hear_of_probe(ack, twice, !advanced && !carried_sack && !ack.has_data);
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.obey(ack.code);
        }
    }

    /// Lets the sender's half of the receive-window control set the congestion window. Not during loss recovery, which has
    /// a window of its own.
    fn obey(&mut self, code: Option<NonZeroU8>) {
        let Some(half) = &mut self.sender_half else { return };
        self.counts.codes += u64::from(code.is_some());
        let largest_window = Bytes(self.offer.max.into());
        let before = self.cc.cwnd();
        let cwnd = half.on_ack(&Instruction { code, cwnd: before, largest_window });
        if cwnd != before {
            self.cc.set_cwnd(cwnd);
        }
    }

    //= RFC 2883 §4, §5
    /// What the first block reports to have come twice. More duplicates than there were retransmissions are the
    /// network's (RFC 3708 §3).
    pub(super) fn take_dsack(&mut self, ack: &Acknowledgment<'_>) -> Option<SackBlock> {
        let [first, second, _] = *ack.sack;
        let is_below = first.start.is_before(ack.ack);
        let is_inside =
            !second.is_empty() && !first.start.is_before(second.start) && !first.end.is_after(second.end);
        if !self.config.dsack || !(is_below || is_inside) {
            return None;
        }
        let segments = first.end.since(first.start).div_ceil(self.mss);
        self.counts.dsacks += u64::from(segments);
        if self.counts.dsacks > self.counts.retransmissions {
            return None;
        }
        self.undo.on_dsack(segments, first.end);
        if let Some(rack) = self.board.rack() {
            rack.on_dsack(self.nxt);
        }
        Some(first)
    }

    /// Marks ask for a reduction once in a window of data, and not while a loss of it is being repaired.
    pub(super) fn on_marks(&mut self, now: Time) {
        if self.is_recovering() || !self.heed.reduces(self.una, self.nxt) {
            return;
        }
        self.counts.ecn_reductions += 1;
        let in_flight = self.loss_flight(self.board.pipe());
        //= exception ecn-reduces-at-once
        self.cc.on_congestion(&Congestion { now, signal: Signal::Ecn, in_flight });
    }

    /// Tells of segments given up on one by one, if the congestion control wants to know.
    pub(super) fn tell_losses(&mut self, now: Time) {
        if !self.tells_all {
            return;
        }
        for loss in self.board.take_losses(now) {
            self.cc.on_lost(&loss);
        }
    }

    /// Takes the window of a segment that is newer than the one that set it. Returns whether it repeats it.
    ///
    /// RFC 9293 §3.10.7.4 goes by the sequence number first; but a retransmission has an old one and the
    /// newest window. As in Linux the acknowledgment goes first, and a segment that has nothing new may
    /// only widen the window.
    pub(super) fn update_window(&mut self, ack: &Acknowledgment<'_>) -> bool {
        let Some(field) = ack.field else {
            // A code in its place stands for the largest window.
            self.offer.edge = self.offer.edge.max(ack.ack + self.offer.max);
            return true;
        };
        let offer = self.offer;
        let window = u32::from(field) << offer.shift;
        let edge = ack.ack + window;
        // RFC 9293 §3.10.7.4 compares sequence numbers first, but a retransmission has an old one and the newest
        // window; Linux compares acknowledgments first too.
        let newer = ack.ack.is_after(offer.ack) || ack.seq.is_after(offer.seq);
        if newer || (ack.seq == offer.seq && edge.is_after(offer.edge)) {
            self.set_window(window, ack.seq, ack.ack);
            if window > 0 {
                self.probe = None;
            }
        }
        edge == offer.edge
    }

    /// The peer took the byte of a probe.
    pub(super) fn accept_probe(&mut self, now: Time) {
        self.board.push(self.nxt, 1, false, now);
        self.nxt += 1;
        self.probed = false;
        self.counts.bytes += 1;
        if !self.source.endless {
            self.source.queued -= 1;
        }
    }

    pub(super) fn advance(&mut self, ack: &Acknowledgment<'_>) -> Option<Advanced> {
        if !ack.ack.is_after(self.una) {
            return None;
        }
        let taken = self.board.advance(ack.ack);
        self.counts.bytes_acked += u64::from(ack.ack - self.una);
        self.una = ack.ack;
        self.timeouts_in_a_row = 0;
        if !self.una.is_before(self.round_end) {
            self.round += 1;
            self.round_end = self.nxt;
        }
        let since_sent = taken.clean_sample.map(|sent_at| ack.now - sent_at);
        let sample =
            if self.config.rtt_by_timestamps { ack.rtt.or(since_sent) } else { since_sent.or(ack.rtt) };
        if let Some(sample) = sample {
            self.rtt.on_sample(sample);
            if let Some(tlp) = &mut self.tlp {
                tlp.on_rtt_sample();
            }
        }
        Some(taken)
    }

    pub(super) fn on_advance(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
        let mut restart_timer = true;
        let repaired = self.is_repaired();
        if repaired {
            self.recover = None;
        }
        if !progress.is_duplicate {
            self.duplicates = 0;
        }
        let was_recovering = self.is_recovering();
        match self.phase {
            Phase::Recovery(repair) if !repaired && self.config.recovery != Recovery::Reno => {
                restart_timer = repair.partial_acks == 0 || !self.config.impatient;
                self.on_partial_ack(ack.now, progress);
            }
            Phase::Recovery(_) => {
                self.board.forget_duplicates();
                self.duplicates = 0;
                self.phase = Phase::Open;
                self.note_repaired();
                if self.config.grow_at_exit {
                    self.grow(ack, progress);
                }
            }
            Phase::Disorder if progress.is_duplicate => {}
            Phase::Open | Phase::Disorder | Phase::Loss => {
                if repaired && matches!(self.phase, Phase::Loss) {
                    self.note_repaired();
                }
                if repaired || !matches!(self.phase, Phase::Loss) {
                    self.phase = Phase::Open;
                }
                self.board.forget_duplicates();
                self.grow(ack, progress);
            }
        }
        if was_recovering && !self.is_recovering() {
            self.cc.on_repaired();
        }
        if self.board.outstanding() == 0 {
            self.rto_at = None;
        } else if restart_timer {
            //= RFC 6298 §5 (5.3)
            self.rto_at = Some(ack.now + self.rtt.rto());
        }
    }

    pub(super) fn grow(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
        let event = self.event(ack, progress, progress.counted);
        let heeds_code = ack.code.is_some() && self.sender_half.is_some();
        if heeds_code || progress.marks.forbids_growth || (self.config.validate_window && !event.cwnd_limited)
        {
            return;
        }
        self.cc.on_ack(&event);
    }

    /// What an ACK tells to have arrived. Without SACK a duplicate stands for one segment, and the ACK that
    /// covers it does not report it again.
    pub(super) fn presume(&mut self, progress: &Progress, advanced: bool) -> u32 {
        if self.sack {
            return progress.counted;
        }
        if !advanced {
            self.presumed += self.mss;
            return self.mss;
        }
        let news = progress.delivered.saturating_sub(self.presumed).max(progress.delivered.min(self.mss));
        self.presumed = self.presumed.saturating_sub(progress.delivered - news);
        news
    }

    pub(super) fn event(&self, ack: &Acknowledgment<'_>, progress: &Progress, delivered: u32) -> Ack {
        //= RFC 7323 §4.1: a duplicate echoes the last segment in order, and seems ever later while a loss is repaired
        let by_timestamps = ack.rtt.filter(|_| progress.advanced);
        let rtt = by_timestamps.or_else(|| progress.taken.clean_sample.map(|sent_at| ack.now - sent_at));
        Ack {
            now: ack.now,
            acked: Bytes(u64::from(delivered)),
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            one_way_delay: ack.one_way_delay,
            in_flight: Bytes(u64::from(self.board.pipe())),
            prior_in_flight: Bytes(u64::from(progress.prior_flight)),
            lost: Bytes(progress.lost),
            marked: Bytes(u64::from(progress.marks.bytes)),
            round: self.round,
            delivered: Bytes(self.board.totals().delivered),
            cwnd_limited: u64::from(progress.prior_flight + self.mss) > self.cc.cwnd().0,
            recovering: self.is_recovering(),
            selective: self.sack,
            rate: progress.rate,
        }
    }
}

//! ACK processing: the peer's window, delivered data, and events for the congestion control.

use super::rack::Evidence;
use super::rtt::rtt_sample;
use super::scoreboard::Advanced;
use super::{Acknowledgment, Phase, Position, Progress, Sender};
use crate::Seq;
use crate::cc::{Ack, Congestion, Signal};
use crate::rwnd::Instruction;
use crate::segment::SackBlock;
use crate::stack::{Recovery, WindowUse};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU8;

impl Sender {
    pub fn position(&self, ack: Seq) -> Position {
        if ack.is_before(self.una) {
            Position::Old
        } else if ack.is_after(self.nxt + u32::from(self.probed.is_some())) {
            Position::Unsent
        } else {
            Position::Valid
        }
    }

    /// Returns true if the acknowledgment number is above SND.UNA and valid.
    pub fn acks_new_data(&self, ack: Seq) -> bool {
        ack.is_after(self.una) && self.position(ack) == Position::Valid
    }

    /// Returns true if an ACK carries no information but the window, as at an end that only receives.
    pub fn updates_only_the_window(&self, ack: Seq) -> bool {
        let has_outstanding = !self.at_rest && self.board.outstanding() > 0;
        ack == self.una && !has_outstanding && self.sender_half.is_none()
    }

    /// Processes an acknowledgment at a valid [`position`](Sender::position).
    pub fn on_ack(&mut self, ack: &Acknowledgment<'_>) {
        let repeats_window = self.update_window(ack.seq, ack.ack, ack.field);
        if ack.ack.is_after(self.nxt) {
            self.accept_probe();
        }
        let prior_flight = Bytes(u64::from(self.board.pipe()));
        let carried_sack = self.sack && !ack.sack[0].is_empty();
        let (now, echoed_by) = (ack.now, ack.echoed_by);
        self.board.on_ack(Evidence { now, echoed_by, min_rtt: self.rtt.min() });
        let (duplicate, sacked) = if carried_sack { self.take_sack(ack) } else { (None, 0) };
        let had_outstanding = self.board.outstanding() > 0;
        let una_before = self.una;
        let step = self.advance(ack);
        let advanced = step.is_some();
        let (taken, rtt) = step.unwrap_or_default();
        self.find_losses(ack.now, false);
        let is_duplicate = if self.sack {
            //= RFC 6675 §2: it SACKs data that was not SACKed before
            sacked > 0
        } else {
            //= RFC 5681 §2: acknowledges no new data, carries no data, and data is outstanding
            let repeats = repeats_window || !self.config.duplicate_repeats_window;
            !advanced && had_outstanding && !ack.has_data && repeats
        };
        let delivered = sacked + taken.delivered;
        if is_duplicate {
            self.counts.duplicate_acks += 1;
        }
        let recounts = self.config.quirks.recount_at_exit && advanced;
        let counted = match self.recover {
            _ if recounts && self.ends_recovery() => self.una.since(una_before),
            Some(recover) if recounts && self.ends_loss() => self.una.since(recover),
            _ => delivered,
        };
        let rate = self.board.take_rate_sample(ack.now, self.rtt.min());
        let reported_before = std::mem::replace(&mut self.lost_reported, self.board.totals().lost);
        let lost = self.lost_reported - reported_before;
        let marks = self.ecn.on_ack(ack.flags, delivered, self.mss);
        let retransmitted = taken.retransmitted;
        let is_partial = advanced && taken.segments == 0 && !self.cc.takes_partial_acks();
        let forbids_growth = marks.forbids_growth;
        let mut progress =
            Progress { delivered, retransmitted, advanced, is_partial, is_duplicate, lost, forbids_growth };
        self.report_losses(ack.now);
        let mut event = Ack {
            now: ack.now,
            acked: Bytes::ZERO,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            one_way_delay: ack.one_way_delay,
            in_flight: Bytes(u64::from(self.board.pipe())),
            prior_in_flight: prior_flight,
            lost: Bytes(lost),
            marked: Bytes(u64::from(marks.bytes)),
            round: self.round,
            delivered: Bytes(self.board.totals().delivered),
            cwnd_limited: self.is_limited(prior_flight),
            recovering: self.is_recovering(),
            selective: self.sack,
            rate,
        };
        if (advanced && !is_partial) || is_duplicate {
            event.acked = Bytes(u64::from(self.presume(&progress, counted)));
            self.cc.on_delivery(&event);
        }
        if marks.any {
            self.on_marks(ack.now);
        }
        self.undo_reduction(ack, &progress);
        if is_duplicate {
            self.on_duplicate(ack.now, &progress);
        }
        progress.is_duplicate |= self.repair_late(ack.now, &progress);
        if advanced {
            event.acked = Bytes(u64::from(counted));
            self.on_advance(ack, &progress, &mut event);
            self.schedule_probe(ack.now);
        } else if is_duplicate && !matches!(self.phase, Phase::Recovery(_)) {
            event.acked = Bytes(u64::from(delivered));
            self.grow_out_of_order(ack, &progress, &mut event);
        }
        self.on_probe_outcome(ack, duplicate, !advanced && !carried_sack && !ack.has_data);
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.apply_code(ack.code);
        }
    }

    /// Lets the sender half of the receive-window control set cwnd. Not called during loss recovery, which has a
    /// separate window.
    fn apply_code(&mut self, code: Option<NonZeroU8>) {
        let Some(half) = &mut self.sender_half else { return };
        self.counts.codes += u64::from(code.is_some());
        let largest_window = Bytes(self.offer.max.into());
        let before = self.cc.cwnd();
        let cwnd = half.on_ack(&Instruction { code, cwnd: before, largest_window });
        if cwnd != before {
            self.cc.set_cwnd(cwnd);
        }
    }

    /// Processes the SACK blocks of an ACK. Returns the duplicate that they report, and the newly SACKed bytes.
    // Out of line: an ACK without blocks does not save registers for it.
    #[inline(never)]
    fn take_sack(&mut self, ack: &Acknowledgment<'_>) -> (Option<SackBlock>, u32) {
        let duplicate = self.take_dsack(ack);
        (duplicate, self.board.sack(ack.sack, self.config.duplicate_threshold))
    }

    //= RFC 2883 §4, §5
    /// Processes a D-SACK in the first block; returns the duplicate. Duplicates in excess of retransmissions are due to
    /// the network (RFC 3708 §3).
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
        // The network may have duplicated a segment that was sent once. Of acknowledged ones this is no longer known.
        let is_forgotten = !first.end.is_after(self.una);
        let repeated = if is_forgotten { segments } else { self.board.repeated_within(first) };
        self.undo.on_dsack(repeated, first.end);
        if let Some(rack) = self.board.rack() {
            rack.on_dsack(self.nxt);
        }
        Some(first)
    }

    /// Responds to ECN marks: a reduction once per window of data, and not during recovery from a loss in it.
    pub(super) fn on_marks(&mut self, now: Time) {
        if self.is_recovering() || !self.ecn.reduces(self.una, self.nxt) {
            return;
        }
        self.counts.ecn_reductions += 1;
        let in_flight = self.loss_flight(self.board.pipe());
        //= exception ecn-reduces-at-once
        self.cc.on_congestion(&Congestion { now, signal: Signal::Ecn, in_flight });
    }

    /// Reports each lost segment to the congestion control, if it requested that.
    #[inline]
    pub(super) fn report_losses(&mut self, now: Time) {
        if self.notifies_all {
            self.report_each_loss(now);
        }
    }

    #[inline(never)]
    fn report_each_loss(&mut self, now: Time) {
        for loss in self.board.take_losses(now) {
            self.cc.on_lost(&loss);
        }
    }

    /// Updates the window from a segment newer than the one that set it last. Returns true if the segment repeats the
    /// window.
    pub fn update_window(&mut self, seq: Seq, ack: Seq, field: Option<u16>) -> bool {
        let Some(field) = field else {
            // A code in its place implies the maximum window so far.
            self.offer.edge = self.offer.edge.max(ack + self.offer.max);
            return true;
        };
        let offer = self.offer;
        let window = u32::from(field) << offer.shift;
        let edge = ack + window;
        // RFC 9293 §3.10.7.4 compares sequence numbers first, but a retransmission has an old sequence number and the
        // newest window. As in Linux, acknowledgment numbers are compared first, and a segment that is not newer may
        // only enlarge the window.
        let newer = ack.is_after(offer.ack) || seq.is_after(offer.seq);
        if newer || (seq == offer.seq && edge.is_after(offer.edge)) {
            self.set_window(window, seq, ack);
            if window > 0 && !self.at_rest {
                self.probe = None;
            }
        }
        edge == offer.edge
    }

    /// Returns true if a segment may enlarge or close the window.
    pub fn enlarges_window(&self, seq: Seq, ack: Seq, field: Option<u16>) -> bool {
        let window = u32::from(field.unwrap_or(0)) << self.offer.shift;
        let is_newer = ack.is_after(self.offer.ack) || seq.is_after(self.offer.seq);
        field.is_some() && (is_newer || window == 0 || (ack + window).is_after(self.offer.edge))
    }

    /// Records that the peer accepted the byte of a window probe.
    pub(super) fn accept_probe(&mut self) {
        let Some(probed) = self.probed.take() else { return };
        self.board.push(self.nxt, 1, false, probed.sent_at);
        if probed.again {
            self.board.mark_sent_before();
        }
        self.nxt += 1;
        self.at_rest = false;
        self.counts.bytes += 1;
        self.source.queued -= 1;
    }

    //= RFC 7323 §4.1: a duplicate ACK echoes the last in-order segment, so its RTT would grow during recovery
    /// Processes the acknowledgment number if it advances SND.UNA; returns what it acknowledges, and an RTT sample.
    pub(super) fn advance(&mut self, ack: &Acknowledgment<'_>) -> Option<(Advanced, Option<Span>)> {
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
        // By timestamps alone the ACK of a part of a segment would give a sample.
        let measures = taken.segments > 0 || self.config.rtt_by_timestamps;
        let sample = rtt_sample(&self.config, ack.rtt, since_sent).filter(|_| measures);
        if let Some(sample) = sample {
            self.rtt.on_sample(sample);
            if let Some(tlp) = &mut self.tlp {
                tlp.on_rtt_sample();
            }
        }
        Some((taken, sample))
    }

    pub(super) fn on_advance(&mut self, ack: &Acknowledgment<'_>, progress: &Progress, event: &mut Ack) {
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
                if self.config.quirks.grow_at_exit {
                    self.grow(ack, progress, event);
                }
            }
            Phase::Disorder if progress.is_duplicate => self.grow_out_of_order(ack, progress, event),
            Phase::Open | Phase::Disorder | Phase::Loss => {
                if repaired && matches!(self.phase, Phase::Loss) {
                    self.note_repaired();
                }
                if repaired || !matches!(self.phase, Phase::Loss) {
                    self.phase = Phase::Open;
                }
                self.board.forget_duplicates();
                self.grow(ack, progress, event);
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

    /// Passes the event of an ACK that reports arrivals out of order to the congestion control, if these let the window
    /// grow.
    // Out of line: few ACKs report any.
    #[inline(never)]
    fn grow_out_of_order(&mut self, ack: &Acknowledgment<'_>, progress: &Progress, event: &mut Ack) {
        if self.grows_out_of_order() {
            self.grow(ack, progress, event);
        }
    }

    /// Passes the event of an ACK to the congestion control, with the state of the sender after recovery.
    // Inlined: with several callers the compiler does not, and most ACKs come here.
    #[inline(always)]
    pub(super) fn grow(&mut self, ack: &Acknowledgment<'_>, progress: &Progress, event: &mut Ack) {
        event.in_flight = Bytes(u64::from(self.board.pipe()));
        event.cwnd_limited = self.is_limited(event.prior_in_flight);
        event.recovering = self.is_recovering();
        let applies_code = ack.code.is_some() && self.sender_half.is_some();
        let is_forbidden = applies_code || progress.forbids_growth || progress.is_partial;
        if is_forbidden || (self.config.validate_window && !event.cwnd_limited) {
            return;
        }
        self.cc.on_ack(event);
    }

    /// Returns true if cwnd limits the sender at an ACK before which these bytes were in flight.
    fn is_limited(&self, flight: Bytes) -> bool {
        match self.config.window_use {
            WindowUse::AtAck => self.leaves_no_room(flight.0),
            WindowUse::AtLastSegment => self.usage.is_full(),
            WindowUse::PerWindow => {
                let cwnd = self.cc.cwnd();
                self.usage.is_full() || (cwnd < self.cc.ssthresh() && self.usage.allows_doubling(cwnd))
            }
        }
    }

    /// Returns true if cwnd has no room for another segment with these bytes in flight.
    pub(super) fn leaves_no_room(&self, flight: u64) -> bool {
        flight + u64::from(self.mss) > self.cc.cwnd().0
    }

    /// Returns the bytes that an ACK reports as delivered. Without SACK a duplicate ACK counts as one segment, which
    /// the ACK that covers it does not count again. In Linux these are at most all outstanding segments but one.
    pub(super) fn presume(&mut self, progress: &Progress, counted: u32) -> u32 {
        if self.sack {
            return counted;
        }
        if !progress.advanced {
            //= Linux tcp_input.c, tcp_limit_reno_sacked
            let room = self.board.outstanding().saturating_sub(self.presumed.saturating_add(self.mss));
            let news = if self.config.quirks.presumes_beyond { self.mss } else { self.mss.min(room) };
            self.presumed += news;
            return news;
        }
        let news = progress.delivered.saturating_sub(self.presumed).max(progress.delivered.min(self.mss));
        self.presumed = self.presumed.saturating_sub(progress.delivered - news);
        news
    }
}

//! Loss recovery: fast recovery, timeouts, tail loss probes, and undo of spurious reductions.

use super::frto::{Frto, Reply};
use super::rack::ReorderingInputs;
use super::tlp::ProbeAck;
use super::{Acknowledgment, Phase, Progress, Repair, Sender};
use crate::cc::{Before, Congestion, Signal};
use crate::segment::SackBlock;
use crate::stack::{Flight, LossDetection, Recovery};
use airwnd_units::{Bytes, Time};

impl Sender {
    /// With RACK: detects late segments after new arrivals, or in any case if `at_once`.
    #[inline]
    pub(super) fn find_losses(&mut self, now: Time, at_once: bool) {
        if self.board.rack().is_some_and(|rack| rack.take_advanced() || at_once) {
            self.find_late(now);
        }
    }

    #[inline(never)]
    fn find_late(&mut self, now: Time) {
        let inputs = self.reordering_inputs();
        self.reordering_until = self.board.give_up_late(now, inputs);
        //= RFC 8985 §8: the reordering timer takes precedence over the retransmission timer
        if let (Some(until), Some(rto_at)) = (self.reordering_until, self.rto_at) {
            self.rto_at = Some(rto_at.max(until));
        }
    }

    pub(super) fn reordering_inputs(&self) -> ReorderingInputs {
        let many = self.board.sacked_segments() >= self.config.duplicate_threshold;
        ReorderingInputs {
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
            is_urgent: self.is_recovering() || many,
        }
    }

    //= Linux tcp_input.c, tcp_may_raise_cwnd
    /// Returns true if the window grows on ACKs that report arrivals out of order.
    pub(super) fn grows_out_of_order(&mut self) -> bool {
        let (threshold, mss) = (self.config.duplicate_threshold, self.mss);
        self.config.grow_when_reordered
            && self.board.rack().is_some_and(|rack| rack.reorders_by(threshold, mss))
    }

    pub(super) fn detects_by_time(&self) -> bool {
        self.sack && self.config.loss_detection == LossDetection::Rack
    }

    /// Starts recovery after detection of late segments, unless already in recovery.
    pub(super) fn repair_late(&mut self, now: Time, progress: &Progress) -> bool {
        let begins = self.detects_by_time() && self.board.has_losses() && !self.is_recovering();
        if begins {
            self.start_recovery(now, progress);
        }
        begins
    }

    /// Restores the window if its last reduction proves spurious.
    pub(super) fn undo_reduction(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
        let in_loss = matches!(self.phase, Phase::Loss);
        if !in_loss && !self.undo.is_open() {
            return;
        }
        let by_frto = in_loss && self.frto_verdict(progress);
        let by_time =
            progress.advanced && self.is_recovering() && self.undo.is_ack_of_original(ack.echoed_by);
        let by_dsack = self.undo.all_were_duplicates() && (progress.advanced || !in_loss);
        if !by_frto && !(self.config.undo && (by_time || by_dsack)) {
            return;
        }
        let Some(before) = self.undo.take() else { return };
        if let (true, Phase::Recovery(_), Some(rack)) = (by_time, self.phase, self.board.rack()) {
            rack.on_late_arrival();
        }
        self.cc.on_spurious(&before);
        self.counts.undone += 1;
        if self.is_recovering() {
            self.board.restore();
            self.recover = None;
            self.phase = Phase::Open;
            self.frto = Frto::Off;
            self.forced = false;
            self.duplicates = 0;
            self.cc.on_repaired();
        }
    }

    pub(super) fn frto_verdict(&mut self, progress: &Progress) -> bool {
        let Some(recover) = self.recover else { return false };
        let was_forward = self.frto == Frto::Forward;
        let has_new = self.available() > 0 && self.offer.edge.is_after(self.nxt);
        let is_spurious = self.frto.on_ack(Reply {
            advanced: progress.advanced,
            is_duplicate: progress.is_duplicate,
            // Without SACK an ACK of a retransmission may cover data that arrived long before.
            has_original: self.board.has_original(recover) && (self.sack || !progress.retransmitted),
            is_complete: self.is_repaired(),
            went_forward: self.nxt.is_after(recover),
            has_new,
        });
        if was_forward && self.frto == Frto::Off && !progress.advanced && !self.sack {
            //= RFC 5682 §2.1 step 3 (a): cwnd of three segments after the two new ones
            self.cc.set_cwnd(Bytes(3 * u64::from(self.mss)));
        }
        is_spurious
    }

    /// Saves the window before a reduction for a loss, and attributes a pending tail loss probe to the recovery.
    pub(super) fn begin_episode(&mut self) {
        let before = Before { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let resent = self.board.retransmitted().div_ceil(self.mss);
        self.undo.begin(before, self.una, resent, self.is_recovering());
        if let Some(tlp) = &mut self.tlp {
            tlp.on_recovery();
        }
    }

    /// Evaluates an ACK for the outcome of a tail loss probe.
    pub(super) fn on_probe_outcome(
        &mut self,
        ack: &Acknowledgment<'_>,
        duplicate: Option<SackBlock>,
        is_bare_duplicate: bool,
    ) {
        let Some(tlp) = &mut self.tlp else { return };
        let dsack_end = duplicate.map(|block| block.end);
        if tlp.on_ack(ProbeAck { ack: ack.ack, dsack_end, is_bare_duplicate }) {
            self.report_congestion(ack.now, Signal::Loss, self.loss_flight(self.board.pipe()));
        }
    }

    /// Reports a loss or a timeout to the congestion control; either may prove spurious later.
    fn report_congestion(&mut self, now: Time, signal: Signal, in_flight: Bytes) {
        self.begin_episode();
        self.cc.on_congestion(&Congestion { now, signal, in_flight });
        self.ecn.note_reduction(self.nxt);
    }

    //= RFC 8985 §7.2: only in the open state with no SACKed data
    pub(super) fn schedule_probe(&mut self, now: Time) {
        if self.tlp.is_none() {
            return;
        }
        let (segments, recovering) = (self.board.segments(), self.is_recovering());
        let is_quiet = !recovering && self.board.sacked() == 0 && self.reordering_until.is_none();
        let Some(tlp) = &mut self.tlp else { return };
        if is_quiet && segments > 0 {
            let ack_delay = (segments == 1).then_some(self.config.probe_ack_delay);
            tlp.schedule(now, self.rtt.srtt(), ack_delay, self.rto_at);
        } else {
            tlp.cancel();
        }
    }

    /// Returns the bytes from which a new ssthresh is computed; `pipe` is the estimate of bytes in the network.
    pub(super) fn loss_flight(&self, pipe: u32) -> Bytes {
        match self.config.loss_flight {
            Flight::Outstanding => Bytes(u64::from(self.board.outstanding())),
            Flight::Pipe => Bytes(u64::from(pipe)),
            Flight::Window => self.cc.cwnd(),
        }
    }

    pub(super) fn on_duplicate(&mut self, now: Time, progress: &Progress) {
        match self.phase {
            // A timeout retransmits everything, so duplicate ACKs carry no information (RFC 6582 §4).
            Phase::Loss => {}
            Phase::Recovery(_) => {
                if !self.sack {
                    self.board.add_duplicates(self.mss);
                }
                self.reduce(progress, true);
            }
            Phase::Open | Phase::Disorder => {
                self.phase = Phase::Disorder;
                self.duplicates += 1;
                if !self.sack && self.config.limited_transmit {
                    self.board.add_duplicates(self.mss);
                }
                let enough = self.duplicates >= self.config.duplicate_threshold || self.board.head_is_lost();
                if enough && self.is_repaired() && !self.detects_by_time() && self.board.outstanding() > 0 {
                    self.start_recovery(now, progress);
                }
            }
        }
    }

    pub(super) fn start_recovery(&mut self, now: Time, progress: &Progress) {
        self.recover = Some(self.nxt);
        if !self.sack {
            self.board.forget_duplicates();
            self.board.add_duplicates(self.duplicates * self.mss);
        }
        let before = self.board.pipe();
        if !self.detects_by_time() {
            self.board.give_up_head();
        }
        self.report_losses(now);
        let pipe = if self.sack { self.board.pipe() } else { before };
        let prior = self.cc.cwnd();
        self.report_congestion(now, Signal::Loss, self.loss_flight(pipe));
        let pipe = u64::from(self.board.pipe());
        let target = self.cc.cwnd().0;
        // Detection by the reordering timer lacks an ACK's delivered bytes; the first ACK sets the window.
        let window = if progress.delivered > 0 || !self.sack {
            target
        } else {
            target.min(pipe + u64::from(self.mss))
        };
        let flight = match (self.config.recovery, self.config.loss_flight) {
            // Linux computes the new ssthresh from cwnd, and the reduction from both.
            (Recovery::PrrSafe, Flight::Window) => prior.0 as u32,
            //= RFC 9937 §6.1: RecoverFS, without data SACKed before, plus data reported by this ACK
            (Recovery::PrrSafe, _) => self.board.outstanding() - self.board.sacked() + progress.delivered,
            _ => self.board.pipe(),
        }
        .max(1);
        self.phase = Phase::Recovery(Repair { flight, delivered: 0, out: 0, window, partial_acks: 0 });
        self.reduce(progress, true);
        //= RFC 5681 §3.2 step 3; RFC 6675 §5 (4.3): the head is retransmitted regardless of the window
        self.forced = true;
        self.counts.fast_retransmits += 1;
    }

    /// Proportional rate reduction (RFC 6937 §3, RFC 9937 §6.2). The RFC 6937 variant uses its slow-start bound only on
    /// ACKs of retransmissions, as in Linux and ns-3.44, because other progress may hide further losses.
    pub(super) fn reduce(&mut self, progress: &Progress, is_duplicate: bool) {
        let Phase::Recovery(repair) = &mut self.phase else { return };
        let target = self.cc.cwnd().0;
        if !matches!(self.config.recovery, Recovery::Prr | Recovery::PrrSafe) {
            repair.window = target;
            return;
        }
        let mss = u64::from(self.mss);
        let mut delivered = u64::from(progress.delivered);
        if !self.sack {
            // Duplicate ACKs have reported all data but the retransmitted segment.
            delivered = if is_duplicate { mss } else { delivered.min(mss) };
        } else if is_duplicate
            && self.config.quirks.prr_duplicate_credit
            && repair.delivered < u64::from(repair.flight)
        {
            delivered += mss;
        }
        if delivered == 0 {
            return;
        }
        repair.delivered += delivered;
        let pipe = u64::from(self.board.pipe());
        let mut room = if pipe > target {
            let mut share = repair.delivered * target;
            if self.config.quirks.prr_wraps {
                //= exception prr-thirty-two-bits
                share &= u64::from(u32::MAX);
            }
            let out = share.div_ceil(u64::from(repair.flight));
            // RFC 9937 §8 and Linux count in segments.
            let unit = if self.config.recovery == Recovery::PrrSafe { mss } else { 1 };
            out.next_multiple_of(unit).saturating_sub(repair.out)
        } else {
            let conserved = repair.delivered.saturating_sub(repair.out).max(delivered);
            let grows = match self.config.recovery {
                //= RFC 9937 §6.2 (SafeACK)
                Recovery::PrrSafe => progress.advanced && progress.lost == 0,
                _ => progress.retransmitted,
            };
            let bound = if grows { conserved + mss } else { conserved };
            bound.min(target - pipe)
        };
        if repair.out == 0 {
            room = room.max(mss);
        }
        repair.window = pipe + room;
    }

    /// Returns true if all data in flight at the last loss is acknowledged.
    pub(super) fn is_repaired(&self) -> bool {
        self.recover.is_none_or(|recover| !self.una.is_before(recover))
    }

    pub(super) fn ends_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_)) && self.is_repaired()
    }

    /// Whether what a timeout found lost has been repaired.
    pub(super) fn ends_loss(&self) -> bool {
        matches!(self.phase, Phase::Loss) && self.is_repaired()
    }

    pub(super) fn note_repaired(&mut self) {
        self.frto = Frto::Off;
        if let Some(rack) = self.board.rack() {
            rack.on_repaired();
        }
    }

    /// Processes a partial ACK, which reveals a further loss (RFC 6582 §3.2 step 3, RFC 6675 §5 (B)).
    pub(super) fn on_partial_ack(&mut self, now: Time, progress: &Progress) {
        if !self.sack {
            self.board.explain_duplicates(progress.delivered.saturating_sub(self.mss));
            self.board.give_up_head();
            self.report_losses(now);
        }
        if !progress.is_duplicate || self.config.quirks.prr_duplicate_credit {
            self.reduce(progress, false);
        }
        if let Phase::Recovery(repair) = &mut self.phase {
            repair.partial_acks += 1;
        }
        self.forced = self.board.head_is_lost() && !self.board.head_is_retransmitted();
    }

    pub fn on_timeout(&mut self, now: Time) {
        // A probe replaces a timeout at the same instant (RFC 8985 §7.2).
        if self.tlp.as_mut().is_some_and(|tlp| tlp.on_timeout(now)) {
            self.rto_at = Some(now + self.rtt.rto());
        }
        if self.reordering_until.is_some_and(|until| until <= now) {
            self.find_losses(now, true);
            self.report_losses(now);
            self.repair_late(now, &Progress::default());
            if self.board.has_losses() {
                self.rto_at = Some(now + self.rtt.rto());
            }
        }
        if self.rto_at.is_some_and(|at| at <= now) {
            self.rto_at = None;
            self.on_retransmission_timeout(now);
        }
        if let Some(probe) = &mut self.probe {
            probe.due |= probe.at <= now;
        }
        self.paced &= self.pace_at > now;
    }

    pub(super) fn on_retransmission_timeout(&mut self, now: Time) {
        if self.board.outstanding() == 0 {
            return;
        }
        if self.timeouts_in_a_row >= self.config.max_retries {
            self.failed = true;
            return;
        }
        self.timeouts_in_a_row += 1;
        self.counts.timeouts += 1;
        //= RFC 5681 §3.1: ssthresh is kept when the same segment times out again
        let repeated = matches!(self.phase, Phase::Loss) && self.board.head_is_retransmitted();
        let signal = if repeated { Signal::RepeatedTimeout } else { Signal::Timeout };
        self.report_congestion(now, signal, self.loss_flight(self.board.pipe()));
        let was_repairing = matches!(self.phase, Phase::Recovery(_));
        //= Linux tcp_input.c, tcp_enter_loss
        let many = self.board.sacked_segments() >= self.config.duplicate_threshold;
        if let (Phase::Open | Phase::Disorder, true, Some(rack)) = (self.phase, many, self.board.rack()) {
            rack.on_overestimate();
        }
        self.phase = Phase::Loss;
        if self.detects_by_time() {
            self.give_up_due(now);
        } else {
            self.board.give_up_all();
        }
        self.report_losses(now);
        //= RFC 5682 §2.1 step 1: not if the timeout occurs during fast recovery
        self.frto = if self.config.frto && !was_repairing { Frto::HeadResent } else { Frto::Off };
        self.duplicates = 0;
        self.forced = true;
        //= RFC 6582 §4; RFC 6675 §5.1: no fast retransmit for data retransmitted after the timeout
        self.recover = Some(self.nxt);
        //= RFC 6298 §5 (5.5)
        self.rtt.back_off();
    }

    // As Linux's tcp_enter_loss; otherwise these segments would block lost segments and F-RTO's new data.
    /// Segments sent too recently to be lost stay in flight, next to the one segment of RFC 5681 §3.1.
    pub(super) fn give_up_due(&mut self, now: Time) {
        let inputs = self.reordering_inputs();
        self.board.give_up_due(now, inputs);
        self.reordering_until = None;
        let pipe = u64::from(self.board.pipe());
        if pipe > 0 {
            self.cc.set_cwnd(Bytes(pipe + u64::from(self.mss)));
        }
    }
}

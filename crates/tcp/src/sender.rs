//! The sending half: what may be sent, what is lost, what is sent again.

use crate::cc::{self, Ack, Before, Congestion, CongestionControl, Departure, RateSample, Signal};
use crate::ecn::{Heed, Marks};
use crate::frto::{Frto, Reply};
use crate::limit::{Limit, Limited, Limits};
use crate::rack::{Evidence, Patience, Rack};
use crate::rtt::{RtoBounds, RttEstimator};
use crate::rwnd::arwa::ArwaSender;
use crate::scoreboard::{Advanced, Scoreboard, Sent};
use crate::segment::{Codepoint, Flags, SackBlock, SackBlocks};
use crate::stack::{Ecn, Flight, LossDetection, Pacing, Recovery};
use crate::tlp::{Answer, Tlp};
use crate::undo::Undo;
use crate::{Config, Seq};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::num::NonZeroU8;

#[derive(Debug)]
pub(crate) struct Sender {
    config: Config,
    cc_spec: cc::Spec,
    cc: Box<dyn CongestionControl>,
    /// The congestion control hears of each departure and loss.
    tells_all: bool,
    seed: u64,
    codes: Option<ArwaSender>,
    mss: u32,
    /// Whether SACK was negotiated.
    sack: bool,
    /// SND.UNA and SND.NXT
    una: Seq,
    nxt: Seq,
    source: Source,
    fin: Fin,

    offer: PeerOffer,
    board: Scoreboard,
    rtt: RttEstimator,
    phase: Phase,
    duplicates: u32,
    /// What was SND.NXT when the last loss was noticed: no new recovery before it is acknowledged.
    recover: Option<Seq>,
    heed: Heed,
    /// One lost segment goes out whatever the window.
    forced: bool,
    /// Overtaken segments are waited for until then.
    reordering_until: Option<Time>,
    /// Probes the tail of a flight, if the stack does and SACK was negotiated.
    tlp: Option<Tlp>,
    frto: Frto,
    undo: Undo,

    rto_at: Option<Time>,
    timeouts_in_a_row: u32,
    failed: bool,
    probe: Option<Probe>,
    /// The byte after SND.NXT went out as a probe and may be acknowledged.
    probed: bool,

    /// Nothing is sent before.
    pace_at: Time,
    /// Whether something may wait for that.
    paced: bool,

    /// Bytes given up on of which the congestion control has heard.
    lost_told: u64,
    /// Bytes that duplicate ACKs without SACK stood for, and that no ACK has covered.
    presumed: u32,
    round: u64,
    round_end: Seq,
    last_sent: Time,
    counts: Counts,
    limits: Limits,
}

/// What the application has for us.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    queued: u64,
    endless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    Open,
    Queued,
    Sent,
}

/// The peer's window, kept as its right edge: segments that move SND.UNA need not tell of the window.
#[derive(Clone, Copy, Debug, Default)]
struct PeerOffer {
    edge: Seq,
    /// The largest window so far, by which silly windows are judged.
    max: u32,
    shift: u8,
    /// SND.WL1 and SND.WL2: the segment that set it.
    seq: Seq,
    ack: Seq,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// Duplicate ACKs came, too few for a loss.
    Disorder,
    /// Fast recovery.
    Recovery(Repair),
    /// After a timeout.
    Loss,
}

#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Flight when it began (RFC 6937 RecoverFS).
    flight: u32,
    /// Bytes delivered and sent since (prr_delivered, prr_out).
    delivered: u64,
    out: u64,
    /// What may be in the network.
    window: u64,
    partial_acks: u32,
}

/// Probing of a closed window (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Time,
    interval: Span,
    due: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub data_segments: u64,
    pub bytes: u64,
    pub retransmissions: u64,
    pub bytes_retransmitted: u64,
    pub fast_retransmits: u64,
    pub timeouts: u64,
    pub probes: u64,
    pub duplicate_acks: u64,
    pub bytes_acked: u64,
    pub dsacks: u64,
    pub undone: u64,
    pub tail_probes: u64,
    pub codes: u64,
    pub ecn_reductions: u64,
}

/// A segment to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub seq: Seq,
    pub len: u16,
    pub fin: bool,
    pub retransmission: bool,
    pub ecn: Codepoint,
    /// Control bits about congestion.
    pub flags: Flags,
}

/// What the handshake agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    pub mss: u32,
    pub sack: bool,
    pub shift: u8,
    pub ecn: Ecn,
}

/// The part of an arriving segment that concerns the sending half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgment<'a> {
    pub now: Time,
    pub seq: Seq,
    pub ack: Seq,
    pub flags: Flags,
    /// The window field; `None` where a code took its place.
    pub field: Option<u16>,
    pub sack: &'a SackBlocks,
    /// The round-trip time by timestamps.
    pub rtt: Option<Span>,
    /// The last instant at which the segment can have left that its timestamp echoes.
    pub echoed_by: Option<Time>,
    /// The time to the receiver, by timestamps.
    pub one_way_delay: Option<Span>,
    pub code: Option<NonZeroU8>,
    pub has_data: bool,
}

/// How an acknowledgment number relates to what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Old,
    Valid,
    Unsent,
}

impl Sender {
    pub fn new(
        config: &Config,
        cc_spec: &cc::Spec,
        codes: Option<ArwaSender>,
        iss: Seq,
        seed: u64,
    ) -> Sender {
        let bounds = RtoBounds {
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.clock_granularity,
        };
        let mss = u32::from(config.mss);
        let cc = cc_spec.build(&cc_ctx(config, mss, seed));
        let mut board = Scoreboard::new(config.count_sacked_retransmissions);
        let tells_all = cc.wants_rates();
        if tells_all {
            board.measure_rates();
        }
        Sender {
            config: config.clone(),
            cc_spec: cc_spec.clone(),
            cc,
            tells_all,
            seed,
            codes,
            mss,
            sack: false,
            una: iss,
            nxt: iss,
            source: Source::default(),
            fin: Fin::Open,
            offer: PeerOffer::default(),
            board,
            rtt: RttEstimator::new(bounds),
            phase: Phase::Open,
            duplicates: 0,
            recover: None,
            heed: Heed::new(Ecn::Off, false),
            forced: false,
            reordering_until: None,
            tlp: None,
            frto: Frto::Off,
            undo: Undo::default(),
            rto_at: None,
            timeouts_in_a_row: 0,
            failed: false,
            probe: None,
            probed: false,
            pace_at: Time::ZERO,
            paced: false,
            lost_told: 0,
            presumed: 0,
            round: 0,
            round_end: iss,
            last_sent: Time::ZERO,
            counts: Counts::default(),
            limits: Limits::default(),
        }
    }

    // The handshake.

    /// The SYN takes one sequence number, which the scoreboard does not know.
    pub fn on_syn_sent(&mut self) {
        self.nxt = self.una + 1;
    }

    pub fn on_syn_acked(&mut self, agreement: Agreement) {
        self.una = self.nxt;
        self.round_end = self.nxt;
        self.sack = agreement.sack;
        if self.sack && self.config.loss_detection == LossDetection::Rack {
            self.board.detect_by_time();
        }
        self.tlp = (self.sack && self.config.tail_loss_probe).then(Tlp::default);
        self.offer.shift = agreement.shift;
        if agreement.mss != self.mss {
            self.mss = agreement.mss;
            self.cc = self.cc_spec.build(&cc_ctx(&self.config, agreement.mss, self.seed));
        }
        self.heed = Heed::new(agreement.ecn, self.cc.is_l4s());
    }

    /// The window of a SYN, which is never scaled, or of a newer segment.
    pub fn set_window(&mut self, window: u32, seq: Seq, ack: Seq) {
        let PeerOffer { max, shift, .. } = self.offer;
        self.offer = PeerOffer { edge: ack + window, max: max.max(window), shift, seq, ack };
    }

    pub fn on_rtt(&mut self, sample: Span) {
        self.rtt.on_sample(sample);
    }

    pub fn back_off(&mut self) {
        self.rtt.back_off();
    }

    // The application.

    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.fin != Fin::Open {
            return 0;
        }
        let room =
            self.config.send_buffer.0.saturating_sub(self.source.queued + u64::from(self.nxt - self.una));
        let accepted = bytes.min(room);
        self.source.queued += accepted;
        accepted
    }

    pub fn write_endlessly(&mut self) {
        self.source.endless = true;
    }

    /// No more will be written; what an endless source has not sent is not sent.
    pub fn close(&mut self) {
        self.source.endless = false;
        if self.fin == Fin::Open {
            self.fin = Fin::Queued;
        }
    }

    // Observers.

    pub fn una(&self) -> Seq {
        self.una
    }

    pub fn nxt(&self) -> Seq {
        self.nxt
    }

    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The newest round-trip time sample, once.
    pub fn take_rtt_sample(&mut self) -> Option<Span> {
        self.rtt.take_sample()
    }

    pub fn in_flight(&self) -> u32 {
        self.board.pipe()
    }

    pub fn outstanding(&self) -> u32 {
        self.board.outstanding()
    }

    pub fn queued(&self) -> u64 {
        self.source.queued
    }

    pub fn peer_window(&self) -> u32 {
        self.offer.edge.since(self.una)
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// For how long what has kept it from sending more.
    pub fn limited(&self, now: Time) -> Limited {
        self.limits.until(now)
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    pub fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_) | Phase::Loss)
    }

    /// Whether our FIN went out and everything up to it is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin == Fin::Sent && self.board.outstanding() == 0
    }

    /// What may be in the network now.
    pub fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery(repair) if !self.cc.governs_recovery() => repair.window,
            _ => self.cc.cwnd().0,
        }
    }

    pub fn next_deadline(&self) -> Option<Time> {
        let probe = self.probe.filter(|probe| !probe.due).map(|probe| probe.at);
        let paced = self.paced.then_some(self.pace_at);
        let tail = self.tlp.and_then(|tlp| tlp.at());
        [self.rto_at, probe, paced, tail, self.reordering_until].into_iter().flatten().min()
    }

    // Acknowledgments.

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
        if let (Some(codes), Phase::Open | Phase::Disorder) = (&self.codes, self.phase) {
            self.counts.codes += u64::from(ack.code.is_some());
            let before = self.cc.cwnd();
            //= exception arwa-sender
            let told = ack.code.map_or(before, |code| codes.on_code(code, before));
            //= ARWA 2019 Alg. 2 line 20: cwnd <- min(rwnd, cwnd)
            let cwnd = told.min(Bytes(self.offer.max.into()));
            if cwnd != before {
                self.cc.set_cwnd(cwnd);
            }
        }
    }

    //= RFC 2883 §4, §5
    /// What the first block reports to have come twice. More duplicates than there were retransmissions are the
    /// network's (RFC 3708 §3).
    fn take_dsack(&mut self, ack: &Acknowledgment<'_>) -> Option<SackBlock> {
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

    /// Looks for segments that are late, if there is news of arrivals or `at_once`.
    fn find_losses(&mut self, now: Time, at_once: bool) {
        let patience = self.patience();
        if self.board.rack().is_some_and(Rack::take_advanced) || at_once {
            self.reordering_until = self.board.give_up_late(now, patience);
            //= RFC 8985 §8: while this timer runs, that of the timeout does not
            if let (Some(until), Some(rto_at)) = (self.reordering_until, self.rto_at) {
                self.rto_at = Some(rto_at.max(until));
            }
        }
    }

    fn patience(&self) -> Patience {
        let many = self.board.sacked_segments() >= self.config.duplicate_threshold;
        Patience { min_rtt: self.rtt.min(), srtt: self.rtt.srtt(), hurries: self.is_recovering() || many }
    }

    fn detects_by_time(&self) -> bool {
        self.sack && self.config.loss_detection == LossDetection::Rack
    }

    /// Begins to repair what was found to be late, if that is not being done.
    fn repair_late(&mut self, now: Time, progress: &Progress) -> bool {
        let begins = self.detects_by_time() && self.board.has_losses() && !self.is_recovering();
        if begins {
            self.start_recovery(now, progress);
        }
        begins
    }

    /// Restores the window if its last reduction proves to have had no reason.
    fn take_back(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
        let by_order = matches!(self.phase, Phase::Loss) && self.frto_verdict(progress);
        let by_time =
            progress.advanced && self.is_recovering() && self.undo.is_answer_to_original(ack.echoed_by);
        let by_dsack =
            self.undo.all_came_twice() && (progress.advanced || !matches!(self.phase, Phase::Loss));
        if !by_order && !(self.config.undo && (by_time || by_dsack)) {
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

    fn frto_verdict(&mut self, progress: &Progress) -> bool {
        let Some(recover) = self.recover else { return false };
        let was_forward = self.frto == Frto::Forward;
        let is_spurious = self.frto.on_ack(Reply {
            advanced: progress.advanced,
            is_duplicate: progress.is_duplicate,
            // Without SACK an ACK of a retransmission may cover what came long before.
            has_original: self.board.has_original(recover) && (self.sack || !progress.taken.retransmitted),
            is_complete: self.is_repaired(),
            went_forward: self.nxt.is_after(recover),
            has_new: self.available() > 0 && self.offer.edge.is_after(self.nxt),
        });
        if was_forward && self.frto == Frto::Off && !progress.advanced && !self.sack {
            //= RFC 5682 §2.1 step 3 (a): the two new segments still fill the window
            self.cc.set_cwnd(Bytes(3 * u64::from(self.mss)));
        }
        is_spurious
    }

    /// Remembers the window before a reduction for a loss, and that a probe is part of its repair.
    fn begin_episode(&mut self) {
        let before = Before { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let resent = self.board.retransmitted().div_ceil(self.mss);
        self.undo.begin(before, self.una, resent, self.is_recovering());
        if let Some(tlp) = &mut self.tlp {
            tlp.on_recovery();
        }
    }

    /// What the ACK says of a tail loss probe.
    fn hear_of_probe(&mut self, ack: &Acknowledgment<'_>, twice: Option<SackBlock>, is_bare_duplicate: bool) {
        let Some(tlp) = &mut self.tlp else { return };
        let dsack_end = twice.map(|block| block.end);
        if tlp.on_ack(Answer { ack: ack.ack, dsack_end, is_bare_duplicate }) {
            self.begin_episode();
            let in_flight = self.loss_flight();
            self.cc.on_congestion(&Congestion { now: ack.now, signal: Signal::Loss, in_flight });
            self.heed.note_reduction(self.nxt);
        }
    }

    //= RFC 8985 §7.2: in calm only
    fn schedule_probe(&mut self, now: Time) {
        let (outstanding, recovering) = (self.board.outstanding(), self.is_recovering());
        let calm = !recovering && self.board.sacked() == 0 && self.reordering_until.is_none();
        let Some(tlp) = &mut self.tlp else { return };
        if calm && outstanding > 0 {
            let ack_delay = (outstanding <= self.mss).then_some(self.config.probe_ack_delay);
            tlp.schedule(now, self.rtt.srtt(), ack_delay, self.rto_at);
        } else {
            tlp.cancel();
        }
    }

    /// Marks ask for a reduction once in a window of data, and not while a loss of it is being repaired.
    fn on_marks(&mut self, now: Time) {
        if self.is_recovering() || !self.heed.reduces(self.una, self.nxt) {
            return;
        }
        self.counts.ecn_reductions += 1;
        let in_flight = self.loss_flight();
        //= exception ecn-reduces-at-once
        self.cc.on_congestion(&Congestion { now, signal: Signal::Ecn, in_flight });
    }

    /// What a new threshold is computed from.
    fn loss_flight(&self) -> Bytes {
        Bytes(u64::from(match self.config.loss_flight {
            Flight::Outstanding => self.board.outstanding(),
            Flight::Pipe => self.board.pipe(),
            Flight::Window => return self.cc.cwnd(),
        }))
    }

    /// Tells of segments given up on one by one, if the congestion control wants to know.
    fn tell_losses(&mut self, now: Time) {
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
    fn update_window(&mut self, ack: &Acknowledgment<'_>) -> bool {
        let Some(field) = ack.field else {
            // A code in its place stands for the largest window.
            self.offer.edge = self.offer.edge.max(ack.ack + self.offer.max);
            return true;
        };
        let offer = self.offer;
        let window = u32::from(field) << offer.shift;
        let edge = ack.ack + window;
        //= exception newest-window-by-acknowledgment
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
    fn accept_probe(&mut self, now: Time) {
        self.board.push(self.nxt, 1, false, now);
        self.nxt += 1;
        self.probed = false;
        self.counts.bytes += 1;
        if !self.source.endless {
            self.source.queued -= 1;
        }
    }

    fn advance(&mut self, ack: &Acknowledgment<'_>) -> Option<Advanced> {
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

    fn on_duplicate(&mut self, now: Time, progress: &Progress) {
        match self.phase {
            // A timeout sends everything again: nothing can be learnt from duplicates (RFC 6582 §4).
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
                let allowed = self.recover.is_none_or(|recover| !self.una.is_before(recover));
                if enough && allowed && !self.detects_by_time() && self.board.outstanding() > 0 {
                    self.start_recovery(now, progress);
                }
            }
        }
    }

    fn start_recovery(&mut self, now: Time, progress: &Progress) {
        self.recover = Some(self.nxt);
        if !self.sack {
            self.board.forget_duplicates();
            self.board.add_duplicates(self.duplicates * self.mss);
        }
        let before = self.board.pipe();
        if !self.detects_by_time() {
            self.board.give_up_head();
        }
        self.tell_losses(now);
        let pipe = if self.sack { self.board.pipe() } else { before };
        let in_flight = match self.config.loss_flight {
            Flight::Outstanding => Bytes(u64::from(self.board.outstanding())),
            Flight::Pipe => Bytes(u64::from(pipe)),
            Flight::Window => self.cc.cwnd(),
        };
        self.begin_episode();
        let prior = self.cc.cwnd();
        self.cc.on_congestion(&Congestion { now, signal: Signal::Loss, in_flight });
        self.heed.note_reduction(self.nxt);
        let pipe = u64::from(self.board.pipe());
        let target = self.cc.cwnd().0;
        // Where time has told and no ACK, the first ACK will tell what may follow.
        let window = if progress.delivered > 0 || !self.sack {
            target
        } else {
            target.min(pipe + u64::from(self.mss))
        };
        let flight = match (self.config.recovery, self.config.loss_flight) {
            //= exception prr-of-window
            (Recovery::PrrSafe, Flight::Window) => prior.0 as u32,
            //= RFC 9937 §6.1: RecoverFS, less what was SACKed before and with what this ACK reports
            (Recovery::PrrSafe, _) => self.board.outstanding() - self.board.sacked() + progress.delivered,
            _ => self.board.pipe(),
        }
        .max(1);
        self.phase = Phase::Recovery(Repair { flight, delivered: 0, out: 0, window, partial_acks: 0 });
        self.reduce(progress, true);
        //= RFC 5681 §3.2 step 3, RFC 6675 §5 (4.3): the head goes out whatever the window
        self.forced = true;
        self.counts.fast_retransmits += 1;
    }

    /// Proportional rate reduction (RFC 6937 §3, RFC 9937 §6.2); the older with its slow-start bound only on ACKs of retransmissions
    /// (as in Linux and ns-3.44): other progress may hide further losses.
    fn reduce(&mut self, progress: &Progress, is_duplicate: bool) {
        let Phase::Recovery(repair) = &mut self.phase else { return };
        let target = self.cc.cwnd().0;
        if !matches!(self.config.recovery, Recovery::Prr | Recovery::PrrSafe) {
            repair.window = target;
            return;
        }
        let mss = u64::from(self.mss);
        let mut delivered = u64::from(progress.delivered);
        if !self.sack {
            // Duplicates told of all but the repaired segment before.
            delivered = if is_duplicate { mss } else { delivered.min(mss) };
        } else if is_duplicate
            && self.config.prr_duplicate_credit
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
            let out = (repair.delivered * target).div_ceil(u64::from(repair.flight));
            // RFC 9937 §8 counts, as Linux does, in segments.
            let unit = if self.config.recovery == Recovery::PrrSafe { mss } else { 1 };
            out.next_multiple_of(unit).saturating_sub(repair.out)
        } else {
            let conserved = repair.delivered.saturating_sub(repair.out).max(delivered);
            let grows = match self.config.recovery {
                //= RFC 9937 §6.2 (SafeACK)
                Recovery::PrrSafe => progress.advanced && progress.lost == 0,
                //= exception prr-bound
                _ => progress.taken.retransmitted,
            };
            let bound = if grows { conserved + mss } else { conserved };
            bound.min(target - pipe)
        };
        if repair.out == 0 {
            room = room.max(mss);
        }
        repair.window = pipe + room;
    }

    /// Whether all that was in the network at the last loss is acknowledged.
    fn is_repaired(&self) -> bool {
        self.recover.is_none_or(|recover| !self.una.is_before(recover))
    }

    fn ends_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_)) && self.is_repaired()
    }

    fn on_advance(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
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
            //= RFC 6298 §5.3
            self.rto_at = Some(ack.now + self.rtt.rto());
        }
    }

    fn note_repaired(&mut self) {
        self.frto = Frto::Off;
        if let Some(rack) = self.board.rack() {
            rack.on_repaired();
        }
    }

    /// RFC 6582 §3.2 step 3, RFC 6675 §5 (B): more is missing.
    fn on_partial_ack(&mut self, now: Time, progress: &Progress) {
        if !self.sack {
            self.board.explain_duplicates(progress.delivered.saturating_sub(self.mss));
            self.board.give_up_head();
            self.tell_losses(now);
        }
        if !progress.is_duplicate || self.config.prr_duplicate_credit {
            self.reduce(progress, false);
        }
        if let Phase::Recovery(repair) = &mut self.phase {
            repair.partial_acks += 1;
        }
        self.forced = self.board.head_is_lost() && !self.board.head_is_retransmitted();
    }

    fn grow(&mut self, ack: &Acknowledgment<'_>, progress: &Progress) {
        let event = self.event(ack, progress, progress.counted);
        let heeds_code = ack.code.is_some() && self.codes.is_some();
        if heeds_code || progress.marks.forbids_growth || (self.config.validate_window && !event.cwnd_limited)
        {
            return;
        }
        self.cc.on_ack(&event);
    }

    /// What an ACK tells to have arrived. Without SACK a duplicate stands for one segment, and the ACK that
    /// covers it does not report it again.
    fn presume(&mut self, progress: &Progress, advanced: bool) -> u32 {
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

    fn event(&self, ack: &Acknowledgment<'_>, progress: &Progress, delivered: u32) -> Ack {
        Ack {
            now: ack.now,
            acked: Bytes(u64::from(delivered)),
            rtt: ack.rtt.or_else(|| progress.taken.clean_sample.map(|sent_at| ack.now - sent_at)),
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

    // Timers.

    pub fn on_timeout(&mut self, now: Time) {
        // A probe takes the place of a timeout at the same instant (RFC 8985 §7.2).
        if self.tlp.as_mut().is_some_and(|tlp| tlp.on_timeout(now)) {
            self.rto_at = Some(now + self.rtt.rto());
        }
        if self.reordering_until.is_some_and(|until| until <= now) {
            self.find_losses(now, true);
            self.tell_losses(now);
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

    fn on_retransmission_timeout(&mut self, now: Time) {
        if self.board.outstanding() == 0 {
            return;
        }
        if self.timeouts_in_a_row >= self.config.max_retries {
            self.failed = true;
            return;
        }
        self.timeouts_in_a_row += 1;
        self.counts.timeouts += 1;
        //= RFC 5681 §3.1: the threshold is held when the same segment times out again
        let repeated = matches!(self.phase, Phase::Loss) && self.board.head_is_retransmitted();
        let signal = if repeated { Signal::RepeatedTimeout } else { Signal::Timeout };
        let in_flight = self.loss_flight();
        self.begin_episode();
        self.cc.on_congestion(&Congestion { now, signal, in_flight });
        self.heed.note_reduction(self.nxt);
        let was_repairing = matches!(self.phase, Phase::Recovery(_));
        self.phase = Phase::Loss;
        if self.detects_by_time() {
            self.give_up_due(now);
        } else {
            self.board.give_up_all();
        }
        self.tell_losses(now);
        //= RFC 5682 §2.1 step 1: not if the timeout interrupts a recovery
        self.frto = if self.config.frto && !was_repairing { Frto::Asked } else { Frto::Off };
        self.duplicates = 0;
        self.forced = true;
        //= RFC 6582 §4, RFC 6675 §5.1: no fast retransmit for what the timeout sends again
        self.recover = Some(self.nxt);
        //= RFC 6298 §5.5
        self.rtt.back_off();
    }

    //= exception flight-after-timeout
    /// What was sent too late to be lost stays in the network, beside the one segment of RFC 5681 §3.1.
    fn give_up_due(&mut self, now: Time) {
        let patience = self.patience();
        self.board.give_up_due(now, patience);
        self.reordering_until = None;
        let pipe = u64::from(self.board.pipe());
        if pipe > 0 {
            self.cc.set_cwnd(Bytes(pipe + u64::from(self.mss)));
        }
    }

    // Transmission.

    /// The next segment to send, if any may be sent now.
    pub fn next(&mut self, now: Time) -> Option<Outgoing> {
        match self.choose(now) {
            Ok(outgoing) => Some(outgoing),
            Err(limit) => {
                self.limits.note(now, limit);
                if limit == Limit::Application && self.flight() + u64::from(self.mss) <= self.window() {
                    self.board.note_app_limit();
                }
                None
            }
        }
    }

    fn choose(&mut self, now: Time) -> Result<Outgoing, Limit> {
        if self.probe.is_some_and(|probe| probe.due) {
            return self.send_probe(now).ok_or(Limit::Application);
        }
        if self.tlp.as_mut().is_some_and(Tlp::take_due)
            && let Some(outgoing) = self.send_tail_probe(now)
        {
            return Ok(outgoing);
        }
        self.paced = now < self.pace_at;
        if self.paced {
            return Err(Limit::Pacing);
        }
        if std::mem::take(&mut self.forced)
            && let Some(index) = self.board.next_lost()
        {
            return Ok(self.resend(index, now));
        }
        let room = self.window().saturating_sub(self.flight());
        if self.frto == Frto::Forward {
            let sent = self.send_new(now, room);
            if sent.is_ok() || self.recover.is_some_and(|recover| self.nxt.is_after(recover)) {
                return sent;
            }
            self.frto = Frto::Off;
        }
        if let Some(index) = self.board.next_lost() {
            let fits = room >= u64::from(self.board.get(index).space());
            return fits.then(|| self.resend(index, now)).ok_or(Limit::CongestionWindow);
        }
        let limit = match self.send_new(now, room) {
            Err(limit) => limit,
            sent => return sent,
        };
        if matches!(self.phase, Phase::Recovery(_))
            && self.sack
            && !self.detects_by_time()
            && room >= u64::from(self.mss)
        {
            let index = self.board.next_hole().ok_or(limit)?;
            return Ok(self.resend(index, now));
        }
        Err(limit)
    }

    /// The rate of payload at which segments go out, if they are paced.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        if self.config.pacing == Pacing::Never {
            return None;
        }
        self.cc.pacing_rate().or_else(|| {
            let srtt = self.rtt.srtt().filter(|_| self.config.pacing == Pacing::Always)?;
            let cwnd = self.cc.cwnd().0;
            let in_slow_start = cwnd < self.cc.ssthresh().0 / 2;
            let factor =
                if in_slow_start { self.config.pacing_slow_start } else { self.config.pacing_avoidance };
            Some(BitRate((factor * 8.0 * cwnd as f64 / srtt.as_secs()) as u64))
        })
    }

    /// What counts against the congestion window.
    fn flight(&self) -> u64 {
        let held_back = matches!(self.phase, Phase::Disorder) && !self.config.limited_transmit;
        u64::from(if held_back { self.board.outstanding() } else { self.board.pipe() })
    }

    /// Bytes that the application has for us. An endless source writes whole segments.
    fn available(&self) -> u64 {
        if !self.source.endless {
            return self.source.queued;
        }
        let outstanding = u64::from(self.board.outstanding());
        let room = self.config.send_buffer.0.saturating_sub(outstanding);
        let mss = u64::from(self.mss);
        if outstanding == 0 { room.max(mss) / mss * mss } else { room / mss * mss }
    }

    fn send_new(&mut self, now: Time, room: u64) -> Result<Outgoing, Limit> {
        let available = self.available();
        if available == 0 {
            // A FIN takes no buffer, so it needs no window.
            return (self.fin == Fin::Queued).then(|| self.push_new(0, now)).ok_or(Limit::Application);
        }
        let usable = self.offer.edge.since(self.nxt);
        let most = available.min(u64::from(self.mss)) as u32;
        let len = most.min(usable);
        let idle = self.board.outstanding() == 0;
        //= RFC 9293 §3.8.6.2.1: a full segment, all there is, or a good part of what the peer can take
        let worth = len == self.mss
            || (u64::from(len) == available && (idle || !self.config.nagle))
            || (len > 0 && 2 * len >= self.offer.max);
        if !worth {
            if idle && (usable == 0 || self.config.probe_small_windows) {
                self.start_probing(now);
            }
            return Err(if u64::from(len) < available { Limit::ReceiveWindow } else { Limit::Application });
        }
        let restarts = self.config.restart_after_idle && !self.cc.governs_recovery();
        if idle && restarts && now.since(self.last_sent) > self.rtt.rto() {
            let initial = cc_ctx(&self.config, self.mss, self.seed).initial_window;
            self.cc.set_cwnd(self.cc.cwnd().min(initial));
        }
        (room >= u64::from(len)).then(|| self.push_new(len, now)).ok_or(Limit::CongestionWindow)
    }

    //= RFC 8985 §7.3 TLP_send_probe
    /// New data if there is some that the peer takes, whatever the congestion window, else the last segment again.
    fn send_tail_probe(&mut self, now: Time) -> Option<Outgoing> {
        let last = self.board.last()?;
        let fresh = self.send_new(now, u64::MAX).ok();
        let outgoing = fresh.unwrap_or_else(|| self.resend(last, now));
        self.counts.tail_probes += 1;
        self.rto_at = Some(now + self.rtt.rto());
        let end = self.nxt;
        let tlp = self.tlp.as_mut()?;
        tlp.on_probe(end, fresh.is_none());
        tlp.cancel();
        Some(outgoing)
    }

    fn start_probing(&mut self, now: Time) {
        let floor = if self.config.probe_after_timeout { self.rtt.rto() } else { Span::ZERO };
        let interval = self.config.persist_timeout.max(floor);
        self.probe.get_or_insert(Probe { at: now + interval, interval, due: false });
    }

    /// One byte beyond a closed window, or what fits where the window is merely silly.
    fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        let probe = self.probe.as_mut()?;
        //= RFC 9293 §3.8.6.1: increase exponentially the interval between successive probes
        let interval = (probe.interval * 2).min(self.config.max_rto);
        *probe = Probe { at: now + interval, interval, due: false };
        let available = self.available();
        let usable = u64::from(self.offer.edge.since(self.nxt));
        if available == 0 {
            self.probe = None;
            return None;
        }
        self.counts.probes += 1;
        if usable > 0 {
            let len = available.min(u64::from(self.mss)).min(usable);
            return Some(self.push_new(len as u32, now));
        }
        let retransmission = std::mem::replace(&mut self.probed, true);
        let (ecn, flags) = (Codepoint::NotEct, Flags::default());
        Some(Outgoing { seq: self.nxt, len: 1, fin: false, retransmission, ecn, flags })
    }

    fn push_new(&mut self, len: u32, now: Time) -> Outgoing {
        let seq = self.nxt;
        if !self.source.endless {
            self.source.queued -= u64::from(len);
        }
        let fin = self.fin == Fin::Queued && self.source.queued == 0;
        if fin {
            self.fin = Fin::Sent;
        }
        self.tell_departure(now, len);
        self.board.push(seq, len as u16, fin, now);
        self.nxt += len + u32::from(fin);
        let retransmission = std::mem::take(&mut self.probed);
        self.counts.bytes += u64::from(len);
        self.on_sent(now, len);
        self.schedule_probe(now);
        let (ecn, flags) = self.markable(len, retransmission);
        Outgoing { seq, len: len as u16, fin, retransmission, ecn, flags }
    }

    fn resend(&mut self, index: usize, now: Time) -> Outgoing {
        self.tell_departure(now, u32::from(self.board.get(index).len));
        let segment: Sent = self.board.retransmit(index, now);
        if index == 0 && self.config.retransmission_restarts_timer {
            self.rto_at = None;
        }
        self.counts.retransmissions += 1;
        self.undo.on_resend(now);
        self.counts.bytes_retransmitted += u64::from(segment.len);
        self.on_sent(now, u32::from(segment.len));
        let (ecn, flags) = self.markable(u32::from(segment.len), true);
        Outgoing { seq: segment.seq, len: segment.len, fin: segment.fin(), retransmission: true, ecn, flags }
    }

    /// The ECN field and control bits of a segment; those without data are not ECN-capable (RFC 3168 §6.1.4).
    fn markable(&mut self, len: u32, retransmission: bool) -> (Codepoint, Flags) {
        if len == 0 { (Codepoint::NotEct, Flags::default()) } else { self.heed.on_send(retransmission) }
    }

    fn tell_departure(&mut self, now: Time, len: u32) {
        if self.tells_all && len > 0 {
            let in_flight = Bytes(u64::from(self.board.pipe()));
            let app_limited = self.board.is_app_limited();
            let srtt = self.rtt.srtt();
            self.cc.on_send(&Departure { now, len: Bytes(u64::from(len)), in_flight, app_limited, srtt });
        }
    }

    fn on_sent(&mut self, now: Time, len: u32) {
        self.counts.data_segments += u64::from(len > 0);
        self.last_sent = now;
        if let Some(rate) = self.pacing_rate().filter(|rate| rate.0 > 0) {
            self.pace_at = now + rate.transmission_time(Bytes(u64::from(len)));
        }
        if let Phase::Recovery(repair) = &mut self.phase {
            repair.out += u64::from(len);
        }
        //= RFC 6298 §5.1
        self.rto_at.get_or_insert(now + self.rtt.rto());
    }
}

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Bytes that it newly reports, cumulatively or by SACK.
    delivered: u32,
    /// Those of which the congestion control hears.
    counted: u32,
    taken: Advanced,
    /// It moved SND.UNA.
    advanced: bool,
    is_duplicate: bool,
    prior_flight: u32,
    lost: u64,
    rate: Option<RateSample>,
    marks: Marks,
}

fn cc_ctx(config: &Config, mss: u32, seed: u64) -> cc::Ctx {
    let mss = Bytes(u64::from(mss));
    cc::Ctx {
        mss,
        initial_window: mss * u64::from(config.initial_window),
        initial_ssthresh: config.initial_ssthresh.unwrap_or(Bytes(u64::MAX)),
        seed,
    }
}

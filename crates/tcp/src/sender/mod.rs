//! The sending half: transmission, loss detection and retransmission.

mod acks;
mod buffer;
mod frto;
pub(crate) mod limit;
mod rack;
mod rate;
mod repair;
pub(crate) mod rtt;
mod scoreboard;
mod tlp;
mod transmit;
mod undo;
mod usage;

use crate::cc::{self, CongestionControl};
use crate::ecn::EcnResponse;
use crate::rwnd::SenderHalf;
use crate::segment::{Codepoint, Flags, SackBlocks};
use crate::stack::{Ecn, LossDetection};
use crate::{Config, Seq};
use airwnd_units::{Bytes, Span, Time};
use buffer::{Contents, SendBuffer};
use frto::Frto;
use limit::{Limited, Limits};
use rtt::{RtoBounds, RttEstimator};
use scoreboard::Scoreboard;
use std::num::NonZeroU8;
use std::sync::Arc;
use tlp::Tlp;
use undo::Undo;
use usage::{AfterSending, Usage};

#[derive(Debug)]
pub(crate) struct Sender {
    config: Arc<Config>,
    cc_spec: cc::Spec,
    cc: Box<dyn CongestionControl>,
    /// True if the congestion control is notified of each departure and loss.
    notifies_all: bool,
    seed: u64,
    identity: cc::Identity,
    /// Sender half of the peer's receive-window control, if any.
    sender_half: Option<Box<dyn SenderHalf>>,
    mss: u32,
    /// Whether SACK was negotiated.
    sack: bool,
    /// SND.UNA and SND.NXT
    una: Seq,
    nxt: Seq,
    source: Source,
    buffer: SendBuffer,
    fin: Fin,

    offer: PeerOffer,
    board: Scoreboard,
    rtt: RttEstimator,
    phase: Phase,
    duplicates: u32,
    /// SND.NXT when the last loss was detected; no new recovery starts before it is acknowledged.
    recover: Option<Seq>,
    ecn: EcnResponse,
    /// One lost segment is sent regardless of the window.
    forced: bool,
    /// End of the wait for reordered segments.
    reordering_until: Option<Time>,
    /// Tail loss probes, if the stack uses them and SACK was negotiated.
    tlp: Option<Tlp>,
    frto: Frto,
    undo: Undo,
    /// Not kept with `window_use = "at-ack"`.
    usage: Usage,

    rto_at: Option<Time>,
    timeouts_in_a_row: u32,
    failed: bool,
    probe: Option<Probe>,
    /// The byte at SND.NXT was sent as a window probe and may be acknowledged.
    probed: Option<Probed>,

    /// Earliest time of the next transmission.
    pace_at: Time,
    /// True if a segment may be waiting for `pace_at`.
    paced: bool,

    /// Lost bytes already reported to the congestion control.
    lost_reported: u64,
    /// Bytes presumed delivered due to duplicate ACKs without SACK, and not yet cumulatively acknowledged.
    presumed: u32,
    round: u64,
    round_end: Seq,
    last_sent: Time,
    counts: Counts,
    limits: Limits,
    /// Nothing was to be sent or outstanding at the last poll, and the application has not written since: no timer runs.
    /// An end that only receives then looks at nothing else of its sender.
    at_rest: bool,
}

/// Data from the application.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    queued: u64,
    endless: bool,
    /// The last write exceeded the room in the send buffer.
    refused: bool,
    /// The application has written while nothing was queued or outstanding, and nothing was sent since.
    is_fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    Open,
    Queued,
    Sent,
}

/// The peer's window, stored as its right edge: segments that advance SND.UNA need not carry a window.
#[derive(Clone, Copy, Debug, Default)]
struct PeerOffer {
    edge: Seq,
    /// Maximum window so far, the reference for silly window avoidance.
    max: u32,
    shift: u8,
    /// SND.WL1 and SND.WL2: sequence and acknowledgment number of the last window update.
    seq: Seq,
    ack: Seq,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// Duplicate ACKs were received, fewer than the threshold.
    Disorder,
    /// Fast recovery.
    Recovery(Repair),
    /// Recovery after a timeout.
    Loss,
}

#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Bytes in flight at the start (RFC 6937 RecoverFS).
    flight: u32,
    /// Bytes delivered and sent since the start (prr_delivered, prr_out).
    delivered: u64,
    out: u64,
    /// Limit of bytes in flight.
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

/// Byte beyond the window, sent as a probe.
#[derive(Clone, Copy, Debug)]
struct Probed {
    /// Time of the last transmission.
    sent_at: Time,
    /// It was sent more than once.
    again: bool,
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
    /// ECN control bits.
    pub flags: Flags,
}

/// Result of the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    pub mss: u32,
    pub sack: bool,
    pub shift: u8,
    pub ecn: Ecn,
}

/// Fields of a received segment for the sending half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgment<'a> {
    pub now: Time,
    pub seq: Seq,
    pub ack: Seq,
    pub flags: Flags,
    /// The window field; `None`: a code in its place.
    pub field: Option<u16>,
    pub sack: &'a SackBlocks,
    /// RTT by timestamps.
    pub rtt: Option<Span>,
    /// Upper bound of the transmission time of the segment whose timestamp is echoed.
    pub echoed_by: Option<Time>,
    /// One-way delay to the receiver by timestamps.
    pub one_way_delay: Option<Span>,
    pub code: Option<NonZeroU8>,
    pub has_data: bool,
}

/// Position of an acknowledgment number relative to the data sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Old,
    Valid,
    Unsent,
}

impl Sender {
    pub fn new(
        config: &Arc<Config>,
        cc_spec: &cc::Spec,
        sender_half: Option<Box<dyn SenderHalf>>,
        iss: Seq,
        seed: u64,
        identity: cc::Identity,
    ) -> Sender {
        let bounds = RtoBounds {
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.clock_granularity,
        };
        let mss = u32::from(config.mss);
        let cc = cc_spec.build(&sender_context(config, mss, seed, identity));
        let mut board = Scoreboard::new(config.quirks.count_sacked_retransmissions);
        let notifies_all = cc.needs_rate_samples();
        if notifies_all {
            board.measure_rates();
        }
        let mut sender = Sender {
            config: Arc::clone(config),
            cc_spec: cc_spec.clone(),
            cc,
            notifies_all,
            seed,
            identity,
            sender_half,
            mss,
            sack: false,
            una: iss,
            nxt: iss,
            source: Source::default(),
            buffer: SendBuffer::new(config),
            fin: Fin::Open,
            offer: PeerOffer::default(),
            board,
            rtt: RttEstimator::new(bounds),
            phase: Phase::Open,
            duplicates: 0,
            recover: None,
            ecn: EcnResponse::new(Ecn::Off, false),
            forced: false,
            reordering_until: None,
            tlp: None,
            frto: Frto::Off,
            undo: Undo::default(),
            usage: Usage::new(iss),
            rto_at: None,
            timeouts_in_a_row: 0,
            failed: false,
            probe: None,
            probed: None,
            pace_at: Time::ZERO,
            paced: false,
            lost_reported: 0,
            presumed: 0,
            round: 0,
            round_end: iss,
            last_sent: Time::ZERO,
            counts: Counts::default(),
            limits: Limits::default(),
            at_rest: false,
        };
        sender.fit_buffer();
        sender
    }

    // The handshake.

    /// The SYN takes one sequence number, which is not on the scoreboard.
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
            self.cc = self.cc_spec.build(&self.context(agreement.mss));
        }
        self.fit_buffer();
        self.ecn = EcnResponse::new(agreement.ecn, self.cc.is_l4s());
    }

    /// Sets the peer's window, from a SYN (never scaled) or a newer segment.
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
        let is_fresh = self.contents().held == 0;
        let mut accepted = self.fill(bytes);
        if accepted < bytes && self.fit_buffer() {
            accepted += self.fill(bytes - accepted);
        }
        self.source.is_fresh |= is_fresh && accepted > 0;
        self.source.refused = accepted < bytes;
        self.at_rest = false;
        accepted
    }

    fn contents(&self) -> Contents {
        let held = self.source.queued + u64::from(self.nxt - self.una);
        Contents { held, sacked: u64::from(self.board.sacked()), piece: self.payload_of_buffer() }
    }

    /// Writes up to `bytes` into the send buffer; returns the bytes written.
    fn fill(&mut self, bytes: u64) -> u64 {
        let accepted = self.buffer.take(bytes, self.contents());
        self.source.queued += accepted;
        accepted
    }

    /// An endless source writes whole segments, at least one into an empty buffer.
    #[inline(never)]
    pub(super) fn refill(&mut self) {
        let (contents, mss) = (self.contents(), u64::from(self.mss));
        let room = self.buffer.take(u64::MAX, contents) / mss * mss;
        self.source.queued += if contents.held == 0 { room.max(mss) } else { room };
    }

    /// Grows an autotuned send buffer to fit the window; returns true if it grew.
    pub(super) fn fit_buffer(&mut self) -> bool {
        let (windows, mss) = (self.cc.send_buffer_windows(), u64::from(self.mss));
        self.buffer.grow(windows, self.window(), mss)
    }

    pub fn write_endlessly(&mut self) {
        self.source.endless = true;
        self.at_rest = false;
    }

    /// Ends the data. Unsent data of an endless source is discarded.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.source.endless) {
            self.source.queued = 0;
        }
        self.source.refused = false;
        if self.fin == Fin::Open {
            self.fin = Fin::Queued;
            self.at_rest = false;
        }
    }

    // Queries.

    pub fn una(&self) -> Seq {
        self.una
    }

    pub fn nxt(&self) -> Seq {
        self.nxt
    }

    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }

    fn context(&self, mss: u32) -> cc::SenderContext {
        sender_context(&self.config, mss, self.seed, self.identity)
    }

    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    pub fn cc_mut(&mut self) -> &mut dyn CongestionControl {
        &mut *self.cc
    }

    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns the most recent RTT sample since the last call.
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

    pub fn has_more(&self) -> bool {
        self.source.endless || self.source.queued > 0
    }

    pub fn peer_window(&self) -> u32 {
        self.offer.edge.since(self.una)
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the time spent in each limit.
    pub fn limited(&self, now: Time) -> Limited {
        self.limits.until(now)
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    pub fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_) | Phase::Loss)
    }

    /// Returns true if our FIN and all data were acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin == Fin::Sent && self.board.outstanding() == 0
    }

    /// Returns the limit of bytes in flight.
    pub fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery(repair) if !self.cc.governs_recovery() => repair.window,
            _ => self.cc.cwnd().0,
        }
    }

    pub fn next_deadline(&self) -> Option<Time> {
        if self.at_rest {
            return None;
        }
        let probe = self.probe.filter(|probe| !probe.due).map(|probe| probe.at);
        let paced = self.paced.then_some(self.pace_at);
        let tail = self.tlp.and_then(|tlp| tlp.at());
        earliest([probe, paced, tail, self.reordering_until, self.rto_at])
    }
}

/// Returns the earliest of some instants, if any.
#[inline]
pub(crate) fn earliest<const N: usize>(instants: [Option<Time>; N]) -> Option<Time> {
    // Without branches: absent ones are later than all others.
    let first = instants.map(|at| at.unwrap_or(Time::NEVER)).into_iter().min();
    first.filter(|at| *at < Time::NEVER)
}

/// Effects of one ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Bytes newly reported, cumulatively or by SACK.
    delivered: u32,
    /// A retransmission was among the segments that it acknowledges.
    retransmitted: bool,
    /// The ACK advanced SND.UNA.
    advanced: bool,
    /// It advanced SND.UNA within a segment, which is no event for the congestion control.
    is_partial: bool,
    is_duplicate: bool,
    lost: u64,
    /// Marks forbid growth of cwnd.
    forbids_growth: bool,
}

fn sender_context(config: &Config, mss: u32, seed: u64, identity: cc::Identity) -> cc::SenderContext {
    let mss = Bytes(u64::from(mss));
    cc::SenderContext {
        mss,
        initial_window: mss * u64::from(config.initial_window),
        initial_ssthresh: config.initial_ssthresh.unwrap_or(Bytes(u64::MAX)),
        seed,
        identity,
    }
}

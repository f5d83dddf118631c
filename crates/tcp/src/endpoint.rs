//! Endpoint of a connection: the states of RFC 9293 around a sending and a receiving half.

mod figures;

pub use figures::Stats;

use crate::receiver::Receiver;
use crate::rwnd::{Carriage, TimestampClock, timestamps};
use crate::segment::{Codepoint, Flags, SackBlocks, Segment, Timestamps};
use crate::sender::rtt::rtt_sample;
use crate::sender::{Acknowledgment, Agreement, Outgoing, Position, Sender, earliest};
use crate::stack::Ecn;
use crate::{Config, Seq, cc, ecn, rwnd};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU16;
use std::sync::Arc;

/// The states of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for the peer's SYN.
    Listen,
    /// Our SYN was sent.
    SynSent,
    /// SYNs were exchanged; ours is not acknowledged.
    SynReceived,
    /// Data transfer.
    Established,
    /// Our FIN was sent or is queued.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// The peer's FIN was received.
    CloseWait,
    /// Both FINs crossed.
    Closing,
    /// The peer's FIN was received; ours was sent or is queued.
    LastAck,
    /// Waiting for old segments to expire.
    TimeWait,
}

impl State {
    /// Returns true if the connection is open or being opened, and neither end has sent its FIN.
    pub fn is_open(self) -> bool {
        matches!(self, State::Listen | State::SynSent | State::SynReceived | State::Established)
    }
}

/// Reason for an early end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Too many consecutive timeouts.
    TimedOut,
    /// The peer sent a reset.
    Reset,
}

/// Parameters of a new endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointSetup<'a> {
    /// The stack's parameters.
    pub config: &'a Arc<Config>,
    /// Congestion control of the sending half.
    pub cc: &'a cc::Spec,
    /// Receive-window control of the receiving half.
    pub rwnd: &'a rwnd::Spec,
    /// Receive-window control at the peer, whose sender half runs here.
    pub peer_rwnd: &'a rwnd::Spec,
    /// Initial sequence number.
    pub iss: Seq,
    /// Seed of the random draws of the congestion control and the receive-window control.
    pub seed: u64,
    /// Identity of the connection, for external congestion controls.
    pub identity: cc::Identity,
}

/// Endpoint of a connection.
///
/// After each call that changes it, call [`poll_transmit`](Endpoint::poll_transmit) until it returns `None`, then
/// [`next_timeout`](Endpoint::next_timeout) for the time of the next [`on_timeout`](Endpoint::on_timeout).
#[derive(Debug)]
pub struct Endpoint {
    state: State,
    sender: Sender,
    receiver: Receiver,
    /// Shared by all endpoints of a stack, which keeps it in the processor's caches.
    config: Arc<Config>,
    /// Encoding of window codes in received segments.
    codes_in: Option<Carriage>,

    handshake: Handshake,
    timestamps: Option<Clock>,
    sack: bool,
    ecn: Ecn,
    shut: bool,
    pending_reset: Option<(Seq, Option<Seq>)>,
    time_wait_until: Option<Time>,
    failure: Option<Failure>,
    stats: Stats,
}

#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// A SYN, or in SYN-RECEIVED a SYN/ACK, is due.
    due: bool,
    sent_at: Option<Time>,
    timeout_at: Option<Time>,
    retries: u32,
    /// Options of the peer's SYN, once received.
    peer: Option<PeerSyn>,
}

#[derive(Clone, Copy, Debug)]
struct PeerSyn {
    mss: Option<NonZeroU16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: bool,
    /// ECN control bits of the SYN/ACK.
    ecn_answer: Flags,
}

/// State of negotiated timestamps (RFC 7323 §4.3).
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// TS.Recent: the timestamp to echo.
    recent: u32,
    /// Last.ACK.sent
    last_ack_sent: Seq,
}

impl Endpoint {
    /// Creates a closed endpoint.
    pub fn new(setup: &EndpointSetup<'_>) -> Endpoint {
        let EndpointSetup { config, cc, rwnd, peer_rwnd, iss, seed, identity } = *setup;
        let controller = rwnd.build(&config.receiver_context(seed));
        let (codes_in, sender_half) = peer_rwnd.sender_half().unzip();
        Endpoint {
            state: State::Closed,
            sender: Sender::new(config, cc, sender_half, iss, seed, identity),
            receiver: Receiver::new(config, controller),
            config: Arc::clone(config),
            codes_in,
            handshake: Handshake::default(),
            timestamps: None,
            sack: false,
            ecn: Ecn::Off,
            shut: false,
            pending_reset: None,
            time_wait_until: None,
            failure: None,
            stats: Stats::default(),
        }
    }

    // Application interface.

    /// Opens actively by sending a SYN.
    pub fn connect(&mut self) {
        assert_eq!(self.state, State::Closed, "only a closed endpoint can connect");
        self.state = State::SynSent;
        self.handshake.due = true;
        self.sender.on_syn_sent();
    }

    /// Opens passively.
    pub fn listen(&mut self) {
        assert_eq!(self.state, State::Closed, "only a closed endpoint can listen");
        self.state = State::Listen;
    }

    /// Appends bytes to the send buffer, also before the connection is established; returns the number of bytes
    /// accepted.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        Bytes(self.sender.write(bytes.0))
    }

    /// Makes the application an endless source: the send buffer is full of whole segments until `close`.
    pub fn write_endlessly(&mut self) {
        self.sender.write_endlessly();
    }

    /// Ends the application's data: a FIN follows the bytes written so far.
    ///
    /// During the handshake the FIN waits until the connection is established, so that connect, write, close is a
    /// complete flow.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.shut, true) {
            return;
        }
        match self.state {
            State::Closed | State::Listen => self.end(None),
            // RFC 9293 §3.10.4 deletes the connection in SYN-SENT; here connect, write, close is a complete flow.
            State::SynSent | State::SynReceived => self.sender.close(),
            State::Established => {
                self.sender.close();
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.sender.close();
                self.state = State::LastAck;
            }
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait => {}
        }
    }

    /// Aborts the connection with a reset.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            self.pending_reset = Some((self.sender.nxt(), Some(self.receiver.nxt())));
        }
        self.end(None);
    }

    /// Sets whether the application reads data on arrival (the default) or by calls of [`read`](Endpoint::read).
    pub fn read_at_once(&mut self, at_once: bool) {
        self.receiver.read_at_once(at_once);
    }

    /// Returns the device information that the receive-window control needs. It does not change.
    pub fn device_needs(&self) -> rwnd::DeviceNeeds {
        self.receiver.needs()
    }

    /// Sets the device information for the receive-window control.
    pub fn set_device(&mut self, device: rwnd::Device) {
        self.receiver.set_device(device);
    }

    /// Sets the window of a receive-window control that takes one from outside, such as `fixed`, and announces a larger
    /// one. Returns whether it takes it.
    pub fn set_window(&mut self, window: Bytes) -> bool {
        self.receiver.set_window(window)
    }

    /// Reads up to `max` bytes that were received in order; returns the number read.
    pub fn read(&mut self, now: Time, max: Bytes) -> Bytes {
        let max = max.0.min(u64::from(u32::MAX)) as u32;
        Bytes(u64::from(self.receiver.read(now, max)))
    }

    // Network interface.

    /// Processes a received segment.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.stats.segments_received += 1;
        let opens_or_ends = Flags::SYN | Flags::FIN | Flags::RST;
        // Counters of what is rare are left alone otherwise, since most endpoints are in no cache.
        if segment.window == 0 && segment.flags.0 & opens_or_ends.0 == 0 {
            self.stats.zero_windows += 1;
        }
        match self.state {
            State::Closed => self.on_closed(segment),
            State::Listen => self.on_listen(segment),
            State::SynSent => self.on_syn_sent(now, segment),
            _ => self.on_synchronised(now, segment),
        }
    }

    fn on_closed(&mut self, segment: &Segment) {
        if !segment.flags.has(Flags::RST) {
            self.refuse(segment);
        }
    }

    /// Queues a reset that is acceptable to the peer (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        self.pending_reset = Some(if segment.flags.has(Flags::ACK) {
            (segment.ack, None)
        } else {
            (Seq(0), Some(segment.end()))
        });
    }

    fn on_listen(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.refuse(segment);
        } else if segment.flags.has(Flags::SYN) {
            self.take_syn(segment);
            self.sender.on_syn_sent();
            self.state = State::SynReceived;
            self.handshake.due = true;
        }
    }

    fn on_syn_sent(&mut self, now: Time, segment: &Segment) {
        let has_ack = segment.flags.has(Flags::ACK);
        let acked = has_ack
            && self.sender.position(segment.ack) == Position::Valid
            && segment.ack == self.sender.nxt();
        if has_ack && !acked {
            self.on_closed(segment);
            return;
        }
        if segment.flags.has(Flags::RST) {
            if acked {
                self.end(Some(Failure::Reset));
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(segment);
        if acked {
            self.establish(now, segment);
            self.sender.set_window(u32::from(segment.window), segment.seq, segment.ack);
            self.receiver.ack_soon();
        } else {
            // Simultaneous open.
            self.state = State::SynReceived;
            self.handshake.due = true;
        }
    }

    fn take_syn(&mut self, segment: &Segment) {
        let both = segment.timestamps.filter(|_| self.config.timestamps);
        let tick = TimestampClock::Ticks(self.config.timestamp_tick);
        self.receiver.synchronise(segment.seq, both.map(|_| tick));
        let (agreed, ecn_answer) = if segment.flags.has(Flags::ACK) {
            (ecn::agreed(self.config.ecn, segment), Flags::default())
        } else {
            ecn::answer(self.config.ecn, segment)
        };
        self.ecn = agreed;
        let peer = PeerSyn {
            ecn_answer,
            mss: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps.is_some(),
        };
        self.handshake.peer = Some(peer);
        self.sack = self.config.sack && peer.sack_permitted;
        self.receiver.agree_on_sack(self.sack);
        if let Some(timestamps) = both {
            self.timestamps = Some(Clock { recent: timestamps.val, last_ack_sent: self.receiver.nxt() });
        }
        self.sender.set_window(u32::from(segment.window), segment.seq, segment.ack);
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        let peer = self.handshake.peer.expect("a connection is established after a SYN");
        let scaled = self.config.window_scaling && peer.window_scale.is_some();
        if scaled {
            self.receiver.set_shift(self.own_shift());
        }
        let own = u32::from(self.config.mss);
        self.sender.on_syn_acked(Agreement {
            mss: peer.mss.map_or(own, |mss| own.min(u32::from(mss.get()))),
            sack: self.sack,
            //= RFC 7323 §2.3: a shift above 14 counts as 14
            shift: if scaled { peer.window_scale.unwrap_or(0).min(14) } else { 0 },
            ecn: self.ecn,
        });
        self.receiver.agree_on_ecn(self.ecn, self.state == State::SynSent);
        let clean = self.handshake.sent_at.filter(|_| self.handshake.retries == 0);
        let since_sent = clean.map(|sent_at| now - sent_at);
        if let Some(sample) = rtt_sample(&self.config, self.elapsed(now, segment), since_sent) {
            self.sender.on_rtt(sample);
        }
        self.handshake.due = false;
        self.handshake.timeout_at = None;
        self.state = if self.shut { State::FinWait1 } else { State::Established };
    }

    /// Processes a segment in a state in which both sequence numbers are known (RFC 9293 §3.10.7.4).
    fn on_synchronised(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        let is_timely = self.timestamps_are_new(segment) || self.is_late_ack(segment);
        if !is_timely || !self.receiver.accepts(segment) {
            self.on_unacceptable(now, segment);
            return;
        }
        if flags.has(Flags::RST) {
            //= RFC 9293 §3.10.7.4 (RFC 5961): a reset must match RCV.NXT, otherwise a challenge ACK is sent
            if segment.seq == self.receiver.nxt() {
                self.end(Some(Failure::Reset));
            } else {
                self.receiver.ack_soon();
            }
            return;
        }
        if flags.has(Flags::SYN) {
            self.receiver.ack_soon();
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if self.sender.position(segment.ack) != Position::Valid || segment.ack != self.sender.nxt() {
                self.refuse(segment);
                return;
            }
            self.establish(now, segment);
        }
        self.remember_timestamp(segment);
        if self.on_acknowledgment(now, segment) && segment.space() > 0 {
            self.on_payload(now, segment);
        }
    }

    /// Processes a duplicate retransmission, a probe of a closed window, or a segment of an incomplete handshake.
    fn on_unacceptable(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        self.stats.segments_refused += 1;
        if self.state == State::SynReceived && segment.flags.has(Flags::SYN) {
            self.handshake.due = true;
            return;
        }
        //= RFC 9293 §3.10.7.4: with a closed window, valid ACKs are still accepted
        // The same holds for ACKs of a peer that probes and does not know yet that its byte was accepted. If both ends
        // ignored each other's ACKs, neither would learn of the other's window update.
        let expected = segment.seq == self.receiver.nxt() || self.sender.acks_new_data(segment.ack);
        let probing = segment.seq + 1 == self.receiver.nxt() && !segment.flags.has(Flags::SYN);
        if segment.flags.has(Flags::ACK) && (probing || (self.receiver.offered() == 0 && expected)) {
            self.on_acknowledgment(now, segment);
        }
        if segment.flags.has(Flags::FIN) && self.state == State::TimeWait {
            self.start_time_wait(now);
        }
        // Two ends that refuse each other's empty segments would loop indefinitely (Linux tcp_oow_rate_limited).
        if segment.space() > 0 {
            self.receiver.on_refused(now, segment);
            self.receiver.ack_soon();
        }
    }

    /// Returns false for a segment from before a wrap of sequence numbers: its timestamp is older than the one to echo
    /// (RFC 7323 §5.3).
    fn timestamps_are_new(&self, segment: &Segment) -> bool {
        let (Some(clock), false) = (self.timestamps, segment.flags.has(Flags::RST)) else { return true };
        let tolerated = i32::from(self.config.accept_late_acks);
        segment.timestamps.is_some_and(|timestamps| timestamps.age(clock.recent) <= tolerated)
    }

    //= Linux tcp_input.c, tcp_disordered_ack
    /// Returns true for an ACK that is not from before a wrap of sequence numbers although its timestamp is older than
    /// the one to echo: others have overtaken it. It may carry SACK blocks.
    #[cold]
    fn is_late_ack(&self, segment: &Segment) -> bool {
        let (Some(clock), Some(timestamps)) = (self.timestamps, segment.timestamps) else { return false };
        let is_bare = segment.flags.has(Flags::ACK) && segment.space() == 0;
        let replay = self.sender.rto().0 / self.config.timestamp_tick.0;
        let field = Carriage::decode(self.codes_in, segment.window, segment.code).field;
        self.config.accept_late_acks
            && is_bare
            && segment.seq == self.receiver.nxt()
            && segment.ack == self.sender.una()
            && !self.sender.enlarges_window(segment.seq, segment.ack, field)
            && i64::from(timestamps.age(clock.recent)) <= replay as i64
    }

    /// Records the timestamp of the segment at the left edge of the last ACK (RFC 7323 §4.3 (2)).
    fn remember_timestamp(&mut self, segment: &Segment) {
        if let (Some(clock), Some(timestamps)) = (&mut self.timestamps, segment.timestamps)
            && !segment.seq.is_after(clock.last_ack_sent)
            && timestamps.age(clock.recent) <= 0
        {
            clock.recent = timestamps.val;
        }
    }

    /// Processes the ACK; returns true if the rest of the segment may be processed.
    fn on_acknowledgment(&mut self, now: Time, segment: &Segment) -> bool {
        match self.sender.position(segment.ack) {
            Position::Old => return true,
            Position::Unsent => {
                self.receiver.ack_soon();
                return false;
            }
            Position::Valid => {}
        }
        let decoded = Carriage::decode(self.codes_in, segment.window, segment.code);
        if self.sender.updates_only_the_window(segment.ack) {
            self.sender.update_window(segment.seq, segment.ack, decoded.field);
        } else {
            self.sender.on_ack(&Acknowledgment {
                now,
                seq: segment.seq,
                ack: segment.ack,
                flags: segment.flags,
                field: decoded.field,
                sack: &segment.sack,
                rtt: self.elapsed(now, segment),
                echoed_by: self.echoed_by(now, segment),
                one_way_delay: self.one_way_delay(segment),
                code: decoded.code,
                has_data: segment.len > 0,
            });
        }
        if self.sender.is_finished() {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.start_time_wait(now),
                State::LastAck => self.end(None),
                _ => {}
            }
        }
        true
    }

    fn on_payload(&mut self, now: Time, segment: &Segment) {
        let open = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        if !open {
            return;
        }
        let received = self.receiver.on_data(now, segment, || self.sender.rtt().rto());
        if segment.len > 0 {
            self.stats.data_segments_received += 1;
            if received.arrival.new == Bytes::ZERO {
                self.stats.duplicates_received += 1;
            } else if received.in_order == 0 {
                self.stats.out_of_order_received += 1;
            }
        }
        if received.finished {
            self.on_fin(now);
        }
    }

    fn on_fin(&mut self, now: Time) {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.start_time_wait(now),
            _ => {}
        }
    }

    fn start_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.time_wait_until = Some(now + self.config.max_segment_lifetime * 2);
    }

    fn end(&mut self, failure: Option<Failure>) {
        self.state = State::Closed;
        self.failure = self.failure.or(failure);
        self.handshake = Handshake::default();
        self.time_wait_until = None;
    }

    // Timers.

    /// Returns the time at which [`on_timeout`](Endpoint::on_timeout) is to be called if no segment arrives before.
    pub fn next_timeout(&self) -> Option<Time> {
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.handshake.timeout_at,
            _ => earliest([self.sender.next_deadline(), self.receiver.ack_at(), self.time_wait_until]),
        }
    }

    /// Processes the timers due at `now`; an early call has no effect.
    pub fn on_timeout(&mut self, now: Time) {
        if self.handshake.timeout_at.is_some_and(|at| at <= now) {
            self.on_handshake_timeout();
        }
        if self.time_wait_until.is_some_and(|at| at <= now) {
            self.end(None);
        }
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        self.sender.on_timeout(now);
        if self.sender.has_failed() {
            self.end(Some(Failure::TimedOut));
        }
        if self.receiver.ack_at().is_some_and(|at| at <= now) {
            self.receiver.on_ack_timeout();
        }
    }

    fn on_handshake_timeout(&mut self) {
        self.handshake.timeout_at = None;
        if self.handshake.retries >= self.config.max_retries {
            self.end(Some(Failure::TimedOut));
            return;
        }
        self.handshake.retries += 1;
        self.stats.timeouts += 1;
        self.sender.back_off();
        self.handshake.due = true;
    }

    // Transmission.

    /// Returns the next segment to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some((seq, ack)) = self.pending_reset.take() {
            self.stats.segments_sent += 1;
            return Some(reset(now, seq, ack));
        }
        if let Some((ack, congestion)) = self.receiver.take_earlier_ack() {
            self.stats.acks_sent += 1;
            let segment = self.stamp_with(now, self.sender.nxt(), Flags::ACK | congestion, ack);
            return Some(Segment { window: self.receiver.field_beyond(ack), ..segment });
        }
        if let Some(ack) = self.receiver.take_partial_ack() {
            self.stats.acks_sent += 1;
            let flags = Flags::ACK | self.receiver.congestion_flags(true);
            return Some(self.stamp_with(now, self.sender.nxt(), flags, ack));
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.syn(now),
            State::FinWait2 | State::TimeWait => {}
            _ => {
                if let Some(outgoing) = self.sender.next(now) {
                    return Some(self.data(now, outgoing));
                }
            }
        }
        (self.receiver.ack_is_due() || self.receiver.take_spoofed_duplicate()).then(|| {
            self.stats.acks_sent += 1;
            // After a FIN no data follows, so SND.NXT is right in these states, too.
            let flags = Flags::ACK | self.receiver.congestion_flags(true);
            self.stamp(now, self.sender.nxt(), flags)
        })
    }

    fn syn(&mut self, now: Time) -> Option<Segment> {
        if !std::mem::take(&mut self.handshake.due) {
            return None;
        }
        let retransmission = self.handshake.sent_at.is_some();
        self.handshake.sent_at.get_or_insert(now);
        self.handshake.timeout_at = Some(now + self.sender.rtt().rto());
        let is_syn_ack = self.state == State::SynReceived;
        let peer = self.handshake.peer.filter(|_| is_syn_ack);
        //= RFC 3168 §6.1.1.1: a SYN is retransmitted without an ECN request, which may have caused its loss
        let request = if retransmission { Flags::default() } else { ecn::request(self.config.ecn) };
        let answer = peer.map_or(Flags::default(), |peer| peer.ecn_answer);
        let flags = if is_syn_ack { Flags::SYN | Flags::ACK | answer } else { Flags::SYN | request };
        let mut segment = self.stamp(now, self.sender.una(), flags);
        let offers_scale = self.config.window_scaling && peer.is_none_or(|peer| peer.window_scale.is_some());
        let offers_timestamps = self.config.timestamps && peer.is_none_or(|peer| peer.timestamps);
        segment.mss = NonZeroU16::new(self.config.mss);
        segment.window_scale = offers_scale.then(|| self.own_shift());
        segment.sack_permitted = self.config.sack && peer.is_none_or(|peer| peer.sack_permitted);
        segment.timestamps = offers_timestamps.then(|| {
            let recent = self.timestamps.map_or(0, |clock| clock.recent);
            Timestamps { val: self.ticks(now), ecr: recent }
        });
        segment.retransmission = retransmission;
        Some(segment)
    }

    fn data(&mut self, now: Time, outgoing: Outgoing) -> Segment {
        let fin = if outgoing.fin { Flags::FIN } else { Flags::default() };
        let congestion = self.receiver.congestion_flags(false) | outgoing.flags;
        let flags = Flags::ACK | fin | congestion;
        let mut segment = self.stamp(now, outgoing.seq, flags);
        segment.len = outgoing.len;
        segment.ecn = outgoing.ecn;
        segment.retransmission = outgoing.retransmission;
        segment
    }

    /// Builds a segment without payload, with acknowledgment, window, timestamps and SACK blocks.
    fn stamp(&mut self, now: Time, seq: Seq, flags: Flags) -> Segment {
        let ack = if flags.has(Flags::ACK) { self.receiver.acknowledges() } else { Seq(0) };
        self.stamp_with(now, seq, flags, ack)
    }

    fn stamp_with(&mut self, now: Time, seq: Seq, flags: Flags, ack: Seq) -> Segment {
        self.stats.segments_sent += 1;
        let timestamps = self.timestamps.map(|clock| Timestamps { val: self.ticks(now), ecr: clock.recent });
        let offer = self.receiver.offer(now, timestamps.map(|timestamps| timestamps.val));
        if let Some(clock) = &mut self.timestamps {
            clock.last_ack_sent = ack;
        }
        let room = Segment::MAX_OPTION_BYTES
            - 2
            - Segment::TIMESTAMPS_BYTES * u32::from(timestamps.is_some())
            - Segment::CODE_OPTION_BYTES * u32::from(self.receiver.has_code_option());
        let sack =
            if self.sack { self.receiver.sack_blocks(room as usize / 8) } else { SackBlocks::default() };
        if flags.has(Flags::ACK) && ack == self.receiver.acknowledges() {
            self.receiver.on_ack_sent();
        }
        // A code in the place of the window is the same for any acknowledgment number.
        let is_offer = ack == self.receiver.nxt() || !flags.has(Flags::ACK) || offer.is_code;
        let window = if is_offer { offer.field } else { self.receiver.field_beyond(ack) };
        if offer.option.is_some() || offer.is_code {
            self.stats.codes_sent += 1;
        }
        Segment {
            sent_at: now,
            seq,
            ack,
            timestamps,
            sack,
            len: 0,
            window,
            mss: None,
            window_scale: None,
            code: offer.option,
            flags,
            ecn: Codepoint::NotEct,
            sack_permitted: false,
            retransmission: false,
        }
    }

    /// Returns the minimum shift with which the whole buffer can be advertised (RFC 7323 §2.3), limited to the maximum
    /// that preserves the receive-window control's granularity.
    fn own_shift(&self) -> u8 {
        let max = self.receiver.max_shift().min(14);
        (0..max).find(|shift| self.config.receive_buffer.0 >> shift <= u64::from(u16::MAX)).unwrap_or(max)
    }

    fn ticks(&self, now: Time) -> u32 {
        timestamps::ticks(self.config.timestamp_tick, now)
    }

    /// Returns the time since the transmission of the segment that this one echoes, see [`timestamps::elapsed`].
    fn elapsed(&self, now: Time, segment: &Segment) -> Option<Span> {
        self.timestamps?;
        let now = self.ticks(now);
        let Config { timestamp_tick: tick, rtt_by_timestamps, .. } = *self.config;
        // Where timestamps only replace a time of transmission that is unknown, Linux takes one tick for less than one
        // (tcp_rtt_tsopt_us): otherwise there would be no sample.
        let min = (!rtt_by_timestamps).then_some(tick);
        timestamps::elapsed(tick, now, segment.timestamps?.ecr).or(min)
    }

    /// Returns the upper bound of the transmission time of the echoed segment: the last instant of its tick.
    fn echoed_by(&self, now: Time, segment: &Segment) -> Option<Time> {
        self.timestamps?;
        let ago = self.ticks(now).wrapping_sub(segment.timestamps?.ecr);
        let tick = self.config.timestamp_tick.0;
        let end = (now.0 / tick + 1).checked_sub(u64::from(ago))? * tick;
        Some(Time(end.checked_sub(1)?))
    }

    /// Returns the one-way delay by timestamps, from the tick of a segment's transmission here to the tick of its echo
    /// at the peer. Clocks may differ; a negative difference counts as zero.
    fn one_way_delay(&self, segment: &Segment) -> Option<Span> {
        self.timestamps?;
        let Timestamps { val, ecr } = segment.timestamps?;
        let ticks = (val.wrapping_sub(ecr) as i32).max(0);
        Some(self.config.timestamp_tick * ticks as u64)
    }
}

fn reset(now: Time, seq: Seq, ack: Option<Seq>) -> Segment {
    Segment {
        sent_at: now,
        seq,
        ack: ack.unwrap_or_default(),
        timestamps: None,
        sack: SackBlocks::default(),
        len: 0,
        window: 0,
        mss: None,
        window_scale: None,
        code: None,
        flags: if ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST },
        ecn: Codepoint::NotEct,
        sack_permitted: false,
        retransmission: false,
    }
}

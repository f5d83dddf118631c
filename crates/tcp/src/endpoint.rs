//! One end of a connection: the states of RFC 9293 around a sending and a receiving half.

use crate::receiver::Receiver;
use crate::rwnd::{Carriage, TimestampClock, timestamps};
use crate::segment::{Codepoint, Flags, SackBlocks, Segment, Timestamps};
use crate::sender::limit::Limited;
use crate::sender::{Acknowledgment, Agreement, Outgoing, Position, Sender, earliest};
use crate::stack::Ecn;
use crate::{Config, Seq, cc, ecn, rwnd};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU16;

/// The states of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// Our SYN is out.
    SynSent,
    /// SYNs were exchanged, ours is not acknowledged.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN is out or queued.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// The peer's FIN came.
    CloseWait,
    /// Both FINs crossed.
    Closing,
    /// The peer's FIN came, ours is out or queued.
    LastAck,
    /// Waiting for old segments to die.
    TimeWait,
}

impl State {
    /// Whether there may be a connection whose data this end has not said or heard the end of.
    pub fn is_open(self) -> bool {
        matches!(self, State::Listen | State::SynSent | State::SynReceived | State::Established)
    }
}

/// Why a connection ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Too many timeouts in a row.
    TimedOut,
    /// The peer sent a reset.
    Reset,
}

/// What has happened at an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments handed out, of any kind.
    pub segments_sent: u64,
    /// Segments taken in, of any kind.
    pub segments_received: u64,
    /// Segments with payload handed out, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with payload taken in.
    pub data_segments_received: u64,
    /// Segments without payload, SYN, FIN or RST handed out.
    pub acks_sent: u64,
    /// Payload handed out, without retransmissions.
    pub bytes_sent: Bytes,
    /// Sequence space that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Payload received in order.
    pub bytes_received: Bytes,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Payload sent again.
    pub bytes_retransmitted: Bytes,
    /// Fast recoveries begun.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Duplicate ACKs taken in; with SACK, ACKs that reported something new above.
    pub duplicate_acks: u64,
    /// Segments taken in that offer no window, without those with SYN, FIN or RST.
    pub zero_windows: u64,
    /// Segments that the peer reported to have come twice (D-SACK).
    pub dsacks: u64,
    /// Reductions of the window that were taken back, since nothing had been lost.
    pub reductions_undone: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Window codes obeyed.
    pub codes_obeyed: u64,
    /// Window codes sent.
    pub codes_sent: u64,
    /// Data segments that brought nothing new.
    pub duplicates_received: u64,
    /// Data segments that came before their turn.
    pub out_of_order_received: u64,
    /// Reductions of the window for marked packets.
    pub ecn_reductions: u64,
    /// Data segments that came marked (CE).
    pub marked_received: u64,
    /// Segments that had an old timestamp (RFC 7323 §5, PAWS) or lay outside the window.
    pub segments_refused: u64,
}

/// What an endpoint is made from.
#[derive(Clone, Copy, Debug)]
pub struct EndpointSetup<'a> {
    /// The stack's parameters.
    pub config: &'a Config,
    /// Congestion control of what is sent from here.
    pub cc: &'a cc::Spec,
    /// Receive-window control of what is received here.
    pub rwnd: &'a rwnd::Spec,
    /// Receive-window control at the other end, whose half at the sender runs here.
    pub peer_rwnd: &'a rwnd::Spec,
    /// The first sequence number.
    pub iss: Seq,
    /// Names the random draws of the congestion control and of the receive-window control.
    pub seed: u64,
}

/// One end of a connection.
///
/// After each call that is not a question, ask [`poll_transmit`](Endpoint::poll_transmit) for segments until
/// it has none, and then [`next_timeout`](Endpoint::next_timeout) when to come back with
/// [`on_timeout`](Endpoint::on_timeout).
#[derive(Debug)]
pub struct Endpoint {
    state: State,
    sender: Sender,
    receiver: Receiver,
    config: Config,
    /// How window codes travel in the segments that come in.
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
    /// A SYN, or in SYN-RECEIVED a SYN with ACK, waits to go out.
    due: bool,
    sent_at: Option<Time>,
    timeout_at: Option<Time>,
    retries: u32,
    /// Options that the peer's SYN did not bring.
    peer: Option<PeerSyn>,
}

#[derive(Clone, Copy, Debug)]
struct PeerSyn {
    mss: Option<NonZeroU16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: bool,
    /// The answer's bits about ECN.
    ecn_answer: Flags,
}

/// Timestamps in force (RFC 7323 §4.3).
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// TS.Recent: what we echo.
    recent: u32,
    /// Last.ACK.sent
    last_ack_sent: Seq,
}

impl Endpoint {
    /// A closed endpoint.
    pub fn new(setup: &EndpointSetup<'_>) -> Endpoint {
        let EndpointSetup { config, cc, rwnd, peer_rwnd, iss, seed } = *setup;
        let controller = rwnd.build(&config.receiver_context(seed));
        let (codes_in, sender_half) = peer_rwnd.sender_half().unzip();
        Endpoint {
            state: State::Closed,
            sender: Sender::new(config, cc, sender_half, iss, seed),
            receiver: Receiver::new(config, controller),
            config: config.clone(),
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

    // What the application does.

    /// Opens actively: a SYN will go out.
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

    /// Leaves bytes to be sent, also before the connection stands; returns how many the send buffer took.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        Bytes(self.sender.write(bytes.0))
    }

    /// The application always has data: the send buffer is full of whole segments until `close`.
    pub fn write_endlessly(&mut self) {
        self.sender.write_endlessly();
    }

    /// Nothing more will be written: after what was, a FIN goes out.
    ///
    /// Before the handshake ends this waits for it (RFC 9293 §3.10.4 would forget the connection in
    /// SYN-SENT), so that connect, write, close is a whole flow.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.shut, true) {
            return;
        }
        match self.state {
            State::Closed | State::Listen => self.end(None),
            // RFC 9293 §3.10.4 would delete the connection; connect, write, close is a whole flow here.
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

    /// Ends the connection at once with a reset.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            self.pending_reset = Some((self.sender.nxt(), Some(self.receiver.nxt())));
        }
        self.end(None);
    }

    /// Whether the application reads what arrives at once, as it does unless told otherwise, or calls
    /// [`read`](Endpoint::read).
    pub fn read_at_once(&mut self, at_once: bool) {
        self.receiver.read_at_once(at_once);
    }

    /// What the receive-window control wants to know of the device. It does not change.
    pub fn wants_of_device(&self) -> rwnd::Wants {
        self.receiver.wants()
    }

    /// What the receive-window control goes by from now on, besides its own connection.
    pub fn tell_of_device(&mut self, device: rwnd::Device) {
        self.receiver.tell_of_device(device);
    }

    /// The application takes up to `max` bytes that arrived in order; returns how many there were.
    pub fn read(&mut self, now: Time, max: Bytes) -> Bytes {
        let max = max.0.min(u64::from(u32::MAX)) as u32;
        Bytes(u64::from(self.receiver.read(now, max)))
    }

    // What the network does.

    /// A segment arrived.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.stats.segments_received += 1;
        let opens_or_ends = Flags::SYN | Flags::FIN | Flags::RST;
        self.stats.zero_windows += u64::from(segment.window == 0 && segment.flags.0 & opens_or_ends.0 == 0);
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

    /// RFC 9293 §3.10.7.1: a reset that the peer will accept.
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
        let sample = self.elapsed(now, segment).or(clean.map(|sent_at| now - sent_at));
        if let Some(sample) = sample {
            self.sender.on_rtt(sample);
        }
        self.handshake.due = false;
        self.handshake.timeout_at = None;
        self.state = if self.shut { State::FinWait1 } else { State::Established };
    }

    /// RFC 9293 §3.10.7.4: every state in which both sequence numbers are known.
    fn on_synchronised(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        if !self.timestamps_are_new(segment) || !self.receiver.accepts(segment) {
            self.on_unacceptable(now, segment);
            return;
        }
        if flags.has(Flags::RST) {
            //= RFC 9293 §3.10.7.4 (RFC 5961): a reset must hit the next byte, else it is challenged
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
        if self.on_acknowledgment(now, segment) {
            self.on_payload(now, segment);
        }
    }

    /// A retransmission that we have, a probe of a closed window, a lost handshake's segment.
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
        // So are those of a prober that does not know yet that its byte was taken: were both ends to ignore what
        // the other says, neither would ever learn of the other's window.
        let expected = segment.seq == self.receiver.nxt() || self.sender.is_news(segment.ack);
        let probing = segment.seq + 1 == self.receiver.nxt() && !segment.flags.has(Flags::SYN);
        if segment.flags.has(Flags::ACK) && (probing || (self.receiver.offered() == 0 && expected)) {
            self.on_acknowledgment(now, segment);
        }
        if segment.flags.has(Flags::FIN) && self.state == State::TimeWait {
            self.start_time_wait(now);
        }
        // Two ends that refuse each other's empty segments would answer for ever (Linux tcp_oow_rate_limited).
        if segment.space() > 0 {
            self.receiver.on_refused(now, segment);
            self.receiver.ack_soon();
        }
    }

    /// RFC 7323 §5.3: a timestamp that is older than what we echo betrays a segment from before the wrap.
    fn timestamps_are_new(&self, segment: &Segment) -> bool {
        let (Some(clock), false) = (self.timestamps, segment.flags.has(Flags::RST)) else { return true };
        segment.timestamps.is_some_and(|timestamps| timestamps.val.wrapping_sub(clock.recent) as i32 >= 0)
    }

    /// RFC 7323 §4.3 (2): echo the timestamp of the segment at the left edge of what was last acknowledged.
    fn remember_timestamp(&mut self, segment: &Segment) {
        if let (Some(clock), Some(timestamps)) = (&mut self.timestamps, segment.timestamps)
            && !segment.seq.is_after(clock.last_ack_sent)
        {
            clock.recent = timestamps.val;
        }
    }

    /// Returns whether the rest of the segment may be looked at.
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
        if segment.space() == 0 || !open {
            return;
        }
        let received = self.receiver.on_data(now, segment, self.sender.rtt().rto());
        if segment.len > 0 {
            self.stats.data_segments_received += 1;
            let is_new = received.arrival.new > Bytes::ZERO;
            self.stats.duplicates_received += u64::from(!is_new);
            self.stats.out_of_order_received += u64::from(is_new && received.in_order == 0);
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

    // Time.

    /// When [`on_timeout`](Endpoint::on_timeout) shall be called, if nothing happens before.
    pub fn next_timeout(&self) -> Option<Time> {
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.handshake.timeout_at,
            _ => {
                let timers = [self.receiver.ack_at(), self.time_wait_until];
                timers.into_iter().fold(self.sender.next_deadline(), earliest)
            }
        }
    }

    /// Time has come to `now`; calling it early does nothing.
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

    // Segments.

    /// The next segment to send now, if there is one.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let segment = self.next_segment(now)?;
        self.stats.segments_sent += 1;
        Some(segment)
    }

    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if let Some((seq, ack)) = self.pending_reset.take() {
            return Some(reset(now, seq, ack));
        }
        if let Some((ack, congestion)) = self.receiver.take_earlier_ack() {
            self.stats.acks_sent += 1;
            let segment = self.stamp_with(now, self.sender.nxt(), Flags::ACK | congestion, ack);
            return Some(Segment { window: self.receiver.field_beyond(ack), ..segment });
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
        self.receiver.wants_ack().then(|| {
            self.stats.acks_sent += 1;
            // Beyond a FIN there is nothing to send, so this is SND.NXT also then.
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
        let answers = self.state == State::SynReceived;
        let peer = self.handshake.peer.filter(|_| answers);
        //= RFC 3168 §6.1.1.1: a SYN that was lost is repeated without asking for ECN, lest it was refused for that
        let asks = if retransmission { Flags::default() } else { ecn::request(self.config.ecn) };
        let answer = peer.map_or(Flags::default(), |peer| peer.ecn_answer);
        let flags = if answers { Flags::SYN | Flags::ACK | answer } else { Flags::SYN | asks };
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

    /// A segment without payload and with all that goes along: acknowledgment, window, timestamps, SACK.
    fn stamp(&mut self, now: Time, seq: Seq, flags: Flags) -> Segment {
        let ack = if flags.has(Flags::ACK) { self.receiver.nxt() } else { Seq(0) };
        self.stamp_with(now, seq, flags, ack)
    }

    fn stamp_with(&mut self, now: Time, seq: Seq, flags: Flags, ack: Seq) -> Segment {
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
        if flags.has(Flags::ACK) && ack == self.receiver.nxt() {
            self.receiver.on_ack_sent();
        }
        self.stats.codes_sent += u64::from(offer.option.is_some() || offer.is_code);
        Segment {
            sent_at: now,
            seq,
            ack,
            timestamps,
            sack,
            len: 0,
            window: offer.field,
            mss: None,
            window_scale: None,
            code: offer.option,
            flags,
            ecn: Codepoint::NotEct,
            sack_permitted: false,
            retransmission: false,
        }
    }

    /// The least shift with which the whole buffer can be offered (RFC 7323 §2.3), or the largest that leaves the
    /// receive-window control its steps.
    fn own_shift(&self) -> u8 {
        let most = self.receiver.max_shift().min(14);
        (0..most).find(|shift| self.config.receive_buffer.0 >> shift <= u64::from(u16::MAX)).unwrap_or(most)
    }

    fn ticks(&self, now: Time) -> u32 {
        timestamps::ticks(self.config.timestamp_tick, now)
    }

    /// The time since the segment that this one echoes was sent, see [`timestamps::elapsed`].
    fn elapsed(&self, now: Time, segment: &Segment) -> Option<Span> {
        self.timestamps?;
        let now = self.ticks(now);
        Some(timestamps::elapsed(self.config.timestamp_tick, now, segment.timestamps?.ecr))
    }

    /// When the segment had left that this one echoes: the last instant of its tick.
    fn echoed_by(&self, now: Time, segment: &Segment) -> Option<Time> {
        self.timestamps?;
        let ago = self.ticks(now).wrapping_sub(segment.timestamps?.ecr);
        let tick = self.config.timestamp_tick.0;
        let end = (now.0 / tick + 1).checked_sub(u64::from(ago))? * tick;
        Some(Time(end.checked_sub(1)?))
    }

    /// From the tick at which a segment left here to the tick at which its echo left there; clocks may differ, but
    /// not by so much that it seems negative.
    fn one_way_delay(&self, segment: &Segment) -> Option<Span> {
        self.timestamps?;
        let Timestamps { val, ecr } = segment.timestamps?;
        let ticks = (val.wrapping_sub(ecr) as i32).max(0);
        Some(self.config.timestamp_tick * ticks as u64)
    }

    // Questions.

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why the connection ended early, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        let sent = self.sender.counts();
        Stats {
            data_segments_sent: sent.data_segments,
            bytes_sent: Bytes(sent.bytes),
            bytes_acked: Bytes(sent.bytes_acked),
            bytes_received: Bytes(self.receiver.received()),
            retransmissions: sent.retransmissions,
            bytes_retransmitted: Bytes(sent.bytes_retransmitted),
            fast_retransmits: sent.fast_retransmits,
            timeouts: self.stats.timeouts + sent.timeouts,
            window_probes: sent.probes,
            duplicate_acks: sent.duplicate_acks,
            dsacks: sent.dsacks,
            reductions_undone: sent.undone,
            tail_probes: sent.tail_probes,
            codes_obeyed: sent.codes,
            ecn_reductions: sent.ecn_reductions,
            marked_received: self.receiver.marked(),
            ..self.stats
        }
    }

    /// Payload received in order.
    pub fn bytes_received(&self) -> Bytes {
        Bytes(self.receiver.received())
    }

    /// The congestion window; during fast recovery what the repair allows.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.sender.window())
    }

    /// The slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.sender.cc().ssthresh()
    }

    /// The congestion controller.
    pub fn cc(&self) -> &dyn cc::CongestionControl {
        self.sender.cc()
    }

    /// For how long what has kept it from sending more, since the connection was established.
    pub fn limited(&self, now: Time) -> Limited {
        self.sender.limited(now)
    }

    /// The window that the peer offers.
    pub fn peer_window(&self) -> Bytes {
        Bytes(u64::from(self.sender.peer_window()))
    }

    /// The window that is offered here: bytes that may still come.
    pub fn offered_window(&self) -> Bytes {
        Bytes(u64::from(self.receiver.offered()))
    }

    /// Bytes thought to be in the network.
    pub fn in_flight(&self) -> Bytes {
        Bytes(u64::from(self.sender.in_flight()))
    }

    /// Bytes sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> Bytes {
        Bytes(u64::from(self.sender.outstanding()))
    }

    /// Bytes written and not sent; zero for an endless source.
    pub fn queued(&self) -> Bytes {
        Bytes(self.sender.queued())
    }

    /// Whether the application has written more than was sent.
    pub fn has_more(&self) -> bool {
        self.sender.has_more()
    }

    /// Bytes that the application has not read.
    pub fn unread(&self) -> Bytes {
        Bytes(u64::from(self.receiver.unread()))
    }

    /// Smoothed round-trip time of the sender.
    pub fn srtt(&self) -> Option<Span> {
        self.sender.rtt().srtt()
    }

    /// The sender's newest round-trip time sample, once: what arrived since the last call.
    pub fn take_rtt_sample(&mut self) -> Option<Span> {
        self.sender.take_rtt_sample()
    }

    /// Least round-trip time of the sender.
    pub fn min_rtt(&self) -> Option<Span> {
        self.sender.rtt().min()
    }

    /// Retransmission timeout.
    pub fn rto(&self) -> Span {
        self.sender.rtt().rto()
    }

    /// The round-trip time as the receiver sees it.
    pub fn receiver_rtt(&self) -> Option<Span> {
        self.receiver.rtt()
    }

    /// Whether a loss is being repaired.
    pub fn is_recovering(&self) -> bool {
        self.sender.is_recovering()
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

//! Measurements of a receiver from TCP headers: arrivals, RTT, retransmissions and the window's right edge.

use crate::ranges::Ranges;
use crate::timestamps::{self, TimestampClock, Timestamps};
use crate::{Advertisement, Arrival, Device, RecvView, Seq, SeqRange};
use airwnd_units::{Bytes, Span, Time};

/// An incoming segment, or several of one connection merged: header fields and host-side information.
///
/// Several segments may be merged (GRO, or a report each millisecond) if they are consecutive: the first sequence
/// number, the sum of the lengths and the timestamps of the last.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// Payload bytes.
    pub len: u32,
    /// Number of merged segments with payload, at least 1.
    pub segments: u32,
    /// Whether a FIN follows the payload.
    pub fin: bool,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// Time since the segment was sent, see [`Arrival::one_way_delay`].
    pub one_way_delay: Option<Span>,
}

/// Header fields of an outgoing segment.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Acknowledgment number.
    pub ack: Seq,
    /// Right edge of the offered window: `ack` plus the scaled window field.
    pub edge: Seq,
    /// TSval, if the segment has timestamps.
    pub ts_val: Option<u32>,
}

/// Result of an incoming segment.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Input of the controller, if the segment has payload.
    pub arrival: Arrival,
    /// Bytes that became in order: those of this segment, and those received earlier behind the gap that it fills.
    pub in_order: u32,
    /// Range that contains the payload, if data before it is missing.
    pub early: Option<SeqRange>,
    /// Whether all data up to the peer's FIN has become in order with this segment.
    pub finished: bool,
}

/// Measures one direction of a connection from its headers, at the receiver or on a router on the path of all segments.
///
/// Input: incoming segments and outgoing ACKs. Output: the [`Arrival`]s and [`RecvView`]s that controllers use, and the
/// right edge of the window after rounding. It stores no payload, reads no clock and does no I/O.
#[derive(Clone, Debug)]
pub struct Observer {
    mss: u32,
    may_shrink: bool,
    /// RCV.NXT
    nxt: Seq,
    /// Right edge: the maximum ever offered, unless the controller may shrink the window.
    edge: Seq,
    /// Shift of outgoing window fields.
    shift: u8,
    early: Ranges,
    /// Sequence number of the peer's FIN.
    fin: Option<Seq>,
    received: u64,
    /// Payload bytes received for the first time, in order or not.
    arrived: u64,
    rtt: ReceiverRtt,
    retransmissions: Retransmissions,
}

impl Observer {
    /// Creates an observer before the handshake. `may_shrink`: whether the controller may [take
    /// back](crate::Capabilities::may_shrink) an offered window.
    pub fn new(mss: Bytes, may_shrink: bool) -> Observer {
        Observer {
            mss: mss.0 as u32,
            may_shrink,
            nxt: Seq(0),
            edge: Seq(0),
            shift: 0,
            early: Ranges::new(),
            fin: None,
            received: 0,
            arrived: 0,
            rtt: ReceiverRtt::default(),
            retransmissions: Retransmissions::default(),
        }
    }

    /// Processes the peer's SYN with sequence number `irs`. `clock`: clock of the outgoing TSvals; `None`: no
    /// timestamps.
    pub fn synchronise(&mut self, irs: Seq, clock: Option<TimestampClock>) {
        self.nxt = irs + 1;
        self.edge = self.nxt;
        self.rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
    }

    /// Sets the shift of window fields sent after the handshake (RFC 7323 §2.2). It is zero before, and if the option
    /// is missing on one SYN.
    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// Returns the next expected sequence number.
    #[inline]
    pub fn nxt(&self) -> Seq {
        self.nxt
    }

    /// Returns the right edge of the window.
    #[inline]
    pub fn edge(&self) -> Seq {
        self.edge
    }

    /// Returns the bytes offered beyond the next expected one.
    #[inline]
    pub fn offered(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    /// Returns the payload bytes received in order.
    #[inline]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns whether data below the highest received byte is missing.
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.early.is_empty()
    }

    /// Returns the receiver's RTT: mean of the samples of the last round trip.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt.mean
    }

    /// Returns the payload bytes received, in order or not.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Returns the minimum RTT sample since the handshake.
    pub fn min_rtt(&self) -> Option<Span> {
        self.rtt.min
    }

    /// Forgets the mean RTT: the connection has been idle or interrupted. Echoes of TSvals sent before `now` yield no
    /// samples. The minimum stays.
    pub fn forget_rtt(&mut self, now: Time) {
        let ReceiverRtt { clock, last_echo, by_echo, min_mean, min, .. } = self.rtt;
        let last_echo = match clock {
            Some(TimestampClock::Ticks(tick)) => Some(timestamps::ticks(tick, now)),
            _ => last_echo,
        };
        self.rtt = ReceiverRtt { clock, last_echo, by_echo, min_mean, min, ..ReceiverRtt::default() };
    }

    /// Returns the first part of `range` that was received before.
    #[inline]
    pub fn already_received(&self, range: SeqRange) -> Option<SeqRange> {
        let taken = SeqRange { start: range.start, end: range.end.min(self.nxt) };
        if taken.start.is_before(taken.end) { Some(taken) } else { self.early.overlap(range) }
    }

    /// Returns the input state of a controller. `free` and `unread`: free space and unread bytes of the receive buffer.
    #[inline]
    pub fn view(&self, free: Bytes, unread: Bytes, device: Device) -> RecvView {
        RecvView {
            mss: Bytes(u64::from(self.mss)),
            free,
            unread,
            early: Bytes(u64::from(self.early.end().map_or(0, |end| end - self.nxt))),
            offered: Bytes(u64::from(self.offered())),
            received: Bytes(self.received),
            rtt: self.rtt.mean,
            min_rtt: self.rtt.min_mean,
            device,
        }
    }

    /// Processes an incoming segment that is at least partly in the window.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Incoming) -> Observed {
        let before = self.nxt;
        let data_end = segment.seq + segment.len;
        let mut rtt = None;
        if segment.len > 0 {
            rtt = segment.timestamps.and_then(|timestamps| self.rtt.on_echo(now, timestamps.ecr));
            self.note_retransmission(now, segment);
        }
        if data_end.is_after(self.highest()) {
            self.retransmissions.highest_val = segment.timestamps.map(|timestamps| timestamps.val);
        }
        // The text of a segment beyond the peer's FIN is ignored.
        //= RFC 9293 §3.10.7.4
        let end = self.fin.map_or(data_end, |fin| data_end.min(fin)).min(self.edge);
        let start = segment.seq.max(self.nxt);
        let (mut in_order, mut new, mut early) = (0, 0, None);
        // Without the first condition a segment half the sequence space away would seem to be in the window.
        if start.is_before(self.edge) && start.is_before(end) {
            if start == self.nxt {
                let (next, held) = self.early.advance(end);
                self.nxt = next;
                in_order = next - before;
                new = in_order - held;
                self.received += u64::from(in_order);
            } else {
                let (merged, bytes) = self.early.insert(SeqRange { start, end });
                new = bytes;
                early = Some(merged);
            }
        }
        self.arrived += u64::from(new);
        self.retransmissions.note_gap(now, self.has_gap());
        // A second FIN, or one below data that was received, contradicts what the peer has sent.
        if segment.fin && end == data_end && self.fin.is_none() && !self.highest().is_after(data_end) {
            self.fin = Some(data_end);
        }
        let finished = self.fin == Some(self.nxt);
        if finished {
            self.nxt += 1;
        }
        let rtt = rtt.or_else(|| self.rtt.on_window(now, self.nxt));
        if let Some(sample) = rtt {
            self.rtt.on_sample(now, sample);
        }
        let arrival = Arrival {
            now,
            one_way_delay: segment.one_way_delay,
            segments: segment.segments,
            len: Bytes(u64::from(segment.len)),
            new: Bytes(u64::from(new)),
            in_order: in_order > 0,
            rtt,
            retransmission: segment.len > 0 && std::mem::take(&mut self.retransmissions.seen),
        };
        Observed { arrival, in_order, early, finished }
    }

    /// Gives up missing data below the highest received byte or the peer's FIN: it will not count as received, nor as
    /// arrived. Returns the bytes that became in order, and whether the peer's FIN is reached.
    pub fn skip_gaps(&mut self) -> (u32, bool) {
        let mut in_order = 0;
        while let Some(end) = self.early.end() {
            let (next, held) = self.early.advance(end);
            self.nxt = next;
            in_order += held;
        }
        self.received += u64::from(in_order);
        let finished = self.fin.is_some_and(|fin| !fin.is_before(self.nxt));
        if let (true, Some(fin)) = (finished, self.fin) {
            self.nxt = fin + 1;
        }
        (in_order, finished)
    }

    /// Processes an incoming segment that is outside the window, which the receiver refuses.
    pub fn on_refused(&mut self, now: Time, segment: &Incoming) {
        if segment.len > 0 {
            self.note_retransmission(now, segment);
        }
    }

    fn note_retransmission(&mut self, now: Time, segment: &Incoming) {
        let below = segment.seq.is_before(self.highest());
        let is_old = !(segment.seq + segment.len).is_after(self.nxt);
        let patience = self.rtt.min.unwrap_or(Span::ZERO) / 2;
        self.retransmissions.note(now, segment.timestamps, below, is_old, patience);
    }

    /// RCV.HGH of RFC 9840 §4.3: end of the received data.
    fn highest(&self) -> Seq {
        self.early.end().unwrap_or(self.nxt)
    }

    /// Returns the right edge for an advertisement, with `free` bytes free in the receive buffer. It does not move back
    /// unless the controller [may shrink](crate::Capabilities::may_shrink) its window, and does not move in small steps
    /// (silly window avoidance).
    #[inline]
    pub fn edge_for(&self, advertisement: &Advertisement, free: Bytes) -> Seq {
        match *advertisement {
            Advertisement::Window(window) => self.moved_edge(self.whole_units(window, free)),
            // The sender interprets a code as the full window, so the edge moves even by small steps.
            Advertisement::Code { window, .. } => self.edge.max(self.nxt + window.min(free).0 as u32),
        }
    }

    /// Rounds a window below the free buffer up to the unit of the window field (Linux __tcp_select_window), so that
    /// coarse window scaling cannot round two segments to zero: two segments are less than one unit of 4 KiB.
    fn whole_units(&self, window: Bytes, free: Bytes) -> u32 {
        let window = window.0.min(free.0);
        let rounded = window.next_multiple_of(1 << self.shift);
        (if rounded <= free.0 { rounded } else { window }) as u32
    }

    fn moved_edge(&self, window: u32) -> Seq {
        let wanted = self.nxt + window;
        let worth = self.mss.min((window / 2).max(1));
        if wanted.since(self.edge) >= worth || (self.may_shrink && wanted.is_before(self.edge)) {
            wanted.min(self.nxt + (u32::from(u16::MAX) << self.shift))
        } else {
            self.edge
        }
    }

    /// Returns the window field of a segment that acknowledges all bytes before `ack`. Rounded down: with scaling the
    /// edge appears to move by less than one unit (RFC 7323 §2.4).
    #[inline]
    pub fn field(&self, ack: Seq) -> u16 {
        (self.edge.since(ack) >> self.shift).min(u32::from(u16::MAX)) as u16
    }

    /// Processes an outgoing segment with an ACK, also one with a window chosen elsewhere (by a kernel, by a host
    /// behind a router). Bytes before `ack` count as received even if they were not observed; bytes up to the edge may
    /// arrive.
    #[inline]
    pub fn on_sent(&mut self, now: Time, sent: &Outgoing) {
        if sent.ack.is_after(self.nxt) {
            let before = self.nxt;
            (self.nxt, _) = self.early.advance(sent.ack);
            self.received += u64::from(self.nxt - before);
        }
        if sent.edge.is_after(self.edge) {
            self.edge = sent.edge;
            self.rtt.on_offer(now, self.edge);
        } else if self.may_shrink {
            self.edge = sent.edge;
        }
        if let Some(val) = sent.ts_val {
            self.rtt.on_tsval(now, val);
        }
    }
}

/// Retransmission detection at the receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Retransmissions {
    /// TSV.HGH of RFC 9840 §4.3: TSval of the segment that brought the highest byte.
    highest_val: Option<u32>,
    /// Time since which data is missing.
    gap_since: Option<Time>,
    /// Whether a retransmission has arrived since the last reported [`Arrival`].
    seen: bool,
}

impl Retransmissions {
    /// Processes a segment. `below`: it starts below the highest byte. `is_old`: it brings no new bytes.
    fn note(&mut self, now: Time, timestamps: Option<Timestamps>, below: bool, is_old: bool, patience: Span) {
        self.seen |= below
            && match (timestamps, self.highest_val) {
                //= RFC 9840 §4.3: sent after the highest byte, although its sequence number is lower
                (Some(Timestamps { val, .. }), Some(highest)) => val.wrapping_sub(highest) as i32 > 0,
                _ => is_old || self.gap_since.is_some_and(|since| now.since(since) >= patience),
            };
    }

    fn note_gap(&mut self, now: Time, is_open: bool) {
        self.gap_since = is_open.then(|| self.gap_since.unwrap_or(now));
    }
}

/// RTT estimation at the receiver.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiverRtt {
    /// Clock of the outgoing TSvals; `None`: no timestamps.
    clock: Option<TimestampClock>,
    last_echo: Option<u32>,
    /// With an unknown clock: TSval whose echo is awaited, and the time at which it was sent.
    awaited: Option<(u32, Time)>,
    /// The last new echo gave a sample. It does not if the RTT is shorter than a tick, and without timestamps.
    by_echo: bool,
    /// Without samples by timestamps: right edge of an offered window, and the time of the offer.
    mark: Option<(Seq, Time)>,
    round_end: Time,
    sum: u64,
    count: u64,
    mean: Option<Span>,
    /// Minimum of the means of round trips.
    min_mean: Option<Span>,
    /// Minimum sample.
    min: Option<Span>,
}

impl ReceiverRtt {
    //= RFC 9840 §4.2.1
    /// Returns an RTT sample for the first data that echoes this TSval; later data was delayed at the sender. Data that
    /// echoes an older TSval was reordered.
    fn on_echo(&mut self, now: Time, echo: u32) -> Option<Span> {
        let clock = self.clock?;
        let is_new = self.last_echo.is_none_or(|last| echo.wrapping_sub(last) as i32 > 0);
        if !is_new {
            return None;
        }
        self.last_echo = Some(echo);
        let sample = match clock {
            TimestampClock::Ticks(tick) => timestamps::elapsed(tick, timestamps::ticks(tick, now), echo),
            TimestampClock::Unknown => {
                let (val, since) = self.awaited.take_if(|(val, _)| echo.wrapping_sub(*val) as i32 >= 0)?;
                // A newer TSval echoes a later ACK: the awaited ACK was lost or reordered.
                (echo == val && now > since).then(|| now - since)
            }
        };
        self.by_echo = sample.is_some();
        if self.by_echo {
            self.mark = None;
        }
        sample
    }

    /// Records an outgoing TSval.
    fn on_tsval(&mut self, now: Time, val: u32) {
        if self.clock == Some(TimestampClock::Unknown)
            && self.awaited.is_none()
            && self.last_echo.is_none_or(|last| val.wrapping_sub(last) as i32 > 0)
        {
            self.awaited = Some((val, now));
        }
    }

    /// Without samples by timestamps: records the right edge of an offer, unless an earlier one is pending.
    fn on_offer(&mut self, now: Time, edge: Seq) {
        if !self.by_echo {
            self.mark.get_or_insert((edge, now));
        }
    }

    /// Without samples by timestamps: returns an RTT sample when all data allowed by an offer has arrived. The sample is
    /// longer than the RTT if the sender did not use the offer at once.
    fn on_window(&mut self, now: Time, nxt: Seq) -> Option<Span> {
        let (_, since) = self.mark.take_if(|(end, _)| !nxt.is_before(*end))?;
        (now > since).then(|| now - since)
    }

    /// Averages the samples of one round trip; before the first round trip is complete, the mean is the first sample.
    fn on_sample(&mut self, now: Time, sample: Span) {
        self.sum += sample.0;
        self.count += 1;
        self.min = Some(self.min.map_or(sample, |min| min.min(sample)));
        if now < self.round_end {
            return;
        }
        let mean = Span(self.sum / self.count);
        self.mean = Some(mean);
        self.min_mean = Some(self.min_mean.map_or(mean, |min| min.min(mean)));
        self.round_end = now + mean;
        self.sum = 0;
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 536;
    const FREE: Bytes = Bytes(1 << 24);

    /// A receiver with a constant window.
    struct Bench {
        observer: Observer,
        window: Bytes,
        timestamps: bool,
    }

    impl Bench {
        fn new(window: Bytes, timestamps: bool) -> Bench {
            let mut observer = Observer::new(Bytes(u64::from(MSS)), false);
            observer.synchronise(Seq(u32::MAX - 2 * MSS), None);
            let mut bench = Bench { observer, window, timestamps };
            bench.offer(Time::ZERO);
            bench
        }

        fn offer(&mut self, now: Time) -> u16 {
            let edge = self.observer.edge_for(&Advertisement::Window(self.window), FREE);
            let ack = self.observer.nxt();
            self.observer.on_sent(now, &Outgoing { ack, edge, ts_val: None });
            self.observer.field(ack)
        }

        /// Delivers segment `index`; returns whether it counts as a retransmission, or `None` if it was refused.
        fn deliver(&mut self, index: u32, sent_ms: u32, at_ms: u64) -> Option<bool> {
            let now = Time(at_ms * 1_000_000);
            let val = sent_ms.wrapping_sub(10);
            let segment = Incoming {
                seq: Seq(u32::MAX - 2 * MSS) + 1 + index * MSS,
                len: MSS,
                segments: 1,
                fin: false,
                timestamps: self.timestamps.then_some(Timestamps { val, ecr: 0 }),
                one_way_delay: None,
            };
            let end = segment.seq + segment.len;
            if segment.seq.is_before(self.observer.edge()) && end.is_after(self.observer.nxt()) {
                let observed = self.observer.on_segment(now, &segment);
                self.offer(now);
                Some(observed.arrival.retransmission)
            } else {
                self.observer.on_refused(now, &segment);
                None
            }
        }
    }

    #[test]
    fn a_lower_segment_with_a_newer_tsval_is_a_retransmission() {
        // Sequence numbers and timestamps wrap in this test.
        let mut bench = Bench::new(Bytes(1 << 20), true);
        bench.observer.set_shift(5);
        assert_eq!(
            [bench.deliver(0, 5, 30), bench.deliver(2, 6, 31), bench.deliver(4, 8, 33)],
            [Some(false); 3]
        );
        // Reordered: sent before the highest byte, or in the same tick.
        assert_eq!([bench.deliver(1, 7, 34), bench.deliver(3, 8, 90)], [Some(false); 2]);
        // Retransmitted after the highest byte.
        assert_eq!([bench.deliver(5, 60, 91), bench.deliver(8, 61, 92)], [Some(false); 2]);
        assert_eq!([bench.deliver(6, 95, 120), bench.deliver(7, 95, 120)], [Some(true); 2]);
        assert_eq!(bench.deliver(9, 95, 121), Some(false));
    }

    #[test]
    fn a_refused_retransmission_is_reported_with_the_next_arrival() {
        let mut bench = Bench::new(Bytes(1 << 15), true);
        assert_eq!([bench.deliver(0, 15, 30), bench.deliver(1, 16, 31)], [Some(false); 2]);
        assert_eq!([bench.deliver(0, 200, 215), bench.deliver(0, 202, 217)], [None; 2]);
        assert_eq!([bench.deliver(2, 201, 218), bench.deliver(3, 219, 220)], [Some(true), Some(false)]);
        // A segment that was in flight for long is refused and is not a retransmission.
        assert_eq!([bench.deliver(1, 17, 221), bench.deliver(4, 220, 222)], [None, Some(false)]);
    }

    #[test]
    fn without_timestamps_late_or_duplicate_data_is_a_retransmission() {
        let mut bench = Bench::new(Bytes(20 * u64::from(MSS)), false);
        for index in 0..60 {
            // A window arrives in 20 ms: the observable RTT.
            assert_eq!(bench.deliver(index, 0, u64::from(index)), Some(false));
        }
        assert_eq!(bench.observer.rtt(), Some(Span::from_millis(20)));
        assert_eq!([bench.deliver(61, 0, 61), bench.deliver(60, 0, 70)], [Some(false); 2]);
        assert_eq!([bench.deliver(63, 0, 71), bench.deliver(62, 0, 82)], [Some(false), Some(true)]);
        assert_eq!([bench.deliver(62, 0, 83), bench.deliver(64, 0, 84)], [None, Some(true)]);
    }

    #[test]
    fn window_scaling_does_not_round_a_small_window_to_zero() {
        let two = Bytes(2 * u64::from(MSS));
        let mut bench = Bench::new(two, true);
        bench.observer.set_shift(11);
        // 1072 B are half a unit of 2 KiB.
        assert_eq!(bench.offer(Time::ZERO), 1);
        assert_eq!(
            [bench.deliver(0, 15, 30), bench.deliver(1, 15, 30), bench.deliver(2, 15, 30)],
            [Some(false); 3]
        );
        assert_eq!(bench.offer(Time::ZERO), 1);
        // The window does not exceed the free buffer.
        assert_eq!(bench.observer.whole_units(two, Bytes(1500)), 1072);
        assert_eq!(bench.observer.whole_units(two, Bytes(4000)), 2048);
    }

    #[test]
    fn an_older_echo_yields_no_sample() {
        let clock = Some(TimestampClock::Ticks(Span::from_millis(1)));
        let mut rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
        let mut is_sample = |echo| rtt.on_echo(Time(1 << 50), echo).is_some();
        assert_eq!([u32::MAX, u32::MAX, 3, u32::MAX].map(&mut is_sample), [true, false, true, false]);
    }

    #[test]
    fn with_an_unknown_clock_a_sample_lasts_from_a_tsval_to_its_echo() {
        let clock = Some(TimestampClock::Unknown);
        let mut rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
        let at = |ms: u64| Time(ms * 1_000_000);
        // The clock counts quarters of a second from an arbitrary origin.
        rtt.on_tsval(at(0), u32::MAX);
        rtt.on_tsval(at(20), u32::MAX);
        assert_eq!(rtt.on_echo(at(50), u32::MAX), Some(Span::from_millis(50)));
        assert_eq!(rtt.on_echo(at(60), u32::MAX), None);
        // The awaited ACK was lost: the echo of a later ACK yields no sample.
        rtt.on_tsval(at(100), 0);
        rtt.on_tsval(at(350), 1);
        assert_eq!(rtt.on_echo(at(400), 1), None);
        rtt.on_tsval(at(600), 2);
        assert_eq!(rtt.on_echo(at(640), 2), Some(Span::from_millis(40)));
    }

    /// Segments that a peer, or anybody whose packets a router sees, may send.
    #[test]
    fn data_beyond_the_window_or_the_fin_is_ignored() {
        let mut observer = Observer::new(Bytes(1000), false);
        observer.synchronise(Seq(u32::MAX), None);
        observer.on_sent(Time::ZERO, &Outgoing { ack: Seq(0), edge: Seq(10_000), ts_val: None });
        let mut arrives = |seq: u32, len: u32, fin: bool| {
            let segment =
                Incoming { seq: Seq(seq), len, segments: 1, fin, timestamps: None, one_way_delay: None };
            let observed = observer.on_segment(Time::ZERO, &segment);
            (observed.arrival.new.0, observed.in_order, observed.finished)
        };
        assert_eq!(arrives(0x7fff_0000, 0x7fff_ffff, false), (0, 0, false));
        assert_eq!(arrives(2000, 1000, false), (1000, 0, false));
        // A FIN below received data, then the FIN, and another one.
        assert_eq!(arrives(1000, 500, true), (500, 0, false));
        assert_eq!(arrives(1500, 1600, true), (600, 0, false));
        assert_eq!(arrives(3100, 100, false), (0, 0, false));
        assert_eq!(arrives(0, 1000, false), (1000, 3100, true));
        assert_eq!(arrives(3101, 0, true), (0, 0, false));
        assert_eq!(arrives(3101, 100, false), (0, 0, false));
        assert_eq!((observer.nxt(), observer.received()), (Seq(3101), 3100));
    }

    #[test]
    fn acks_account_for_data_that_was_not_observed() {
        let mut observer = Observer::new(Bytes(1000), false);
        observer.synchronise(Seq(u32::MAX), None);
        let segment = Incoming {
            seq: Seq(2000),
            len: 1000,
            segments: 1,
            fin: false,
            timestamps: None,
            one_way_delay: None,
        };
        observer.on_sent(Time::ZERO, &Outgoing { ack: Seq(0), edge: Seq(10_000), ts_val: None });
        let observed = observer.on_segment(Time::ZERO, &segment);
        assert!(observed.in_order == 0 && observer.has_gap());
        // Windows rounded down by another host do not move the edge back.
        observer.on_sent(Time::ZERO, &Outgoing { ack: Seq(2000), edge: Seq(9990), ts_val: None });
        assert_eq!((observer.nxt(), observer.received(), observer.has_gap()), (Seq(3000), 3000, false));
        assert_eq!(observer.edge(), Seq(10_000));
    }
}

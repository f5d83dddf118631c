//! What a receiver can see in TCP headers: arrivals, round trips, retransmissions and the window's right edge.

use crate::ranges::Ranges;
use crate::timestamps::{self, TimestampClock, Timestamps};
use crate::{Advertisement, Arrival, Device, RecvView, Seq, SeqRange};
use airwnd_units::{Bytes, Span, Time};

/// An incoming segment, or several of one connection in one observation: header fields, and what the host knows.
///
/// Several segments may be merged (GRO, or a report each millisecond) if they are consecutive: the first sequence number,
/// the sum of the lengths and the timestamps of the last.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// Payload bytes.
    pub len: u32,
    /// Segments with payload that the observation stands for, at least 1.
    pub segments: u32,
    /// Whether a FIN follows the payload.
    pub fin: bool,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// Time since the segment was sent, see [`Arrival::one_way_delay`].
    pub one_way_delay: Option<Span>,
}

/// The header fields of an outgoing segment.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The acknowledgment number.
    pub ack: Seq,
    /// The right edge of the window that it offers: `ack` and the window field, shifted.
    pub edge: Seq,
    /// TSval, if it has timestamps.
    pub ts_val: Option<u32>,
}

/// What an incoming segment brought.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// What to pass to the controller, if the segment has payload.
    pub arrival: Arrival,
    /// Bytes that are in order now and were not before: those of this segment, and those that waited for it.
    pub in_order: u32,
    /// The range that holds its payload, if something before it is missing.
    pub early: Option<SeqRange>,
    /// Whether all is in order up to the peer's FIN, for the first time.
    pub finished: bool,
}

/// Measures one direction of a connection from its headers, at the receiver or on a router that all of them pass.
///
/// Input: incoming segments and outgoing ACKs. Output: the [`Arrival`]s and [`RecvView`]s that controllers decide by, and
/// the right edge of the window after rounding. It keeps no payload, reads no clock and does no I/O.
#[derive(Clone, Debug)]
pub struct Observer {
    mss: u32,
    may_shrink: bool,
    /// RCV.NXT
    nxt: Seq,
    /// The right edge: the farthest that was ever offered, unless the controller takes back.
    edge: Seq,
    /// Shift of the window fields that go out.
    shift: u8,
    early: Ranges,
    /// Sequence number of the peer's FIN.
    fin: Option<Seq>,
    received: u64,
    rtt: ReceiverRtt,
    retransmissions: Retransmissions,
}

impl Observer {
    /// Before the handshake. `may_shrink`: whether a window that was offered may be
    /// [taken back](crate::Capabilities::may_shrink).
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
            rtt: ReceiverRtt::default(),
            retransmissions: Retransmissions::default(),
        }
    }

    /// The peer's SYN has this sequence number. With a `clock` both ends exchange timestamps.
    pub fn synchronise(&mut self, irs: Seq, clock: Option<TimestampClock>) {
        self.nxt = irs + 1;
        self.edge = self.nxt;
        self.rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
    }

    /// Shift of the window fields that go out after the handshake (RFC 7323 §2.2); zero before, and without the option
    /// on both SYNs.
    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// The next byte that is expected.
    #[inline]
    pub fn nxt(&self) -> Seq {
        self.nxt
    }

    /// The right edge of the window.
    #[inline]
    pub fn edge(&self) -> Seq {
        self.edge
    }

    /// Bytes offered beyond the next expected one.
    #[inline]
    pub fn offered(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    /// Payload bytes received in order.
    #[inline]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Whether something before the highest byte is missing.
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.early.is_empty()
    }

    /// Round-trip time seen from here: mean of the samples of the last round trip.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt.mean
    }

    /// First part of a range that has arrived before.
    #[inline]
    pub fn already_here(&self, range: SeqRange) -> Option<SeqRange> {
        let taken = SeqRange { start: range.start, end: range.end.min(self.nxt) };
        if taken.start.is_before(taken.end) { Some(taken) } else { self.early.overlap(range) }
    }

    /// The state that a controller decides by. `free` and `unread`: room in the receive buffer, and bytes in it.
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
            min_rtt: self.rtt.min,
            device,
        }
    }

    /// A segment arrived of which some part is in the window.
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
        let end = data_end.min(self.edge);
        let start = segment.seq.max(self.nxt);
        let (mut in_order, mut new, mut early) = (0, 0, None);
        if start.is_before(end) {
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
        self.retransmissions.note_gap(now, self.has_gap());
        if segment.fin && end == data_end {
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

    /// A segment arrived of which no part is in the window, so that the receiver refuses it.
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

    /// RCV.HGH of RFC 9840 §4.3: the end of what has come.
    fn highest(&self) -> Seq {
        self.early.end().unwrap_or(self.nxt)
    }

    /// The right edge after an advertisement, with room for `free` bytes in the receive buffer. It does not move back
    /// unless the controller [may shrink](crate::Capabilities::may_shrink) its window, and does not move by small steps (silly windows).
    #[inline]
    pub fn edge_for(&self, said: &Advertisement, free: Bytes) -> Seq {
        match *said {
            Advertisement::Window(window) => self.moved_edge(self.whole_units(window, free)),
            // The sender takes it for the whole window, however little that is wider.
            Advertisement::Code { window, .. } => self.edge.max(self.nxt + window.min(free).0 as u32),
        }
    }

    /// A window below what is free is rounded up to what the field can say (Linux __tcp_select_window), so that a coarse
    /// window scale cannot round two segments to zero: they are nothing in units of 4 KiB.
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

    /// The window field of a segment that acknowledges all before `ack`. Rounded down: with scaling the edge seems
    /// to waver by less than one unit (RFC 7323 §2.4).
    #[inline]
    pub fn field(&self, ack: Seq) -> u16 {
        (self.edge.since(ack) >> self.shift).min(u32::from(u16::MAX)) as u16
    }

    /// A segment with an acknowledgment goes out, also one with a window chosen elsewhere (by a kernel, by a host behind a
    /// router). Bytes before `ack` count as received even if they were not observed; those up to the edge may arrive.
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

/// Detection of retransmissions.
#[derive(Clone, Copy, Debug, Default)]
struct Retransmissions {
    /// TSV.HGH of RFC 9840 §4.3: the TSval of the segment that brought the highest byte.
    highest_val: Option<u32>,
    /// Since when something has been missing.
    gap_since: Option<Time>,
    /// Whether a retransmission has arrived that no [`Arrival`] has reported.
    seen: bool,
}

impl Retransmissions {
    /// A segment: whether it begins below the highest byte, and whether it brings nothing.
    fn note(&mut self, now: Time, timestamps: Option<Timestamps>, below: bool, is_old: bool, patience: Span) {
        self.seen |= below
            && match (timestamps, self.highest_val) {
                //= RFC 9840 §4.3: it left after the highest byte, and yet comes before it
                (Some(Timestamps { val, .. }), Some(highest)) => val.wrapping_sub(highest) as i32 > 0,
                _ => is_old || self.gap_since.is_some_and(|since| now.since(since) >= patience),
            };
    }

    fn note_gap(&mut self, now: Time, is_open: bool) {
        self.gap_since = is_open.then(|| self.gap_since.unwrap_or(now));
    }
}

/// The round-trip time as a receiver sees it.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiverRtt {
    /// The clock of the TSvals that go out; `None`: no timestamps.
    clock: Option<TimestampClock>,
    last_echo: Option<u32>,
    /// With an unknown clock: the TSval whose echo is waited for, and when it went out.
    awaited: Option<(u32, Time)>,
    /// Without timestamps: where the window that was offered at that time ends.
    mark: Option<(Seq, Time)>,
    round_end: Time,
    sum: u64,
    count: u64,
    mean: Option<Span>,
    min: Option<Span>,
}

impl ReceiverRtt {
    //= RFC 9840 §4.2.1
    /// A round-trip time from the first data that echoes this TSval: later data waited at the sender. What echoes an older
    /// one was overtaken.
    fn on_echo(&mut self, now: Time, echo: u32) -> Option<Span> {
        let clock = self.clock?;
        self.mark = None;
        let is_new = self.last_echo.is_none_or(|last| echo.wrapping_sub(last) as i32 > 0);
        if !is_new {
            return None;
        }
        self.last_echo = Some(echo);
        match clock {
            TimestampClock::Ticks(tick) => {
                Some(timestamps::elapsed(tick, timestamps::ticks(tick, now), echo))
            }
            TimestampClock::Unknown => {
                let (val, since) = self.awaited.take_if(|(val, _)| echo.wrapping_sub(*val) as i32 >= 0)?;
                // A newer one is the echo of a later ACK: the awaited one was lost, or overtaken.
                (echo == val).then(|| now - since)
            }
        }
    }

    /// A TSval goes out.
    fn on_tsval(&mut self, now: Time, val: u32) {
        if self.clock == Some(TimestampClock::Unknown)
            && self.awaited.is_none()
            && self.last_echo.is_none_or(|last| val.wrapping_sub(last) as i32 > 0)
        {
            self.awaited = Some((val, now));
        }
    }

    /// Without timestamps: how far the sender may go from now on, unless an earlier end is waited for.
    fn on_offer(&mut self, now: Time, edge: Seq) {
        if self.last_echo.is_none() {
            self.mark.get_or_insert((edge, now));
        }
    }

    /// Without timestamps: a round trip has passed when all has come that an offer allowed, or more if the sender did not
    /// use the offer up at once.
    fn on_window(&mut self, now: Time, nxt: Seq) -> Option<Span> {
        let (_, since) = self.mark.take_if(|(end, _)| !nxt.is_before(*end))?;
        Some(now - since)
    }

    /// The mean of the samples of one round trip; before the first is over, the first sample.
    fn on_sample(&mut self, now: Time, sample: Span) {
        self.sum += sample.0;
        self.count += 1;
        if now < self.round_end {
            return;
        }
        let mean = Span(self.sum / self.count);
        self.mean = Some(mean);
        self.min = Some(self.min.map_or(mean, |min| min.min(mean)));
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

    /// A receiver that always offers the same window.
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

        /// Segment `index` arrives at a time, sent at another; what its arrival is said to be, if it is taken.
        fn hear(&mut self, index: u32, sent_ms: u32, at_ms: u64) -> Option<bool> {
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
    fn a_segment_from_below_that_left_later_is_a_retransmission() {
        // Sequence numbers and timestamps wrap on the way.
        let mut bench = Bench::new(Bytes(1 << 20), true);
        bench.observer.set_shift(5);
        assert_eq!([bench.hear(0, 5, 30), bench.hear(2, 6, 31), bench.hear(4, 8, 33)], [Some(false); 3]);
        // Overtaken: it left before the highest, or in the same tick.
        assert_eq!([bench.hear(1, 7, 34), bench.hear(3, 8, 90)], [Some(false); 2]);
        // Sent again, after the highest.
        assert_eq!([bench.hear(5, 60, 91), bench.hear(8, 61, 92)], [Some(false); 2]);
        assert_eq!([bench.hear(6, 95, 120), bench.hear(7, 95, 120)], [Some(true); 2]);
        assert_eq!(bench.hear(9, 95, 121), Some(false));
    }

    #[test]
    fn what_is_refused_is_told_with_the_next_arrival() {
        let mut bench = Bench::new(Bytes(1 << 15), true);
        assert_eq!([bench.hear(0, 15, 30), bench.hear(1, 16, 31)], [Some(false); 2]);
        assert_eq!([bench.hear(0, 200, 215), bench.hear(0, 202, 217)], [None; 2]);
        assert_eq!([bench.hear(2, 201, 218), bench.hear(3, 219, 220)], [Some(true), Some(false)]);
        // An old one that was under way for long is refused and means nothing.
        assert_eq!([bench.hear(1, 17, 221), bench.hear(4, 220, 222)], [None, Some(false)]);
    }

    #[test]
    fn without_timestamps_a_retransmission_is_what_comes_late_or_for_nothing() {
        let mut bench = Bench::new(Bytes(20 * u64::from(MSS)), false);
        for index in 0..60 {
            // A window in 20 ms: the round-trip time, as far as it can be seen.
            assert_eq!(bench.hear(index, 0, u64::from(index)), Some(false));
        }
        assert_eq!(bench.observer.rtt(), Some(Span::from_millis(20)));
        assert_eq!([bench.hear(61, 0, 61), bench.hear(60, 0, 70)], [Some(false); 2]);
        assert_eq!([bench.hear(63, 0, 71), bench.hear(62, 0, 82)], [Some(false), Some(true)]);
        assert_eq!([bench.hear(62, 0, 83), bench.hear(64, 0, 84)], [None, Some(true)]);
    }

    #[test]
    fn a_shift_does_not_take_away_a_small_window() {
        let two = Bytes(2 * u64::from(MSS));
        let mut bench = Bench::new(two, true);
        bench.observer.set_shift(11);
        // 1072 B are half a unit of 2 KiB.
        assert_eq!(bench.offer(Time::ZERO), 1);
        assert_eq!([bench.hear(0, 15, 30), bench.hear(1, 15, 30), bench.hear(2, 15, 30)], [Some(false); 3]);
        assert_eq!(bench.offer(Time::ZERO), 1);
        // What is free is not exceeded.
        assert_eq!(bench.observer.whole_units(two, Bytes(1500)), 1072);
        assert_eq!(bench.observer.whole_units(two, Bytes(4000)), 2048);
    }

    #[test]
    fn an_older_echo_is_no_sample() {
        let clock = Some(TimestampClock::Ticks(Span::from_millis(1)));
        let mut rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
        let mut is_sample = |echo| rtt.on_echo(Time(1 << 50), echo).is_some();
        assert_eq!([u32::MAX, u32::MAX, 3, u32::MAX].map(&mut is_sample), [true, false, true, false]);
    }

    #[test]
    fn with_an_unknown_clock_a_round_trip_is_from_a_tsval_to_its_echo() {
        let clock = Some(TimestampClock::Unknown);
        let mut rtt = ReceiverRtt { clock, ..ReceiverRtt::default() };
        let at = |ms: u64| Time(ms * 1_000_000);
        // The clock counts quarters of a second from anywhere.
        rtt.on_tsval(at(0), u32::MAX);
        rtt.on_tsval(at(20), u32::MAX);
        assert_eq!(rtt.on_echo(at(50), u32::MAX), Some(Span::from_millis(50)));
        assert_eq!(rtt.on_echo(at(60), u32::MAX), None);
        // The ACK that is waited for was lost: the echo of a later one is no answer to it.
        rtt.on_tsval(at(100), 0);
        rtt.on_tsval(at(350), 1);
        assert_eq!(rtt.on_echo(at(400), 1), None);
        rtt.on_tsval(at(600), 2);
        assert_eq!(rtt.on_echo(at(640), 2), Some(Span::from_millis(40)));
    }

    #[test]
    fn acknowledgments_tell_of_data_that_passed_elsewhere() {
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
        // Windows that another has rounded down do not take back.
        observer.on_sent(Time::ZERO, &Outgoing { ack: Seq(2000), edge: Seq(9990), ts_val: None });
        assert_eq!((observer.nxt(), observer.received(), observer.has_gap()), (Seq(3000), 3000, false));
        assert_eq!(observer.edge(), Seq(10_000));
    }
}

//! The receiving half: reassembly, acknowledgments, the offered window.

use crate::ecn::Echo;
use crate::ranges::Ranges;
use crate::rwnd::{Advertisement, Arrival, Carriage, Device, RecvView, RwndController, Wants};
use crate::segment::{Flags, SackBlock, SackBlocks, Segment, Timestamps};
use crate::stack::Ecn;
use crate::{Config, Seq};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU8;

/// Field values that mean a code, where codes travel in the window field.
pub(crate) const CODES: std::ops::RangeInclusive<u16> = 1..=120;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// RCV.NXT
    nxt: Seq,
    /// The right edge: the farthest that was ever offered, unless the controller takes back.
    edge: Seq,
    /// Shift of the window fields that go out.
    shift: u8,
    early: Ranges,
    /// Blocks as they were last reported, newest first (RFC 2018 §4).
    blocks: SackBlocks,
    /// Whether what comes twice is reported, and what the next ACK has to report (RFC 2883 §4).
    reports_duplicates: bool,
    duplicate: Option<SackBlock>,
    /// Sequence number of the peer's FIN.
    fin: Option<Seq>,
    unread: u32,
    reads_at_once: bool,
    received: u64,

    mss: u32,
    buffer: u32,
    controller: Box<dyn RwndController>,
    carriage: Option<Carriage>,
    rtt: ReceiverRtt,
    repeats: Repeats,
    device: Device,

    echo: Echo,
    /// An ACK of what came before the segment that changed the state of marking.
    earlier: Option<(Seq, Flags)>,
    ack_count: u32,
    ack_timeout: Span,
    /// Segments that are still acknowledged at once, and how many that is at the beginning.
    quick_acks: u32,
    quick_acks_at_first: u32,
    quick_acks_after_pause: bool,
    last_data: Option<Time>,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    ack_at: Option<Time>,
    ack_now: bool,
}

/// What a segment's payload brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub in_order: u32,
    pub new: u32,
    /// Whether the peer's FIN was reached just now.
    pub finished: bool,
}

/// What goes into the header about the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub field: u16,
    /// A code for the option.
    pub code: Option<NonZeroU8>,
    /// Whether the field holds a code.
    pub is_code: bool,
}

impl Receiver {
    pub fn new(config: &Config, controller: Box<dyn RwndController>, carriage: Option<Carriage>) -> Receiver {
        Receiver {
            nxt: Seq(0),
            edge: Seq(0),
            shift: 0,
            early: Ranges::new(),
            blocks: SackBlocks::default(),
            reports_duplicates: config.dsack,
            duplicate: None,
            fin: None,
            unread: 0,
            reads_at_once: true,
            received: 0,
            mss: u32::from(config.mss),
            buffer: config.receive_buffer.0 as u32,
            controller,
            carriage,
            rtt: ReceiverRtt::default(),
            repeats: Repeats::default(),
            device: Device::default(),
            echo: Echo::new(Ecn::Off, false),
            earlier: None,
            ack_count: config.delayed_ack_count,
            ack_timeout: config.delayed_ack_timeout,
            quick_acks: config.quick_acks,
            quick_acks_at_first: config.quick_acks,
            quick_acks_after_pause: config.quick_acks_after_pause,
            last_data: None,
            unacknowledged: 0,
            ack_at: None,
            ack_now: false,
        }
    }

    /// The peer's first sequence number is known.
    pub fn synchronise(&mut self, irs: Seq) {
        self.nxt = irs + 1;
        self.edge = self.nxt;
        self.rtt = ReceiverRtt::default();
    }

    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// Both ends have agreed on ECN.
    pub fn agree_on_ecn(&mut self, mode: Ecn, is_client: bool) {
        self.echo = Echo::new(mode, is_client);
    }

    /// The control bits about congestion of the segment that goes out now; `pure` if it has no payload.
    pub fn congestion_flags(&mut self, pure: bool) -> Flags {
        self.echo.flags(pure)
    }

    /// An ACK that must go out before anything else: its number and control bits.
    pub fn take_earlier_ack(&mut self) -> Option<(Seq, Flags)> {
        self.earlier.take()
    }

    /// Packets that came marked.
    pub fn marked(&self) -> u64 {
        self.echo.marked()
    }

    pub fn nxt(&self) -> Seq {
        self.nxt
    }

    /// Bytes offered beyond RCV.NXT.
    pub fn offered(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn unread(&self) -> u32 {
        self.unread
    }

    pub fn rtt(&self) -> Option<Span> {
        self.rtt.mean
    }

    /// The largest shift of the window fields that its controller can do with.
    pub fn max_shift(&self) -> u8 {
        self.controller.max_shift()
    }

    pub fn wants(&self) -> Wants {
        self.controller.wants()
    }

    pub fn tell_of_device(&mut self, device: Device) {
        self.device = device;
    }

    pub fn read_at_once(&mut self, at_once: bool) {
        self.reads_at_once = at_once;
    }

    /// RFC 9293 §3.10.7.4, table 6: whether any of the segment lies in the window.
    pub fn accepts(&self, segment: &Segment) -> bool {
        let (first, end) = (segment.seq, segment.end());
        match (segment.space(), self.offered()) {
            (0, 0) => first == self.nxt,
            (0, _) => !first.is_before(self.nxt) && first.is_before(self.edge),
            // A FIN takes no buffer: it may come through a closed window.
            (_, 0) => segment.len == 0 && first == self.nxt,
            _ => first.is_before(self.edge) && end.is_after(self.nxt),
        }
    }

    /// Takes the payload and FIN of an acceptable segment. `rtt` is a sample from its timestamps; a sender that has
    /// paused for longer than `timeout` has begun anew.
    pub fn on_data(&mut self, now: Time, segment: &Segment, rtt: Option<Span>, timeout: Span) -> Received {
        let before = self.nxt;
        if segment.len > 0 {
            self.note_mark(segment);
            self.note_pause(now, timeout);
            self.note_repetition(now, segment);
        }
        let data_end = segment.seq + u32::from(segment.len);
        if data_end.is_after(self.highest()) {
            self.repeats.highest_val = segment.timestamps.map(|timestamps| timestamps.val);
        }
        let end = data_end.min(self.edge);
        let start = segment.seq.max(self.nxt);
        let mut result = Received::default();
        let mut in_order = false;
        if start.is_before(end) {
            if start == self.nxt {
                in_order = true;
                let (next, held) = self.early.advance(end);
                self.nxt = next;
                result.in_order = next - before;
                result.new = result.in_order - held;
            } else {
                let (merged, new) = self.early.insert(SackBlock { start, end });
                result.new = new;
                self.report_first(merged);
            }
        }
        self.repeats.note_gap(now, !self.early.is_empty());
        if result.in_order > 0 {
            self.drop_old_blocks();
            self.received += u64::from(result.in_order);
        }
        if segment.flags.has(Flags::FIN) && end == data_end {
            self.fin = Some(data_end);
        }
        if self.fin == Some(self.nxt) {
            self.nxt += 1;
            result.finished = true;
            self.ack_now = true;
        }
        let rtt = rtt.or_else(|| self.rtt.on_window(now, self.nxt));
        if let Some(sample) = rtt {
            self.rtt.on_sample(now, sample);
        }
        if segment.len > 0 {
            self.tell_controller(now, segment, &result, in_order, rtt);
            self.decide_ack(now, data_end, &result);
        }
        result
    }

    fn note_pause(&mut self, now: Time, timeout: Span) {
        let last = self.last_data.replace(now);
        if self.quick_acks_after_pause && last.is_some_and(|last| now - last > timeout) {
            self.quick_acks = self.quick_acks.max(self.quick_acks_at_first);
        }
    }

    fn note_mark(&mut self, segment: &Segment) {
        let haste = self.echo.on_data(segment);
        self.ack_now |= haste.at_once;
        if haste.earlier_first && self.unacknowledged > 0 {
            self.earlier = Some((self.nxt, self.echo.earlier_flags()));
            self.unacknowledged = 0;
            self.ack_at = None;
        }
    }

    /// Remembers what of the segment is here already or was sent before, also of one that is refused.
    pub fn note_repetition(&mut self, now: Time, segment: &Segment) {
        if segment.len > 0 {
            let below = segment.seq.is_before(self.highest());
            let is_old = !(segment.seq + u32::from(segment.len)).is_after(self.nxt);
            let patience = self.rtt.min.unwrap_or(Span::ZERO) / 2;
            self.repeats.note(now, segment.timestamps, below, is_old, patience);
        }
        self.note_duplicate(segment);
    }

    /// RCV.HGH of RFC 9840 §4.3: the end of what has come.
    fn highest(&self) -> Seq {
        self.early.end().unwrap_or(self.nxt)
    }

    /// For the next ACK, the first part of what came twice, if there are several.
    fn note_duplicate(&mut self, segment: &Segment) {
        if !self.reports_duplicates {
            return;
        }
        let whole = SackBlock { start: segment.seq, end: segment.seq + u32::from(segment.len) };
        let taken = SackBlock { start: whole.start, end: whole.end.min(self.nxt) };
        let known = if taken.start.is_before(taken.end) { Some(taken) } else { self.early.overlap(whole) };
        self.duplicate = known.or(self.duplicate);
    }

    fn report_first(&mut self, merged: SackBlock) {
        let mut place = 1;
        let former = self.blocks;
        self.blocks = [merged, SackBlock::default(), SackBlock::default()];
        for block in former.iter().filter(|block| !block.is_empty()) {
            let inside = !block.start.is_before(merged.start) && !block.end.is_after(merged.end);
            if !inside && place < self.blocks.len() {
                self.blocks[place] = *block;
                place += 1;
            }
        }
    }

    fn drop_old_blocks(&mut self) {
        if self.blocks[0].is_empty() {
            return;
        }
        let former = std::mem::take(&mut self.blocks);
        let kept = former.iter().filter(|block| !block.is_empty() && block.end.is_after(self.nxt));
        for (place, block) in self.blocks.iter_mut().zip(kept) {
            *place = *block;
        }
    }

    fn tell_controller(
        &mut self,
        now: Time,
        segment: &Segment,
        result: &Received,
        in_order: bool,
        rtt: Option<Span>,
    ) {
        let view = self.view();
        let arrival = Arrival {
            now,
            sent_at: segment.sent_at,
            len: Bytes(u64::from(segment.len)),
            new: Bytes(u64::from(result.new)),
            in_order,
            rtt,
            retransmission: std::mem::take(&mut self.repeats.seen),
        };
        self.controller.on_segment(&arrival, &view);
        if self.reads_at_once {
            if result.in_order > 0 {
                self.controller.on_copied(now, Bytes(u64::from(result.in_order)), &view);
            }
        } else {
            self.unread += result.in_order;
        }
    }

    fn decide_ack(&mut self, now: Time, data_end: Seq, result: &Received) {
        let filled_a_gap = self.nxt.is_after(data_end) && !result.finished;
        if result.in_order == 0 || !self.early.is_empty() || filled_a_gap {
            //= RFC 5681 §4.2: out of order, duplicate, or filling a gap: at once
            self.ack_now = true;
            return;
        }
        self.unacknowledged += 1;
        // A single bit, so that a run of growing windows does not save up quick ACKs for after it.
        self.quick_acks |= u32::from(self.controller.has_opened());
        let quick = self.quick_acks > 0;
        self.quick_acks -= u32::from(quick);
        if quick || self.unacknowledged >= self.ack_count {
            self.ack_now = true;
        } else {
            self.ack_at.get_or_insert(now + self.ack_timeout);
        }
    }

    /// The application takes up to `max` bytes.
    pub fn read(&mut self, now: Time, max: u32) -> u32 {
        let taken = max.min(self.unread);
        if taken == 0 {
            return 0;
        }
        self.unread -= taken;
        let view = self.view();
        self.controller.on_copied(now, Bytes(u64::from(taken)), &view);
        //= RFC 9293 §3.8.6.2.2: tell of a wider window only when it is worth a segment
        let wider = (view.free.0 as u32).saturating_sub(self.offered());
        if wider >= (2 * self.mss).min(self.buffer / 2) {
            self.ack_now = true;
        }
        taken
    }

    fn view(&self) -> RecvView {
        RecvView {
            mss: Bytes(u64::from(self.mss)),
            free: Bytes(u64::from(self.buffer - self.unread.min(self.buffer))),
            unread: Bytes(u64::from(self.unread)),
            early: Bytes(u64::from(self.early.end().map_or(0, |end| end - self.nxt))),
            offered: Bytes(u64::from(self.offered())),
            received: Bytes(self.received),
            rtt: self.rtt.mean,
            min_rtt: self.rtt.min,
            device: self.device,
        }
    }

    /// The window for the segment that goes out now.
    pub fn offer(&mut self, now: Time) -> Offer {
        let view = self.view();
        let before = self.edge;
        let code = match self.controller.window(now, &view) {
            Advertisement::Window(window) => {
                self.move_edge(self.whole_units(window, view.free));
                None
            }
            Advertisement::Code { code, window } => {
                // The sender takes it for the whole window, however little that is wider.
                self.edge = self.edge.max(self.nxt + window.min(view.free).0 as u32);
                Some(code)
            }
        };
        if self.edge.is_after(before) {
            self.rtt.on_offer(now, self.edge);
        }
        let field = self.field();
        match (self.carriage, code) {
            (Some(Carriage::WindowField), Some(code)) => {
                Offer { field: u16::from(code.get()), code: None, is_code: true }
            }
            // An ordinary window whose field is 1 to 120 would be obeyed as a code.
            (Some(Carriage::WindowField), None) if CODES.contains(&field) => {
                Offer { field: 0, code: None, is_code: false }
            }
            _ => Offer { field, code, is_code: false },
        }
    }

    /// The window for a SYN, never scaled (RFC 7323 §2.2).
    pub fn offer_on_syn(&mut self, now: Time) -> Offer {
        let shift = std::mem::replace(&mut self.shift, 0);
        let offer = self.offer(now);
        self.shift = shift;
        offer
    }

    /// A window below what is free is rounded up to what the field can say (Linux __tcp_select_window), lest a shift
    /// takes away a small one: two segments are nothing in units of 4 KiB.
    fn whole_units(&self, window: Bytes, free: Bytes) -> u32 {
        let window = window.0.min(free.0);
        let rounded = window.next_multiple_of(1 << self.shift);
        (if rounded <= free.0 { rounded } else { window }) as u32
    }

    fn move_edge(&mut self, window: u32) {
        let wanted = self.nxt + window;
        let worth = self.mss.min((window / 2).max(1));
        if wanted.since(self.edge) >= worth || (self.controller.may_shrink() && wanted.is_before(self.edge)) {
            self.edge = wanted.min(self.nxt + (u32::from(u16::MAX) << self.shift));
        }
    }

    /// Rounded down: with scaling the edge seems to waver by less than one unit (RFC 7323 §2.4).
    fn field(&self) -> u16 {
        self.field_beyond(self.nxt)
    }

    /// The field of an ACK that ends at `ack`.
    pub fn field_beyond(&self, ack: Seq) -> u16 {
        (self.edge.since(ack) >> self.shift).min(u32::from(u16::MAX)) as u16
    }

    /// Blocks for the segment that goes out now, at most `limit`.
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let mut blocks = self.blocks;
        //= RFC 2883 §4: the duplicate first, then as ever
        if let Some(duplicate) = self.duplicate {
            blocks.rotate_right(1);
            blocks[0] = duplicate;
        }
        let kept = limit.min(blocks.len());
        blocks[kept..].fill(SackBlock::default());
        blocks
    }

    pub fn on_ack_sent(&mut self) {
        self.unacknowledged = 0;
        self.ack_at = None;
        self.ack_now = false;
        self.duplicate = None;
    }

    pub fn ack_soon(&mut self) {
        self.ack_now = true;
    }

    pub fn wants_ack(&self) -> bool {
        self.ack_now
    }

    pub fn ack_at(&self) -> Option<Time> {
        self.ack_at
    }

    pub fn on_ack_timeout(&mut self) {
        self.ack_at = None;
        self.ack_now = true;
    }

    /// A round-trip time from the first segment that echoes a TSval, see [`ReceiverRtt::on_echo`].
    pub fn on_echo(&mut self, echo: u32) -> bool {
        self.rtt.on_echo(echo)
    }
}

/// What betrays to a receiver that something was sent again.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    /// TSV.HGH of RFC 9840 §4.3: the TSval of the segment that brought the highest byte.
    highest_val: Option<u32>,
    /// Since when something has been missing.
    gap_since: Option<Time>,
    /// Whether a retransmission has come that the controller does not know of.
    seen: bool,
}

impl Repeats {
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
    last_echo: Option<u32>,
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
    /// Whether this is the first data that echoes this TSval: later ones waited at the sender. What echoes an older one
    /// was overtaken.
    fn on_echo(&mut self, echo: u32) -> bool {
        self.mark = None;
        let is_new = self.last_echo.is_none_or(|last| echo.wrapping_sub(last) as i32 > 0);
        if is_new {
            self.last_echo = Some(echo);
        }
        is_new
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
    use crate::Stack;
    use crate::segment::tests_support::plain;
    use std::sync::{Arc, Mutex};

    const MSS: u16 = 536;

    /// Offers what it is told, and remembers what was said to be a retransmission.
    #[derive(Debug)]
    struct Spy {
        window: Bytes,
        heard: Arc<Mutex<Vec<bool>>>,
    }

    impl RwndController for Spy {
        fn on_segment(&mut self, arrival: &Arrival, _: &RecvView) {
            self.heard.lock().unwrap().push(arrival.retransmission);
        }

        fn window(&mut self, _: Time, _: &RecvView) -> Advertisement {
            Advertisement::Window(self.window)
        }
    }

    struct Bench {
        receiver: Receiver,
        heard: Arc<Mutex<Vec<bool>>>,
        timestamps: bool,
    }

    impl Bench {
        fn new(window: Bytes, timestamps: bool) -> Bench {
            let config = Config { mss: MSS, receive_buffer: Bytes(1 << 24), ..Stack::Ns3v44.config() };
            let heard = Arc::new(Mutex::new(Vec::new()));
            let spy = Spy { window, heard: heard.clone() };
            let mut receiver = Receiver::new(&config, Box::new(spy), None);
            receiver.synchronise(Seq(u32::MAX - 2 * u32::from(MSS)));
            receiver.offer(Time::ZERO);
            Bench { receiver, heard, timestamps }
        }

        /// Segment `index` arrives at a time, sent at another; what its arrival is said to be, if it is taken.
        fn hear(&mut self, index: u32, sent_ms: u32, at_ms: u64) -> Option<bool> {
            let now = Time(at_ms * 1_000_000);
            let val = sent_ms.wrapping_sub(10);
            let segment = Segment {
                sent_at: Time(u64::from(sent_ms) * 1_000_000),
                seq: Seq(u32::MAX - 2 * u32::from(MSS)) + 1 + index * u32::from(MSS),
                timestamps: self.timestamps.then_some(Timestamps { val, ecr: 0 }),
                len: MSS,
                ..plain()
            };
            if self.receiver.accepts(&segment) {
                self.receiver.on_data(now, &segment, None, Span::from_secs(1));
                self.receiver.offer(now);
                Some(*self.heard.lock().unwrap().last().unwrap())
            } else {
                self.receiver.note_repetition(now, &segment);
                None
            }
        }
    }

    #[test]
    fn a_segment_from_below_that_left_later_is_a_retransmission() {
        // Sequence numbers and timestamps wrap on the way.
        let mut bench = Bench::new(Bytes(1 << 20), true);
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
        let mut bench = Bench::new(Bytes(1 << 20), true);
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
        assert_eq!(bench.receiver.rtt(), Some(Span::from_millis(20)));
        assert_eq!([bench.hear(61, 0, 61), bench.hear(60, 0, 70)], [Some(false); 2]);
        assert_eq!([bench.hear(63, 0, 71), bench.hear(62, 0, 82)], [Some(false), Some(true)]);
        assert_eq!([bench.hear(62, 0, 83), bench.hear(64, 0, 84)], [None, Some(true)]);
    }

    #[test]
    fn a_shift_does_not_take_away_a_small_window() {
        let two = Bytes(2 * u64::from(MSS));
        let mut bench = Bench::new(two, true);
        bench.receiver.set_shift(11);
        // 1072 B are half a unit of 2 KiB.
        assert_eq!(bench.receiver.offer(Time::ZERO).field, 1);
        assert_eq!([bench.hear(0, 15, 30), bench.hear(1, 15, 30), bench.hear(2, 15, 30)], [Some(false); 3]);
        assert_eq!(bench.receiver.offer(Time::ZERO).field, 1);
        // What is free is not exceeded.
        bench.receiver.read_at_once(false);
        bench.receiver.unread = (1 << 24) - 1500;
        assert_eq!(bench.receiver.whole_units(two, Bytes(1500)), 1072);
        assert_eq!(bench.receiver.whole_units(two, Bytes(4000)), 2048);
    }

    #[test]
    fn an_older_echo_is_no_sample() {
        let mut rtt = ReceiverRtt::default();
        assert!(rtt.on_echo(u32::MAX));
        assert!(!rtt.on_echo(u32::MAX));
        assert!(rtt.on_echo(3));
        assert!(!rtt.on_echo(u32::MAX));
    }
}

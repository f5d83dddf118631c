//! The receiving half: ACKs, application reads, and the advertised window.

use crate::ecn::Echo;
use crate::misbehaviour::Misbehaviour;
use crate::rwnd::{
    Advertisement, Capabilities, Carriage, Device, DeviceNeeds, Encoded, Incoming, Observed, Observer,
    Outgoing, ReceiverContext, RecvView, RwndController, TimestampClock,
};
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use crate::stack::Ecn;
use crate::{Config, Seq};
use airwnd_units::{Bytes, Span, Time};

/// SACK blocks that ns-3 lists.
const LISTED: usize = 4;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Received sequence space and the advertised window.
    observer: Observer,
    /// SACK blocks in the order of the last report, most recent first (RFC 2018 §4). A segment has the first three.
    blocks: [SackBlock; LISTED],
    /// Whether blocks grow from listed blocks only; then there is one more than a segment has.
    grows_from_list: bool,
    /// Whether duplicates are reported, and the duplicate for the next ACK (RFC 2883 §4).
    reports_duplicates: bool,
    duplicate: Option<SackBlock>,
    unread: u32,
    reads_at_once: bool,

    mss: u32,
    buffer: u32,
    controller: Box<dyn RwndController>,
    capabilities: Capabilities,
    /// RCV.NXT and the unread bytes for which a static window was last offered, and the offer.
    last_offer: Option<(Seq, u32, Encoded)>,
    device: Device,

    echo: Echo,
    /// Pending ACK of the data before the segment that changed the marking state.
    earlier: Option<(Seq, Flags)>,
    ack_count: u32,
    ack_timeout: Span,
    /// Remaining segments to acknowledge at once, and their initial number.
    quick_acks: u32,
    quick_acks_at_first: u32,
    quick_acks_after_pause: bool,
    last_data: Option<Time>,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    ack_at: Option<Time>,
    ack_now: bool,
    compression: SackCompression,
    misbehaviour: Option<Box<Misbehaviour>>,
}

/// SACK compression: delays ACKs of out-of-order segments so that one ACK reports several.
#[derive(Clone, Copy, Debug)]
struct SackCompression {
    max: Span,
    /// Out-of-order segments acknowledged at once since RCV.NXT moved.
    seen: u32,
    nxt: Seq,
    /// ACKs delayed since the last one sent.
    held: u32,
}

impl SackCompression {
    /// Returns the delay of an out-of-order segment's ACK. `None`: no delay for the first three segments, which may
    /// trigger fast retransmit, and after 44 delayed ACKs. The delay is at most a twentieth of the RTT.
    fn wait(&mut self, nxt: Seq, rtt: Option<Span>) -> Option<Span> {
        const AT_ONCE: u32 = 3;
        const HELD: u32 = 44;
        if self.max == Span::ZERO || self.held >= HELD {
            return None;
        }
        if self.nxt != nxt {
            (self.nxt, self.seen) = (nxt, 0);
        }
        if self.seen < AT_ONCE {
            self.seen += 1;
            return None;
        }
        self.held += 1;
        Some(rtt.map_or(self.max, |rtt| self.max.min(rtt / 20)))
    }
}

impl Receiver {
    pub fn new(config: &Config, controller: Box<dyn RwndController>) -> Receiver {
        let capabilities = controller.capabilities();
        Receiver {
            observer: Observer::new(Bytes(u64::from(config.mss)), capabilities.may_shrink),
            blocks: [SackBlock::default(); LISTED],
            grows_from_list: config.quirks.sack_from_list,
            reports_duplicates: config.dsack,
            duplicate: None,
            unread: 0,
            reads_at_once: true,
            mss: u32::from(config.mss),
            buffer: config.receive_buffer.0 as u32,
            controller,
            capabilities,
            last_offer: None,
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
            compression: SackCompression { max: config.sack_compression, seen: 0, nxt: Seq(0), held: 0 },
            misbehaviour: Misbehaviour::of(config),
        }
    }

    /// Sets the peer's initial sequence number and, if timestamps were negotiated, their clock.
    pub fn synchronise(&mut self, irs: Seq, clock: Option<TimestampClock>) {
        self.last_offer = None;
        self.observer.synchronise(irs, clock);
        if let Some(misbehaviour) = &mut self.misbehaviour {
            misbehaviour.synchronise(self.observer.nxt());
        }
    }

    pub fn set_shift(&mut self, shift: u8) {
        self.last_offer = None;
        self.observer.set_shift(shift);
    }

    /// Sets the negotiated ECN mode.
    pub fn agree_on_ecn(&mut self, mode: Ecn, is_client: bool) {
        self.echo = Echo::new(mode, is_client);
    }

    /// Disables SACK compression without SACK, where a delayed ACK does not identify the segment that triggered it.
    pub fn agree_on_sack(&mut self, agreed: bool) {
        if !agreed {
            self.compression.max = Span::ZERO;
        }
    }

    /// Returns the ECN control bits of the segment sent now; `pure`: a segment without payload.
    pub fn congestion_flags(&mut self, pure: bool) -> Flags {
        self.echo.flags(pure)
    }

    /// Takes the acknowledgment number and control bits of an ACK that must precede all other segments.
    pub fn take_earlier_ack(&mut self) -> Option<(Seq, Flags)> {
        self.earlier.take()
    }

    /// Takes the acknowledgment number of an ACK that covers a part of the data to acknowledge.
    pub fn take_partial_ack(&mut self) -> Option<Seq> {
        self.misbehaviour.as_mut()?.take_part(self.observer.nxt())
    }

    /// Takes a duplicate ACK that no segment has caused.
    pub fn take_spoofed_duplicate(&mut self) -> bool {
        self.misbehaviour.as_mut().is_some_and(|misbehaviour| misbehaviour.take_duplicate())
    }

    /// Returns the number of marked packets received.
    pub fn marked(&self) -> u64 {
        self.echo.marked()
    }

    /// Returns RCV.NXT.
    pub fn nxt(&self) -> Seq {
        self.observer.nxt()
    }

    /// Returns the acknowledgment number: RCV.NXT, unless the receiver misbehaves.
    #[inline]
    pub fn acknowledges(&self) -> Seq {
        let lead = self.misbehaviour.as_ref().map_or(0, |misbehaviour| misbehaviour.lead());
        self.nxt() + lead
    }

    /// Returns the advertised bytes beyond RCV.NXT.
    pub fn offered(&self) -> u32 {
        self.observer.offered()
    }

    pub fn received(&self) -> u64 {
        self.observer.received()
    }

    pub fn unread(&self) -> u32 {
        self.unread
    }

    pub fn rtt(&self) -> Option<Span> {
        self.observer.rtt()
    }

    pub fn arrived(&self) -> u64 {
        self.observer.arrived()
    }

    pub fn min_rtt(&self) -> Option<Span> {
        self.observer.min_rtt()
    }

    /// Returns the maximum window scale shift that the controller supports.
    pub fn max_shift(&self) -> u8 {
        self.capabilities.max_window_scale
    }

    /// Returns the queueing delay of the newest data, if the controller measures it.
    pub fn queueing_delay(&self) -> Option<Span> {
        self.controller.queueing_delay()
    }

    pub fn needs(&self) -> DeviceNeeds {
        self.capabilities.needs
    }

    /// Returns true if window codes are carried in an option.
    pub fn has_code_option(&self) -> bool {
        self.capabilities.sender_half == Some(Carriage::TcpOption)
    }

    pub fn set_device(&mut self, device: Device) {
        self.device = device;
    }

    pub fn read_at_once(&mut self, at_once: bool) {
        self.reads_at_once = at_once;
    }

    /// Returns true if any part of the segment is in the window (RFC 9293 §3.10.7.4, table 6).
    pub fn accepts(&self, segment: &Segment) -> bool {
        let (first, end) = (segment.seq, segment.end());
        let (nxt, edge) = (self.observer.nxt(), self.observer.edge());
        match (segment.space(), self.offered()) {
            (0, 0) => first == nxt,
            (0, _) => !first.is_before(nxt) && first.is_before(edge),
            // A FIN occupies no buffer and is accepted at a closed window.
            (_, 0) => segment.len == 0 && first == nxt,
            _ => first.is_before(edge) && end.is_after(nxt),
        }
    }

    /// Processes the payload and FIN of an acceptable segment. A pause longer than `timeout` returns counts as a restart
    /// of the sender.
    pub fn on_data(&mut self, now: Time, segment: &Segment, timeout: impl FnOnce() -> Span) -> Observed {
        if segment.len > 0 {
            self.on_mark(segment);
            self.note_pause(now, timeout);
            self.note_duplicate(segment);
        }
        let new = self.new_block(segment);
        let mut observed = self.observer.on_segment(now, &incoming(now, segment));
        if let Some(misbehaviour) = &mut self.misbehaviour {
            misbehave(misbehaviour, &mut self.observer, &mut observed);
            self.ack_now |= segment.len > 0;
        }
        if let Some(merged) = observed.early {
            match new {
                _ if !self.grows_from_list => self.report_first(merged),
                Some(new) => self.report_first(self.grow_from_list(new)),
                None => {}
            }
        }
        if observed.in_order > 0 {
            self.drop_old_blocks();
        }
        self.ack_now |= observed.finished;
        if segment.len > 0 {
            self.notify_controller(&observed);
            self.decide_ack(now, segment.seq + u32::from(segment.len), &observed);
        }
        observed
    }

    fn note_pause(&mut self, now: Time, timeout: impl FnOnce() -> Span) {
        let last = self.last_data.replace(now);
        if self.quick_acks_after_pause && last.is_some_and(|last| now - last > timeout()) {
            self.quick_acks = self.quick_acks.max(self.quick_acks_at_first);
        }
    }

    fn on_mark(&mut self, segment: &Segment) {
        let trigger = self.echo.on_data(segment);
        self.ack_now |= trigger.at_once;
        if trigger.earlier_first && self.unacknowledged > 0 {
            self.earlier = Some((self.nxt(), self.echo.earlier_flags()));
            self.unacknowledged = 0;
            self.ack_at = None;
        }
    }

    /// Processes a segment of which no part is acceptable.
    pub fn on_refused(&mut self, now: Time, segment: &Segment) {
        self.observer.on_refused(now, &incoming(now, segment));
        self.note_duplicate(segment);
        if let Some(misbehaviour) = &mut self.misbehaviour {
            misbehaviour.on_old_data();
        }
    }

    /// Records the first duplicate part of a segment for the next ACK's D-SACK block.
    fn note_duplicate(&mut self, segment: &Segment) {
        if self.reports_duplicates {
            let whole = SackBlock { start: segment.seq, end: segment.seq + u32::from(segment.len) };
            self.duplicate = self.observer.already_received(whole).or(self.duplicate);
        }
    }

    /// An early segment's data, if blocks grow from listed ones and not all of it is a duplicate.
    fn new_block(&self, segment: &Segment) -> Option<SackBlock> {
        if !self.grows_from_list || !segment.seq.is_after(self.nxt()) {
            return None;
        }
        let whole = SackBlock { start: segment.seq, end: segment.seq + u32::from(segment.len) };
        (self.observer.already_received(whole) != Some(whole)).then_some(whole)
    }

    /// A block with the listed ones before and after it, as in ns-3 TcpRxBuffer::UpdateSackList.
    fn grow_from_list(&self, mut new: SackBlock) -> SackBlock {
        for block in self.blocks.iter().filter(|block| !block.is_empty()) {
            if block.end == new.start {
                new.start = block.start;
            } else if block.start == new.end {
                new.end = block.end;
            }
        }
        new
    }

    fn report_first(&mut self, merged: SackBlock) {
        let mut place = 1;
        let former = self.blocks;
        let listed = if self.grows_from_list { LISTED } else { SackBlocks::default().len() };
        self.blocks = [SackBlock::default(); LISTED];
        self.blocks[0] = merged;
        for block in former.iter().filter(|block| !block.is_empty()) {
            let inside = !block.start.is_before(merged.start) && !block.end.is_after(merged.end);
            if !inside && place < listed {
                self.blocks[place] = *block;
                place += 1;
            }
        }
    }

    fn drop_old_blocks(&mut self) {
        if self.blocks[0].is_empty() {
            return;
        }
        let nxt = self.nxt();
        let former = std::mem::take(&mut self.blocks);
        let kept = former.iter().filter(|block| !block.is_empty() && block.end.is_after(nxt));
        for (place, block) in self.blocks.iter_mut().zip(kept) {
            *place = *block;
        }
    }

    fn notify_controller(&mut self, observed: &Observed) {
        if !self.capabilities.is_static {
            let view = self.view();
            self.controller.on_segment(&observed.arrival, &view);
            if self.reads_at_once && observed.in_order > 0 {
                let copied = Bytes(u64::from(observed.in_order));
                self.controller.on_copied(observed.arrival.now, copied, &view);
            }
        }
        if !self.reads_at_once {
            self.unread += observed.in_order;
        }
    }

    fn decide_ack(&mut self, now: Time, data_end: Seq, observed: &Observed) {
        let filled_a_gap = self.nxt().is_after(data_end) && !observed.finished;
        if observed.in_order == 0 && observed.early.is_some() {
            self.ack_early(now);
            return;
        }
        if observed.in_order == 0 || self.observer.has_gap() || filled_a_gap {
            //= RFC 5681 §4.2: immediate ACK of an out-of-order, duplicate or gap-filling segment
            self.ack_now = true;
            return;
        }
        self.unacknowledged += 1;
        // Sets one bit, so that repeated window growth does not accumulate quick ACKs.
        let has_opened = !self.capabilities.is_static && self.controller.has_opened();
        self.quick_acks |= u32::from(has_opened);
        let quick = self.quick_acks > 0;
        self.quick_acks -= u32::from(quick);
        if quick || self.unacknowledged >= self.ack_count {
            self.ack_now = true;
        } else {
            self.ack_at.get_or_insert(now + self.ack_timeout);
        }
    }

    /// Schedules the ACK of an out-of-order segment, at once or delayed. A third block fills the next ACK, so it is
    /// sent at once.
    fn ack_early(&mut self, now: Time) {
        let is_crowded = !self.blocks[2].is_empty();
        match self.compression.wait(self.nxt(), self.rtt()).filter(|_| !is_crowded) {
            Some(wait) => {
                let at = now + wait;
                self.ack_at = Some(self.ack_at.map_or(at, |armed| armed.min(at)));
            }
            None => self.ack_now = true,
        }
    }

    /// Reads up to `max` bytes for the application; returns the number read.
    pub fn read(&mut self, now: Time, max: u32) -> u32 {
        let taken = max.min(self.unread);
        if taken == 0 {
            return 0;
        }
        self.unread -= taken;
        let view = self.view();
        self.controller.on_copied(now, Bytes(u64::from(taken)), &view);
        //= RFC 9293 §3.8.6.2.2: advertise a larger window only if it grew by enough
        let wider = (view.free.0 as u32).saturating_sub(self.offered());
        if wider >= (2 * self.mss).min(self.buffer / 2) {
            self.ack_now = true;
        }
        taken
    }

    /// Sets the window of a controller that takes one from outside, and announces a larger one. Returns whether it takes it.
    pub fn set_window(&mut self, window: Bytes) -> bool {
        if !self.controller.set_window(window) {
            return false;
        }
        self.last_offer = None;
        let window = window.min(self.view().free).0 as u32;
        self.ack_now |= window > self.offered();
        true
    }

    fn view(&self) -> RecvView {
        let free = Bytes(u64::from(self.buffer - self.unread.min(self.buffer)));
        self.observer.view(free, Bytes(u64::from(self.unread)), self.device)
    }

    /// Returns the encoded window for the segment sent now with this TSval.
    #[inline]
    pub fn offer(&mut self, now: Time, ts_val: Option<u32>) -> Encoded {
        match self.last_offer {
            Some((nxt, unread, offer)) if nxt == self.nxt() && unread == self.unread => offer,
            _ => self.offer_anew(now, ts_val),
        }
    }

    #[inline(never)]
    fn offer_anew(&mut self, now: Time, ts_val: Option<u32>) -> Encoded {
        let view = self.view();
        let advertisement = self.controller.window(now, &view);
        let (ack, edge) = (self.nxt(), self.observer.edge_for(&advertisement, view.free));
        self.observer.on_sent(now, &Outgoing { ack, edge, ts_val });
        self.controller.on_advertised(now, &advertisement);
        let code = match advertisement {
            Advertisement::Window(_) => None,
            Advertisement::Code { code, .. } => Some(code),
        };
        let offer = Carriage::encode(self.capabilities.sender_half, self.observer.field(ack), code);
        self.last_offer = self.capabilities.is_static.then_some((ack, self.unread, offer));
        offer
    }

    /// Returns the window field of an ACK with acknowledgment number `ack`.
    pub fn field_beyond(&self, ack: Seq) -> u16 {
        self.observer.field(ack)
    }

    /// Returns at most `limit` SACK blocks for the segment sent now.
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let [first, second, third, _] = self.blocks;
        let mut blocks = [first, second, third];
        //= RFC 2883 §4: the duplicate precedes the other blocks
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
        self.compression.held = 0;
        if let Some(misbehaviour) = &mut self.misbehaviour {
            misbehaviour.on_ack_sent(self.observer.nxt());
        }
    }

    pub fn ack_soon(&mut self) {
        self.ack_now = true;
    }

    pub fn ack_is_due(&self) -> bool {
        self.ack_now
    }

    pub fn ack_at(&self) -> Option<Time> {
        self.ack_at
    }

    pub fn on_ack_timeout(&mut self) {
        self.ack_at = None;
        self.ack_now = true;
    }
}

/// Applies misbehaviour to what a segment has changed.
#[cold]
fn misbehave(misbehaviour: &mut Misbehaviour, observer: &mut Observer, observed: &mut Observed) {
    if misbehaviour.is_optimistic() {
        let (in_order, finished) = observer.skip_gaps();
        observed.in_order += in_order;
        observed.arrival.in_order |= in_order > 0;
        observed.finished |= finished;
        observed.early = None;
    }
    if observed.finished {
        misbehaviour.on_end();
    }
    if observed.arrival.len > Bytes::ZERO {
        misbehaviour.on_data(observed.in_order, observer.nxt());
    }
}

/// Extracts the header fields for the observer. The simulation provides the exact one-way delay.
fn incoming(now: Time, segment: &Segment) -> Incoming {
    Incoming {
        seq: segment.seq,
        len: u32::from(segment.len),
        segments: 1,
        fin: segment.flags.has(Flags::FIN),
        timestamps: segment.timestamps,
        one_way_delay: Some(now.since(segment.sent_at)),
    }
}

impl Config {
    /// Returns the context for building a receive-window control of a connection with these parameters.
    pub fn receiver_context(&self, seed: u64) -> ReceiverContext {
        ReceiverContext { mss: Bytes(u64::from(self.mss)), buffer: self.receive_buffer, seed }
    }
}

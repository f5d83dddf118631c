//! Scoreboard: segments sent and not yet cumulatively acknowledged, and their state.

use super::rack::{Evidence, Rack, ReorderingInputs, Sending as Departure};
use super::rate::{Rates, Sending, Totals};
use crate::Seq;
use crate::cc::{Loss, RateSample};
use crate::segment::{SackBlock, SackBlocks};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A segment sent. Its bounds remain those of the first transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub seq: Seq,
    /// Payload bytes.
    pub len: u16,
    marks: u8,
    /// Time of the last transmission.
    pub sent_at: Time,
}

const FIN: u8 = 1;
const SACKED: u8 = 2;
const LOST: u8 = 4;
const RETRANSMITTED: u8 = 8;
/// Sent more than once; unlike the other marks, this one is never cleared.
const AGAIN: u8 = 16;

impl Sent {
    pub fn fin(&self) -> bool {
        self.marks & FIN != 0
    }

    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Returns the length in sequence space.
    pub fn space(&self) -> u32 {
        u32::from(self.len) + u32::from(self.fin())
    }

    pub fn end(&self) -> Seq {
        self.seq + self.space()
    }

    fn departure(&self) -> Departure {
        Departure { at: self.sent_at, end: self.end(), again: self.is(AGAIN) }
    }
}

/// Segments removed by a cumulative acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Advanced {
    /// Bytes of completely acknowledged segments that were not SACKed before.
    pub delivered: u32,
    /// Segments completely acknowledged.
    pub segments: u32,
    /// Transmission time of the first of them that was not SACKed before, if all were sent only once.
    pub clean_sample: Option<Time>,
    /// True if a retransmission was among them.
    pub retransmitted: bool,
}

/// The sent segments from SND.UNA to SND.NXT with the marks of RFC 6675 §4.
///
/// One record per segment in a ring buffer, which keeps its capacity: no allocation once the window has reached its
/// maximum. An ACK costs a binary search and the segments that it newly reports.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// Sequence space on the scoreboard, and its parts that are SACKed, lost, and retransmitted but not SACKed.
    total: u32,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    sacked_segments: u32,
    /// Without SACK: bytes that have left the network according to duplicate ACKs.
    duplicates: u32,
    /// Bytes of the first segment that are acknowledged, and count as delivered with the rest of it.
    trimmed: u32,
    /// End of the highest SACKed segment.
    high_sack: Option<Seq>,
    /// Every segment below is SACKed or marked lost.
    lost_below: Option<Seq>,
    /// Every lost segment below was retransmitted.
    repaired_below: Option<Seq>,
    /// SACK blocks of the last ACK, whose segments are marked already.
    last_blocks: SackBlocks,
    /// See [`Quirks::count_sacked_retransmissions`](crate::Quirks::count_sacked_retransmissions).
    counts_sacked_retransmissions: bool,
    /// Bytes delivered and lost so far.
    totals: Totals,
    /// Rate samples are application-limited until this many bytes are delivered; 0: not application-limited.
    app_limited_until: u64,
    /// Rate samples, if the congestion control requested them.
    rates: Option<Box<Rates>>,
    /// RACK state, if the stack uses RACK.
    rack: Option<Box<Rack>>,
    /// End of the lowest segment that the current ACK reports and that was sent only once.
    original: Option<Seq>,
}

impl Scoreboard {
    pub fn new(counts_sacked_retransmissions: bool) -> Scoreboard {
        Scoreboard {
            sent: VecDeque::with_capacity(256),
            total: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            sacked_segments: 0,
            duplicates: 0,
            trimmed: 0,
            high_sack: None,
            lost_below: None,
            repaired_below: None,
            last_blocks: SackBlocks::default(),
            counts_sacked_retransmissions,
            totals: Totals::default(),
            app_limited_until: 0,
            rates: None,
            rack: None,
            original: None,
        }
    }

    /// Enables RACK loss detection.
    pub fn detect_by_time(&mut self) {
        self.rack = Some(Box::new(Rack::new()));
    }

    /// Returns the RACK state, if enabled.
    pub fn rack(&mut self) -> Option<&mut Rack> {
        self.rack.as_deref_mut()
    }

    /// Starts an ACK: subsequent reports belong to it.
    pub fn on_ack(&mut self, evidence: Evidence) {
        self.original = None;
        if let Some(rack) = &mut self.rack {
            rack.on_ack(evidence);
        }
    }

    /// Returns true if the current ACK reports a segment that was sent only once and ends at or before `limit`.
    pub fn has_original(&self, limit: Seq) -> bool {
        self.original.is_some_and(|end| !end.is_after(limit))
    }

    /// Records the first report of the delivery of the segment at `index`.
    // Inlined into the loop over the segments of an ACK, most of which have neither rates nor RACK.
    #[inline(always)]
    fn note_arrival(&mut self, index: usize, segment: Sent, by_sack: bool) {
        if !segment.is(AGAIN) {
            let end = segment.end();
            self.original = Some(self.original.map_or(end, |lowest| lowest.min(end)));
        }
        if let Some(rates) = &mut self.rates {
            rates.deliver(index, segment.sent_at);
        }
        if let Some(rack) = &mut self.rack {
            rack.on_arrival(segment.departure(), by_sack);
        }
    }

    /// Enables rate samples.
    pub fn measure_rates(&mut self) {
        self.rates = Some(Box::new(Rates::new()));
    }

    /// Returns the bytes delivered and lost so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    //= draft-cheng-iccrg-delivery-rate-estimation-02 §3.4
    /// Marks the current flight as application-limited: the application had less data than could have been sent.
    pub fn note_app_limit(&mut self) {
        self.app_limited_until = (self.totals.delivered + u64::from(self.pipe())).max(1);
    }

    /// Returns the delivery rate sample of the data reported since the last call.
    pub fn take_rate_sample(&mut self, now: Time, min_rtt: Option<Span>) -> Option<RateSample> {
        if self.totals.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.rates.as_mut()?.take_sample(now, self.totals, min_rtt)
    }

    /// Takes the losses since the last call.
    pub fn take_losses(&mut self, now: Time) -> impl Iterator<Item = Loss> + '_ {
        let delivered = Bytes(self.totals.delivered);
        self.rates.iter_mut().flat_map(move |rates| rates.take_losses(now, delivered))
    }

    fn sending(&self, now: Time, space: u32) -> Sending {
        let before = self.pipe();
        let (totals, app_limited) = (self.totals, self.is_app_limited());
        Sending { now, totals, before, after: before + space, app_limited }
    }

    fn note_loss(&mut self, index: usize) {
        let (seq, space) = (self.sent[index].seq, self.sent[index].space());
        self.totals.lost += u64::from(space);
        if let Some(rates) = &mut self.rates {
            rates.lose(index, seq, space, self.totals);
        }
    }

    /// Adds a segment of new data.
    #[inline(always)]
    pub fn push(&mut self, seq: Seq, len: u16, fin: bool, now: Time) {
        let segment = Sent { seq, len, marks: if fin { FIN } else { 0 }, sent_at: now };
        let sending = self.rates.is_some().then(|| self.sending(now, segment.space()));
        if let (Some(rates), Some(sending)) = (&mut self.rates, sending) {
            rates.push(&sending);
        }
        self.total += segment.space();
        self.sent.push_back(segment);
    }

    /// Records that bytes of the segment added last had been sent before, as a window probe: its ACK may be the probe's.
    pub fn mark_sent_before(&mut self) {
        if let Some(last) = self.sent.back_mut() {
            last.marks |= AGAIN;
        }
        if let Some(rates) = &mut self.rates {
            rates.mark_sent_before();
        }
    }

    /// Returns all bytes not cumulatively acknowledged (RFC 5681 "FlightSize").
    pub fn outstanding(&self) -> u32 {
        self.total
    }

    /// Returns the number of segments not cumulatively acknowledged, including a FIN by itself.
    pub fn segments(&self) -> usize {
        self.sent.len()
    }

    /// Returns the estimate of bytes in the network (RFC 6675 "pipe").
    pub fn pipe(&self) -> u32 {
        let left = self.sacked + self.lost;
        let duplicates = self.duplicates.min(self.total - left);
        self.total - left - duplicates + self.retransmitted
    }

    /// Returns the SACKed bytes.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Returns the number of SACKed segments.
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Returns the retransmitted bytes estimated to be in the network.
    pub fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Returns true if any segment is marked lost.
    pub fn has_losses(&self) -> bool {
        self.lost > 0
    }

    /// Returns true if the first segment is marked lost.
    pub fn head_is_lost(&self) -> bool {
        self.sent.front().is_some_and(|head| head.is(LOST))
    }

    /// Returns true if the first segment was retransmitted since it was lost.
    pub fn head_is_retransmitted(&self) -> bool {
        self.sent.front().is_some_and(|head| head.is(RETRANSMITTED))
    }

    fn index_of(&self, seq: Seq) -> usize {
        // Nearly all segments have the same length.
        if let Some(head) = self.sent.front().filter(|head| head.len > 0 && seq.is_after(head.seq)) {
            let guess = ((seq - head.seq) / u32::from(head.len)) as usize;
            if self.sent.get(guess).is_some_and(|segment| segment.seq == seq) {
                return guess;
            }
        }
        self.sent.partition_point(|segment| segment.seq.is_before(seq))
    }

    /// Processes a cumulative acknowledgment up to `ack`.
    //= Linux tcp_input.c, tcp_clean_rtx_queue: whole segments count, so that ACKs of parts gain nothing
    pub fn advance(&mut self, ack: Seq) -> Advanced {
        let mut result = Advanced::default();
        let mut is_ambiguous = false;
        while let Some(&head) = self.sent.front() {
            if !head.seq.is_before(ack) {
                break;
            }
            let whole = !head.end().is_after(ack);
            let bytes = if whole { head.space() } else { ack - head.seq };
            self.total -= bytes;
            if head.is(SACKED) {
                self.sacked -= bytes;
                self.sacked_segments -= u32::from(whole);
            } else {
                self.trimmed += bytes;
                if whole {
                    self.note_arrival(0, head, false);
                }
            }
            if head.is(LOST) {
                self.lost -= bytes;
            }
            if head.is(RETRANSMITTED) {
                self.retransmitted -= bytes;
                result.retransmitted = true;
            }
            if !whole {
                let rest = Sent { len: head.len - bytes as u16, seq: ack, ..head };
                self.sent[0] = rest;
                break;
            }
            if !head.is(SACKED) {
                is_ambiguous |= head.is(AGAIN);
                result.clean_sample = result.clean_sample.or(Some(head.sent_at));
            }
            result.delivered += std::mem::take(&mut self.trimmed);
            result.segments += 1;
            self.sent.pop_front();
            if let Some(rates) = &mut self.rates {
                rates.pop();
            }
        }
        self.totals.delivered += u64::from(result.delivered);
        if is_ambiguous || result.retransmitted {
            result.clean_sample = None;
        }
        // Discards marks below `ack`; after half the sequence space they would appear to lie ahead.
        for mark in [&mut self.high_sack, &mut self.lost_below, &mut self.repaired_below] {
            if mark.is_some_and(|mark| !mark.is_after(ack)) {
                *mark = None;
            }
        }
        if self.high_sack.is_none() {
            self.last_blocks = SackBlocks::default();
        }
        if let Some(rack) = &mut self.rack {
            rack.forget_before(ack);
        }
        result
    }

    /// Marks SACKed segments and, without RACK, as lost those with `threshold` SACKed segments above. Returns the newly
    /// SACKed bytes.
    pub fn sack(&mut self, blocks: &SackBlocks, threshold: u32) -> u32 {
        let before = self.sacked;
        for block in blocks.iter().take_while(|block| !block.is_empty()) {
            let known = self.last_blocks.iter().find(|last| last.start == block.start && !last.is_empty());
            self.sack_block(*block, known.map_or(block.start, |last| last.end.min(block.end)));
        }
        self.last_blocks = *blocks;
        let newly = self.sacked - before;
        self.totals.delivered += u64::from(newly);
        if newly > 0 && self.rack.is_none() {
            self.give_up_overtaken(threshold);
        }
        newly
    }

    /// Returns the number of segments within the block that were sent more than once.
    pub fn repeated_within(&self, block: SackBlock) -> u32 {
        let from = self.sent.iter().skip(self.index_of(block.start));
        let within = from.take_while(|segment| !segment.end().is_after(block.end));
        within.filter(|segment| segment.is(AGAIN)).count() as u32
    }

    /// Marks the segments within the block; those that end at or before `known` are marked already.
    fn sack_block(&mut self, block: SackBlock, known: Seq) {
        for index in self.index_of(known).saturating_sub(1)..self.sent.len() {
            let segment = &self.sent[index];
            let end = segment.end();
            if end.is_after(block.end) {
                break;
            }
            if segment.is(SACKED) || segment.seq.is_before(block.start) {
                continue;
            }
            self.note_arrival(index, *segment, true);
            let segment = &mut self.sent[index];
            let space = segment.space();
            if segment.is(LOST) {
                self.lost -= space;
            }
            if segment.is(RETRANSMITTED) && !self.counts_sacked_retransmissions {
                self.retransmitted -= space;
                segment.marks &= !RETRANSMITTED;
            }
            segment.marks = (segment.marks & !LOST) | SACKED;
            self.sacked += space;
            self.sacked_segments += 1;
            self.high_sack = Some(self.high_sack.map_or(end, |high| high.max(end)));
        }
    }

    /// RFC 6675 IsLost, counted in segments: a segment is lost if `threshold` SACKed segments lie above it.
    // The RFC also counts bytes, which differs only if small segments are in flight.
    fn give_up_overtaken(&mut self, threshold: u32) {
        let Some(high) = self.high_sack else { return };
        let mut overtaking = 0;
        let mut index = self.index_of(high);
        while index > 0 && overtaking < threshold {
            index -= 1;
            overtaking += u32::from(self.sent[index].is(SACKED));
        }
        if overtaking < threshold {
            return;
        }
        let limit = self.sent[index].seq;
        while index > 0 {
            index -= 1;
            if self.lost_below.is_some_and(|done| self.sent[index].seq.is_before(done)) {
                break;
            }
            self.mark_lost(index);
        }
        self.lost_below = Some(self.lost_below.map_or(limit, |done| done.max(limit)));
    }

    fn mark_lost(&mut self, index: usize) {
        let segment = &mut self.sent[index];
        if segment.marks & (SACKED | LOST) != 0 {
            return;
        }
        segment.marks |= LOST;
        let (seq, space) = (segment.seq, segment.space());
        self.lost += space;
        self.repaired_below = self.repaired_below.map(|done| done.min(seq));
        self.note_loss(index);
    }

    /// Marks the first segment as lost in any case, so that it is retransmitted (again).
    pub fn give_up_head(&mut self) {
        if !self.sent.is_empty() {
            self.give_up(0);
        }
        self.repaired_below = None;
    }

    /// Marks the segment at `index` as lost, including its retransmission, if any.
    fn give_up(&mut self, index: usize) {
        let segment = &mut self.sent[index];
        if segment.is(RETRANSMITTED) {
            segment.marks &= !RETRANSMITTED;
            let (seq, space) = (segment.seq, segment.space());
            self.retransmitted -= space;
            self.repaired_below = self.repaired_below.map(|done| done.min(seq));
            self.note_loss(index);
        }
        self.mark_lost(index);
    }

    //= RFC 8985 §6.2 step 5 RACK_detect_loss
    /// Marks as lost the segments sent sufficiently long before the newest arrival. Returns the latest deadline of the
    /// remaining overtaken segments.
    pub fn give_up_late(&mut self, now: Time, inputs: ReorderingInputs) -> Option<Time> {
        let rack = self.rack.take()?;
        let window = rack.window(inputs);
        let mut latest = None;
        for index in 0..self.sent.len() {
            let segment = self.sent[index];
            let departure = segment.departure();
            let overtaken = rack.is_overtaken(departure);
            // Segments after one that was sent only once were sent later.
            if !overtaken && !departure.again {
                break;
            }
            let is_marked_lost = segment.is(LOST) && !segment.is(RETRANSMITTED);
            if !overtaken || is_marked_lost || segment.is(SACKED) {
                continue;
            }
            let deadline = rack.deadline(departure, window);
            if deadline <= now {
                self.give_up(index);
            } else {
                latest = latest.max(Some(deadline));
            }
        }
        self.rack = Some(rack);
        latest
    }

    //= RFC 8985 §6.3 RACK_mark_losses_on_RTO
    /// Marks as lost at a timeout with RACK: the head, and all segments whose deadline has passed.
    pub fn give_up_due(&mut self, now: Time, inputs: ReorderingInputs) {
        let Some(rack) = self.rack.take() else { return };
        let window = rack.window(inputs);
        for index in 0..self.sent.len() {
            let segment = self.sent[index];
            let is_late = rack.deadline(segment.departure(), window) <= now;
            if !segment.is(SACKED) && (index == 0 || is_late) {
                self.give_up(index);
            }
        }
        self.rack = Some(rack);
        self.repaired_below = None;
    }

    /// Clears all loss marks after a spurious loss detection: segments not retransmitted count as in the network.
    pub fn restore(&mut self) {
        for segment in &mut self.sent {
            segment.marks &= !LOST;
        }
        self.lost = 0;
        self.lost_below = None;
        self.repaired_below = None;
    }

    /// Marks all segments that are not SACKed as lost at a timeout, including earlier retransmissions.
    ///
    /// SACK information is kept (RFC 6675 §5.1, erratum 1610): a receiver that reneges does not acknowledge the head,
    /// which is never SACKed.
    pub fn give_up_all(&mut self) {
        for index in 0..self.sent.len() {
            let marks = self.sent[index].marks;
            if marks & SACKED == 0 && (marks & LOST == 0 || marks & RETRANSMITTED != 0) {
                self.note_loss(index);
            }
            let lost = if marks & SACKED == 0 { LOST } else { 0 };
            self.sent[index].marks = (marks & !RETRANSMITTED) | lost;
        }
        self.retransmitted = 0;
        self.duplicates = 0;
        self.lost = self.total - self.sacked;
        self.repaired_below = None;
        self.lost_below = self.sent.back().map(Sent::end);
    }

    /// Without SACK: counts bytes as delivered due to duplicate ACKs, up to all but the head.
    pub fn add_duplicates(&mut self, bytes: u32) {
        let head = self.sent.front().map_or(0, Sent::space);
        self.duplicates = (self.duplicates + bytes).min(self.total - head);
    }

    /// Without SACK: removes duplicates that a cumulative ACK accounts for.
    pub fn explain_duplicates(&mut self, bytes: u32) {
        self.duplicates = self.duplicates.saturating_sub(bytes);
    }

    /// Without SACK: clears the duplicates when recovery has ended or did not start.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Returns the first lost segment that was not retransmitted (RFC 6675 NextSeg, rule 1).
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let first = self.repaired_below.map_or(0, |seq| self.index_of(seq));
        let found = (first..self.sent.len()).find(|&index| {
            let segment = &self.sent[index];
            segment.is(LOST) && !segment.is(RETRANSMITTED)
        });
        self.repaired_below = match found {
            Some(index) => Some(self.sent[index].seq),
            None => self.sent.back().map(Sent::end),
        };
        found
    }

    /// Returns the first segment below the highest SACK that is neither SACKed nor retransmitted (RFC 6675 NextSeg,
    /// rule 3).
    pub fn next_hole(&self) -> Option<usize> {
        let high = self.index_of(self.high_sack?);
        (0..high).find(|&index| self.sent[index].marks & (SACKED | RETRANSMITTED) == 0)
    }

    /// Returns the segment with the highest sequence number.
    pub fn last(&self) -> Option<usize> {
        self.sent.len().checked_sub(1)
    }

    /// Returns the segment at `index`.
    pub fn get(&self, index: usize) -> Sent {
        self.sent[index]
    }

    /// Records a retransmission of the segment at `index`.
    pub fn retransmit(&mut self, index: usize, now: Time) -> Sent {
        let sending = self.rates.is_some().then(|| self.sending(now, self.sent[index].space()));
        if let (Some(rates), Some(sending)) = (&mut self.rates, sending) {
            rates.resend(index, &sending);
        }
        let segment = &mut self.sent[index];
        segment.sent_at = now;
        segment.marks |= AGAIN;
        if !segment.is(RETRANSMITTED) {
            segment.marks |= RETRANSMITTED;
            let space = segment.space();
            self.retransmitted += space;
        }
        self.sent[index]
    }

    /// Checks all counters against a recount; for tests.
    #[cfg(test)]
    pub fn check(&self) {
        let sum = |mark: u8| -> u32 { self.sent.iter().filter(|s| s.is(mark)).map(Sent::space).sum() };
        assert_eq!(self.total, self.sent.iter().map(Sent::space).sum::<u32>(), "total");
        assert_eq!(self.sacked, sum(SACKED), "SACKed");
        assert_eq!(self.lost, sum(LOST), "lost");
        assert_eq!(self.retransmitted, sum(RETRANSMITTED), "retransmitted");
        assert_eq!(self.sacked_segments as usize, self.sent.iter().filter(|s| s.is(SACKED)).count());
        assert!(self.sent.iter().all(|s| !s.is(SACKED) || s.marks & (LOST | RETRANSMITTED) == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 100;

    fn board(segments: u32) -> Scoreboard {
        let mut board = Scoreboard::new(false);
        for i in 0..segments {
            board.push(Seq(i * MSS), MSS as u16, false, Time(u64::from(i)));
        }
        board
    }

    fn blocks(list: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for (place, (start, end)) in blocks.iter_mut().zip(list) {
            *place = SackBlock { start: Seq(start * MSS), end: Seq(end * MSS) };
        }
        blocks
    }

    #[test]
    fn three_sacked_segments_above_indicate_a_loss() {
        let mut board = board(10);
        assert_eq!(board.sack(&blocks(&[(1, 3)]), 3), 200);
        assert!(!board.head_is_lost());
        // pipe: 10 sent, 2 SACKed
        assert_eq!(board.pipe(), 800);
        assert_eq!(board.sack(&blocks(&[(1, 4)]), 3), 100);
        assert!(board.head_is_lost());
        assert_eq!(board.pipe(), 600);
        let head = board.next_lost().unwrap();
        assert_eq!(board.retransmit(head, Time(9)).seq, Seq(0));
        assert_eq!(board.next_lost(), None);
        assert_eq!(board.pipe(), 700);
        let advanced = board.advance(Seq(4 * MSS));
        assert_eq!((advanced.delivered, advanced.segments, advanced.retransmitted), (100, 4, true));
        assert_eq!(advanced.clean_sample, None, "Karn: the head was sent twice");
        assert_eq!((board.pipe(), board.outstanding()), (600, 600));
        board.check();
    }

    #[test]
    fn several_holes_are_retransmitted_in_order() {
        let mut board = board(12);
        board.sack(&blocks(&[(7, 9), (4, 6), (1, 3)]), 3);
        // Four segments lie above 3: 4, 5, 7, 8. Only two lie above 6.
        let lost: Vec<Seq> = std::iter::from_fn(|| {
            let index = board.next_lost()?;
            Some(board.retransmit(index, Time(0)).seq)
        })
        .collect();
        assert_eq!(lost, [Seq(0), Seq(3 * MSS)]);
        assert_eq!(board.next_hole().map(|i| board.get(i).seq), Some(Seq(6 * MSS)));
        board.check();
    }

    #[test]
    fn a_partial_cumulative_ack_trims_the_head() {
        let mut board = board(2);
        let advanced = board.advance(Seq(30));
        assert_eq!((advanced.delivered, advanced.segments, advanced.clean_sample), (0, 0, None));
        assert_eq!(board.get(0).seq, Seq(30));
        assert_eq!(board.outstanding(), 170);
        board.check();
        // The parts count with the rest of their segment, also if that is SACKed.
        assert_eq!(
            board.sack(
                &[SackBlock { start: Seq(30), end: Seq(MSS) }, Default::default(), Default::default()],
                3
            ),
            70
        );
        let advanced = board.advance(Seq(MSS + 1));
        assert_eq!((advanced.delivered, advanced.segments), (30, 1));
        assert_eq!(board.advance(Seq(2 * MSS)).delivered, MSS);
    }

    proptest! {
        #[test]
        fn counters_equal_a_recount(steps in prop::collection::vec((0..5_u8, 0..40_u32, 1..6_u32), 1..200)) {
            let mut board = board(20);
            let (mut una, mut nxt) = (Seq(0), Seq(20 * MSS));
            for (kind, at, len) in steps {
                match kind {
                    0 => {
                        let start = una.0 / MSS + 1 + at % 20;
                        let end = (start + len).min(nxt.0 / MSS);
                        if start < end { board.sack(&blocks(&[(start, end)]), 3); }
                    }
                    1 => if let Some(index) = board.next_lost() { board.retransmit(index, Time(1)); },
                    2 => {
                        una = (una + at % 7 * 37).min(nxt);
                        board.advance(una);
                        let head_sacked = board.sent.front().is_some_and(|head| head.is(SACKED));
                        if head_sacked {
                            // A real receiver acknowledges up to the end of its contiguous data.
                            while let Some(head) = board.sent.front().filter(|head| head.is(SACKED)) {
                                una = head.end();
                                board.advance(una);
                            }
                        }
                    }
                    3 => { board.push(nxt, MSS as u16, false, Time(2)); nxt += MSS; }
                    _ => if at == 0 { board.give_up_all() } else { board.give_up_head() },
                }
                board.check();
                prop_assert!(board.pipe() <= 2 * board.outstanding());
            }
        }
    }
}

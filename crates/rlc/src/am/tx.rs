//! Transmitting entity: windows, polls, retransmission.

use super::received::{Portion, merge};
use super::{Format, Params, Pdu, Rules, Status};
use crate::nr::LONGEST_HEADERS;
use crate::segmenter::{DataField, Piece, Returned, Segmenter};
use crate::{BearerEvents, Protocol, Sdu, pdcp_header};
use airwnd_kernel::Key;
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A PDU that has been sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    begin: u64,
    end: u64,
    /// Size including the header.
    size: Bytes,
    acknowledged: bool,
    /// RETX_COUNT; `None` until its first retransmission is due.
    retransmissions: Option<u16>,
}

/// An acknowledged-mode transmitter (TS 36.322 §5.1.3.1, §5.2.1, §5.2.2).
pub struct Tx {
    params: Params,
    rules: &'static dyn Rules,
    format: Format,
    source: Segmenter,
    /// VT(A): the first PDU that is not acknowledged.
    first: u64,
    /// The PDUs from VT(A) to VT(S).
    sent: VecDeque<Sent>,
    /// SDUs whose transmission has started but which are not fully acknowledged, with the end of each in the stream.
    open: VecDeque<(u64, Returned)>,
    /// Portions to retransmit, in order, disjoint.
    again: Vec<Portion>,
    /// Bytes of unacknowledged PDUs, including headers.
    unacknowledged: Bytes,
    /// PDU_WITHOUT_POLL and BYTE_WITHOUT_POLL.
    without_poll: (u64, Bytes),
    /// POLL_SN and the expiry of t-PollRetransmit, while it runs.
    timer: Option<(u64, Time)>,
    /// t-PollRetransmit has expired: the next PDU requests a STATUS PDU.
    poll_again: bool,
    failed: bool,
    report_pending: bool,
}

impl Tx {
    /// A transmitter with an empty queue.
    pub fn new(params: Params, protocol: Protocol, queue: Box<dyn QueueDisc>) -> Self {
        Tx {
            format: params.format(protocol),
            rules: params.rules(),
            params,
            source: Segmenter::new(queue, pdcp_header(protocol)),
            first: 0,
            sent: VecDeque::with_capacity(32),
            open: VecDeque::with_capacity(64),
            again: Vec::with_capacity(32),
            unacknowledged: Bytes::ZERO,
            without_poll: (0, Bytes::ZERO),
            timer: None,
            poll_again: false,
            failed: false,
            report_pending: false,
        }
    }

    /// Sets the discard timer: maximum waiting time of SDUs of which no part has been sent; `None`: no limit.
    pub fn discarding(self, discard_timer: Option<Span>) -> Self {
        Tx { source: self.source.discarding(discard_timer), ..self }
    }

    /// Enqueues a packet from the upper layer; its size includes the IP header.
    pub fn enqueue(&mut self, packet: Sdu, events: &mut dyn BearerEvents) {
        self.source.enqueue(packet, events);
    }

    /// The queue.
    pub(crate) fn source(&self) -> &Segmenter {
        &self.source
    }

    /// Format of its PDUs.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Begin and end in the stream of the SDUs that are not fully acknowledged, from a position on, with their packets;
    /// `None` if the receiver has the SDU from an earlier RLC entity.
    pub(crate) fn stream(&self, from: u64) -> impl Iterator<Item = (u64, u64, Option<Key>)> + '_ {
        let first = self.open.partition_point(|(end, _)| *end <= from);
        self.open.range(first..).map(|(end, Returned { sdu, delivered })| {
            (end - sdu.size.0, *end, (!delivered).then_some(sdu.packet))
        })
    }

    /// VT(S): the sequence number of the next new PDU.
    fn next(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Number of PDUs sent and within the window.
    #[cfg(test)]
    pub fn in_window(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Whether VT(S) has reached VT(MS).
    fn is_stalled(&self) -> bool {
        self.sent.len() as u64 >= self.format.window()
    }

    /// Builds a PDU of at most `room` bytes including its header; retransmissions precede new data. Passes each SDU
    /// that goes on air for the first time to `begun`, in stream order. Timers start at `sent_at`.
    //= TS 36.322 §5.1.3.1.1
    pub fn transmit(
        &mut self,
        now: Time,
        sent_at: Time,
        room: Bytes,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<Pdu> {
        match self.again.first().copied() {
            Some(portion) => self.retransmit(sent_at, room, portion),
            None => self.send_new(now, sent_at, room, begun, events),
        }
    }

    fn send_new(
        &mut self,
        now: Time,
        sent_at: Time,
        room: Bytes,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<Pdu> {
        let header = self.fixed_header(false);
        if room <= header || self.is_stalled() {
            return None;
        }
        let (format, indicated) = (self.format, room - header);
        let Tx { source, open, .. } = self;
        let mut end = open.back().map_or(source.sent(), |(end, _)| *end);
        let begun = &mut |sdu: Returned| {
            end += sdu.sdu.size.0;
            open.push_back((end, sdu));
            begun(sdu);
        };
        let piece = match format.protocol {
            Protocol::Lte => {
                let field = source.cut(now, indicated, begun, events)?;
                let size = header + indicators(field.pieces) + Bytes(field.end - field.begin);
                let DataField { begin, end, .. } = field;
                Piece { sdu_from: begin, sdu_to: end, begin, end, size }
            }
            Protocol::Nr => source.piece(now, room, format.headers(), begun, events)?,
        };
        let Piece { sdu_from: whole_from, sdu_to, begin, end, size } = piece;
        if begin == whole_from {
            let (acknowledged, retransmissions) = (false, None);
            self.sent.push_back(Sent { begin, end: sdu_to, size, acknowledged, retransmissions });
            self.unacknowledged += size;
        }
        self.without_poll.0 += 1;
        self.without_poll.1 += Bytes(end - begin);
        let (pdus, bytes) = self.without_poll;
        let poll = self.polls(sent_at, pdus >= self.params.poll_pdu || bytes >= self.params.poll_byte);
        Some(Pdu { sn: self.next() - 1, whole_from, begin, end, last: end == sdu_to, poll, size })
    }

    /// Retransmits as much of a portion as fits.
    //= TS 36.322 §5.2.1
    fn retransmit(&mut self, sent_at: Time, room: Bytes, portion: Portion) -> Option<Pdu> {
        let Portion { sn, begin, end: to } = portion;
        let sent = self.sent[(sn - self.first) as usize];
        let whole = begin == sent.begin && to == sent.end && sent.size <= room;
        let (end, size) = if self.format.protocol == Protocol::Nr {
            segment(self.format, sent, begin, to, room)?
        } else if whole {
            (to, sent.size)
        } else {
            self.rules.part(self, begin, to, room)?
        };
        if end == to {
            self.again.remove(0);
        } else {
            self.again[0].begin = end;
        }
        let poll = self.polls(sent_at, false);
        Some(Pdu { sn, whole_from: sent.begin, begin, end, last: end == sent.end, poll, size })
    }

    /// End and size of the longest PDU of at most `room` bytes for a portion.
    pub(super) fn part(&self, begin: u64, to: u64, room: Bytes) -> Option<(u64, Bytes)> {
        let from = self.open.partition_point(|(end, _)| *end <= begin);
        let mut best = None;
        for (pieces, (boundary, _)) in (1..).zip(self.open.range(from..)) {
            let header = self.fixed_header(true) + indicators(pieces);
            let end = (*boundary).min(to).min(begin + room.saturating_sub(header).0);
            if best.is_some_and(|(reached, _)| end <= reached) || end <= begin {
                break;
            }
            best = Some((end, header + Bytes(end - begin)));
            if end == to || end < *boundary {
                break;
            }
        }
        best
    }

    /// Whether a PDU just built requests a STATUS PDU; if so, t-PollRetransmit starts.
    //= TS 36.322 §5.2.2.1
    fn polls(&mut self, sent_at: Time, counted: bool) -> bool {
        let emptied = self.again.is_empty() && self.source.backlog().packets == 0;
        if !(counted || emptied || self.is_stalled() || self.poll_again) {
            return false;
        }
        self.poll_again = false;
        self.without_poll = (0, Bytes::ZERO);
        self.timer = Some((self.next() - 1, sent_at + self.params.poll_retransmit));
        true
    }

    /// Handles a STATUS PDU.
    //= TS 36.322 §5.2.1
    //= TS 36.322 §5.2.2.2
    pub fn on_status(&mut self, status: &Status) {
        let ack = status.ack.min(self.next());
        if self.timer.is_some_and(|(sn, _)| sn < ack) {
            self.timer = None;
        }
        let mut nacks = status.nacks.iter().filter(|nack| nack.sn < ack).peekable();
        for sn in self.first..ack {
            let mut missing = false;
            while let Some(nack) = nacks.next_if(|nack| nack.sn <= sn) {
                if nack.sn == sn {
                    missing = true;
                    self.miss(sn, nack.part);
                }
            }
            if !missing {
                self.acknowledge(sn);
            }
        }
        //= TS 36.322 §5.1.3.1.1
        while self.sent.front().is_some_and(|sent| sent.acknowledged) {
            self.sent.pop_front();
            self.first += 1;
        }
        let kept_from = self.sent.front().map_or(self.source.sent(), |sent| sent.begin);
        while self.open.front().is_some_and(|(end, _)| *end <= kept_from) {
            self.open.pop_front();
        }
    }

    fn acknowledge(&mut self, sn: u64) {
        let sent = &mut self.sent[(sn - self.first) as usize];
        if !std::mem::replace(&mut sent.acknowledged, true) {
            self.unacknowledged -= sent.size;
            self.again.retain(|portion| portion.sn != sn);
        }
    }

    /// Schedules a retransmission of a PDU or a part of it. A part that is pending stays so if a later STATUS PDU no longer
    /// reports it: the standards withdraw nothing.
    //= TS 38.322 §5.3.2
    fn miss(&mut self, sn: u64, part: Option<(u64, Option<u64>)>) {
        let sent = &mut self.sent[(sn - self.first) as usize];
        if sent.acknowledged {
            return;
        }
        if !self.again.iter().any(|portion| portion.sn == sn) {
            let count = sent.retransmissions.map_or(0, |count| count.saturating_add(1));
            sent.retransmissions = Some(count);
            self.failed |= self.params.max_retx == Some(count);
            self.report_pending |= self.rules.reports_missing();
        }
        let (from, to) = part.unwrap_or((0, None));
        let begin = (sent.begin + from).min(sent.end);
        // In NR the rest of the SDU may still have to be sent for the first time.
        let sent_to = sent.end.min(self.source.sent());
        let end = to.map_or(sent_to, |to| sent.begin + to).min(sent_to);
        if begin < end {
            merge(&mut self.again, Portion { sn, begin, end });
        }
    }

    /// Expiry of t-PollRetransmit, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.timer.map(|(_, expiry)| expiry)
    }

    /// Handles the expiry of t-PollRetransmit: the next PDU requests a STATUS PDU; if there is none to send, the last
    /// unacknowledged PDU is retransmitted.
    //= TS 36.322 §5.2.2.3
    pub fn expire(&mut self, now: Time) {
        if self.timer.is_none_or(|(_, expiry)| now < expiry) {
            return;
        }
        self.timer = None;
        self.poll_again = true;
        self.report_pending = true;
        if self.is_stalled() || self.again.is_empty() && self.source.backlog().packets == 0 {
            for sn in self.rules.unanswered_from(self)..self.next() {
                self.miss(sn, None);
            }
        }
    }

    /// The last PDU that is not acknowledged; there is one.
    pub(super) fn last_unacknowledged(&self) -> u64 {
        let last = self.sent.iter().rposition(|sent| !sent.acknowledged);
        self.first + last.expect("t-PollRetransmit runs while a PDU is not acknowledged") as u64
    }

    /// VT(A): the first PDU that is not acknowledged.
    pub(super) fn first_unacknowledged(&self) -> u64 {
        self.first
    }

    /// Whether a report to the MAC is pending; clears the flag.
    pub fn take_pending_report(&mut self) -> bool {
        std::mem::take(&mut self.report_pending)
    }

    /// Whether a PDU has reached the maximum number of retransmissions (maxRetxThreshold).
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Bytes and packets that wait for their first transmission, including the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        self.source.backlog()
    }

    /// Buffer status reported to the MAC: bytes to retransmit, and new bytes.
    pub fn reported(&self) -> (Bytes, Bytes) {
        self.rules.reported(self)
    }

    /// Bytes to retransmit and new bytes that the window has room for, with their headers.
    pub(super) fn to_send(&self) -> (Bytes, Bytes) {
        let new = self.source.backlog();
        let (header, of_sdu) = match self.format.protocol {
            Protocol::Lte => (self.fixed_header(true), Bytes(2)),
            Protocol::Nr => (LONGEST_HEADERS, LONGEST_HEADERS),
        };
        let portion = |portion: &Portion| Bytes(portion.end - portion.begin) + header;
        let again = self.again.iter().map(portion).fold(Bytes::ZERO, |sum, size| sum + size);
        let new = if self.is_stalled() { Bytes::ZERO } else { new.bytes + of_sdu * new.packets };
        (again, new)
    }

    /// Bytes of unacknowledged PDUs, and new bytes.
    pub(super) fn unacknowledged_and_new(&self) -> (Bytes, Bytes) {
        (self.unacknowledged, self.source.backlog().bytes)
    }

    /// Arrival of the oldest SDU with bytes to send, as a retransmission or for the first time.
    pub fn oldest(&self) -> Option<Time> {
        let again = self.again.first().and(self.open.front()).map(|(_, sdu)| sdu.sdu.arrived);
        again.or_else(|| self.source.oldest())
    }

    /// SDUs of which no part has been sent.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.source.inside()
    }

    /// Returns the SDUs that are not acknowledged, in order, and re-establishes the entity (TS 36.322 §5.4). The stream
    /// is delivered up to `delivered_to`.
    pub fn release(
        &mut self,
        now: Time,
        delivered_to: u64,
        into: &mut VecDeque<Returned>,
        events: &mut dyn BearerEvents,
    ) {
        for (end, sdu) in self.open.drain(..) {
            into.push_back(Returned { delivered: sdu.delivered || end <= delivered_to, ..sdu });
        }
        self.source.release(now, into, events);
        self.first = 0;
        self.sent.clear();
        self.again.clear();
        self.unacknowledged = Bytes::ZERO;
        self.without_poll = (0, Bytes::ZERO);
        self.timer = None;
        self.poll_again = false;
        self.failed = false;
    }

    /// Enqueues returned SDUs ahead of all others.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        self.source.resume(returned);
    }

    /// Header size of a PDU or of a segment of one, without length indicators.
    fn fixed_header(&self, part: bool) -> Bytes {
        self.format.fixed_header(part || self.rules.has_long_headers())
    }
}

/// End and size of the longest PDU of at most `room` bytes for a portion of an SDU in NR.
//= TS 38.322 §5.3.2
fn segment(format: Format, sent: Sent, begin: u64, to: u64, room: Bytes) -> Option<(u64, Bytes)> {
    if room <= LONGEST_HEADERS {
        return None;
    }
    let (data, is_first) = (Bytes(to - begin), begin == sent.begin);
    let headers = format.headers();
    let size = |data, end| headers.size(data, is_first, end == sent.end);
    if size(data, to) <= room {
        return Some((to, size(data, to)));
    }
    let end = begin + headers.data_in(room, is_first).0;
    Some((end, size(Bytes(end - begin), end)))
}

/// Length indicators of a data field: 12 bits for each piece except the last.
fn indicators(pieces: u64) -> Bytes {
    Bytes((3 * (pieces - 1)).div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::am::{Conduct, Nack, Quirks};
    use crate::tests::{packet, queue};
    use airwnd_units::Span;

    /// Parameters with polls only where the standard requires them.
    fn standard() -> Params {
        Params { poll_pdu: 1_000_000, poll_byte: Bytes(1 << 40), ..Params::default() }
    }

    /// A transmitter with `sdus` SDUs of 100 B.
    fn transmitter(params: Params, sdus: u32) -> Tx {
        let mut tx = Tx::new(params, Protocol::Lte, queue(Bytes(1 << 30)));
        (0..sdus).for_each(|number| tx.enqueue(packet(number, 98), &mut no_drops()));
        tx
    }

    fn no_drops() -> impl FnMut(Sdu, crate::DropCause) {
        |_, _| unreachable!("the buffer is large")
    }

    fn send(tx: &mut Tx, at: u64, room: u64) -> Option<Pdu> {
        tx.transmit(ms(at), ms(at), Bytes(room), &mut |_| {}, &mut no_drops())
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn status(ack: u64, nacks: &[u64]) -> Status {
        Status { ack, nacks: nacks.iter().map(|sn| Nack { sn: *sn, part: None }).collect() }
    }

    #[test]
    fn sequence_numbers_count_and_the_last_pdu_polls() {
        let mut tx = transmitter(standard(), 3);
        let pdus: Vec<Pdu> = (0..4).filter_map(|at| send(&mut tx, at, 102)).collect();
        let expected = [(0, false), (1, false), (2, true)];
        assert_eq!(pdus.iter().map(|pdu| (pdu.sn, pdu.poll)).collect::<Vec<_>>(), expected);
        assert_eq!(tx.deadline(), Some(ms(22)));
        tx.on_status(&status(3, &[]));
        assert_eq!((tx.deadline(), tx.reported(), tx.open.len()), (None, (Bytes(0), Bytes(0)), 0));
    }

    #[test]
    fn polls_follow_poll_pdu_and_poll_byte() {
        let polls = |params| {
            let mut tx = transmitter(params, 10);
            (0..6).map(|at| send(&mut tx, at, 102).unwrap().poll).collect::<Vec<_>>()
        };
        assert_eq!(polls(Params { poll_pdu: 2, ..standard() }), [false, true, false, true, false, true]);
        let by_bytes = Params { poll_byte: Bytes(201), ..standard() };
        assert_eq!(polls(by_bytes), [false, false, true, false, false, true]);
    }

    #[test]
    fn retransmissions_precede_new_pdus_and_the_last_one_polls() {
        let mut tx = transmitter(standard(), 5);
        (0..4).for_each(|at| assert!(send(&mut tx, at, 102).is_some()));
        tx.on_status(&status(3, &[1]));
        assert_eq!((tx.first, tx.reported()), (1, (Bytes(104), Bytes(102))));
        let again = send(&mut tx, 5, 102).unwrap();
        assert_eq!((again.sn, again.begin, again.end, again.poll), (1, 100, 200, false));
        let new = send(&mut tx, 6, 102).unwrap();
        assert_eq!((new.sn, new.poll), (4, true));
        tx.on_status(&status(5, &[]));
        assert_eq!((tx.first, tx.unacknowledged), (5, Bytes(0)));
    }

    #[test]
    fn a_pdu_that_does_not_fit_is_sent_again_in_parts() {
        let mut tx = transmitter(standard(), 2);
        assert_eq!(send(&mut tx, 0, 500).map(|pdu| (pdu.end, pdu.size)), Some((200, Bytes(204))));
        tx.on_status(&status(1, &[0]));
        // 4 B of header and 46 B; 4 + 2 B of header with the boundary at 100 B; the rest
        let parts: Vec<Pdu> = [50, 96, 500].iter().filter_map(|room| send(&mut tx, 30, *room)).collect();
        let seen: Vec<_> =
            parts.iter().map(|pdu| (pdu.sn, pdu.begin, pdu.end, pdu.last, pdu.size.0)).collect();
        assert_eq!(seen, [(0, 0, 46, false, 50), (0, 46, 136, false, 96), (0, 136, 200, true, 68)]);
        assert_eq!(parts.iter().map(|pdu| pdu.poll).collect::<Vec<_>>(), [false, false, true]);
        let part = Nack { sn: 0, part: Some((46, Some(136))) };
        tx.on_status(&Status { ack: 1, nacks: vec![part] });
        assert_eq!(send(&mut tx, 60, 500).map(|pdu| (pdu.begin, pdu.end, pdu.last)), Some((46, 136, false)));
    }

    #[test]
    fn ns3_waits_until_the_whole_pdu_fits() {
        let mut tx = transmitter(Params { quirks: Quirks { conduct: Conduct::Ns3 }, ..Params::default() }, 1);
        assert_eq!(send(&mut tx, 0, 500).map(|pdu| pdu.size), Some(Bytes(104)));
        tx.on_status(&status(1, &[0]));
        assert_eq!(send(&mut tx, 1, 103), None);
        assert_eq!(send(&mut tx, 2, 104).map(|pdu| pdu.end), Some(100));
    }

    #[test]
    fn without_a_status_the_last_pdu_polls_again() {
        let mut tx = transmitter(standard(), 3);
        (0..3).for_each(|at| assert!(send(&mut tx, at, 102).is_some()));
        tx.expire(ms(21));
        assert_eq!(send(&mut tx, 21, 102), None);
        tx.expire(ms(22));
        assert!(tx.take_pending_report());
        let again = send(&mut tx, 23, 102).unwrap();
        assert_eq!((again.sn, again.poll, tx.deadline()), (2, true, Some(ms(43))));
    }

    /// The last PDU has arrived, an earlier one has not: the earlier one is retransmitted, as the poll needs a PDU.
    #[test]
    fn without_a_status_the_last_unacknowledged_pdu_polls_again() {
        let mut tx = transmitter(standard(), 3);
        (0..3).for_each(|at| assert!(send(&mut tx, at, 102).is_some()));
        tx.on_status(&status(3, &[1]));
        let again = send(&mut tx, 5, 102).unwrap();
        assert_eq!((again.sn, again.poll, tx.deadline()), (1, true, Some(ms(25))));
        tx.expire(ms(25));
        let again = send(&mut tx, 26, 102).unwrap();
        assert_eq!((again.sn, again.poll, tx.deadline()), (1, true, Some(ms(46))));
    }

    #[test]
    fn a_window_of_512_is_not_exceeded_and_its_last_pdu_polls() {
        let mut tx = transmitter(standard(), 600);
        let pdus: Vec<Pdu> = (0..600).map_while(|_| send(&mut tx, 0, 102)).collect();
        assert_eq!((pdus.len(), pdus[510].poll, pdus[511].poll), (512, false, true));
        assert_eq!(tx.reported(), (Bytes(0), Bytes(0)));
        tx.on_status(&status(2, &[0]));
        assert_eq!(send(&mut tx, 1, 102).map(|pdu| pdu.sn), Some(0));
        assert_eq!(send(&mut tx, 1, 102), None);
        tx.on_status(&status(2, &[]));
        assert_eq!(send(&mut tx, 2, 102).map(|pdu| pdu.sn), Some(512));
    }

    #[test]
    fn the_window_is_half_of_the_sequence_numbers() {
        for (protocol, sn_size, window) in [
            (Protocol::Lte, 10, 512),
            (Protocol::Lte, 16, 32_768),
            (Protocol::Nr, 12, 2048),
            (Protocol::Nr, 18, 131_072),
        ] {
            let params = Params { sn_size: Some(sn_size), ..standard() };
            let mut tx = Tx::new(params, protocol, queue(Bytes(1 << 40)));
            let mut events = no_drops();
            // A PDU of LTE has more than an SDU, since it concatenates, and one of NR has one.
            (0..2 * window).for_each(|key| tx.enqueue(packet(key, 60), &mut events));
            let sent = (0..2 * window).map_while(|_| send(&mut tx, 0, 75)).count();
            assert_eq!(sent, window as usize, "{protocol:?} {sn_size}");
        }
    }

    /// TS 36.322 figures 6.2.1.4-1 and -4, 6.2.1.5-1 and -4; TS 38.322 figures 6.2.2.4-1 to -4, with a MAC subheader of 2
    /// bytes.
    #[test]
    fn headers_follow_from_the_size_of_sequence_numbers() {
        // An SDU of 60 bytes with PDCP's header, its first part in 40 bytes, and that again in parts.
        let sizes = |protocol, sn_size, pdcp: u64| {
            let params = Params { sn_size: Some(sn_size), ..standard() };
            let mut tx = Tx::new(params, protocol, queue(Bytes(1 << 40)));
            tx.enqueue(packet(0, 60 - pdcp), &mut no_drops());
            let header = |pdu: Pdu| pdu.size.0 - (pdu.end - pdu.begin);
            let first = send(&mut tx, 0, 40).map(header);
            let rest = send(&mut tx, 0, 90).map(header);
            tx.on_status(&status(1, &[0]));
            [first, rest, send(&mut tx, 1, 20).map(header)].map(Option::unwrap)
        };
        assert_eq!(sizes(Protocol::Lte, 10, 2), [2, 2, 4]);
        assert_eq!(sizes(Protocol::Lte, 16, 2), [3, 3, 5]);
        assert_eq!(sizes(Protocol::Nr, 12, 3), [2 + 2, 4 + 2, 2 + 2]);
        assert_eq!(sizes(Protocol::Nr, 18, 3), [3 + 2, 5 + 2, 3 + 2]);
    }

    /// RETX_COUNT is 0 when a PDU is first considered for retransmission, and counts from there.
    #[test]
    fn a_pdu_that_is_missing_too_often_fails_the_link() {
        let mut tx = transmitter(Params { max_retx: Some(2), ..standard() }, 2);
        send(&mut tx, 0, 102);
        for at in 1..4 {
            assert!(!tx.has_failed());
            tx.on_status(&status(1, &[0]));
            tx.on_status(&status(1, &[0]));
            send(&mut tx, at, 102);
        }
        assert!(tx.has_failed());
    }

    #[test]
    fn unacknowledged_sdus_are_returned_in_order() {
        let mut tx = transmitter(standard(), 5);
        (0..3).for_each(|at| assert!(send(&mut tx, at, 102).is_some()));
        assert!(send(&mut tx, 3, 52).is_some());
        tx.on_status(&status(1, &[]));
        let mut returned = VecDeque::new();
        tx.release(ms(4), 200, &mut returned, &mut no_drops());
        let seen: Vec<_> = returned.iter().map(|sdu| (sdu.sdu.packet.0, sdu.delivered)).collect();
        assert_eq!(seen, [(1, true), (2, false), (3, false), (4, false)]);
        tx.resume(returned);
        assert_eq!((tx.backlog().packets, tx.inside().count()), (4, 3));
        assert_eq!(send(&mut tx, 5, 102).map(|pdu| (pdu.sn, pdu.begin, pdu.end)), Some((0, 0, 100)));
    }
}

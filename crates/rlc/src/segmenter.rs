//! Segmentation of SDUs into the data fields of PDUs, common to both modes.

use super::nr::{Headers, LONGEST_HEADERS};
use super::{BearerEvents, DropCause, QueueToBearer, Sdu};
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Maximum length that an 11-bit length indicator can describe (TS 36.322 §6.2.2.5): a longer SDU segment must be the
/// last of its PDU.
const LONGEST_CONCATENATED: Bytes = Bytes(2047);

/// An SDU returned by a bearer when its RLC is re-established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The SDU.
    pub sdu: Sdu,
    /// Whether the receiver has it although the transmitter lacks the acknowledgment. It is then sent again, and
    /// discarded at the receiver (TS 36.323 §5.1.2.1.4).
    pub delivered: bool,
}

/// A data field: an interval of the bearer's stream of SDU bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataField {
    /// First byte of the stream in it.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
    /// SDUs and parts of SDUs in it.
    pub pieces: u64,
}

/// An SDU or a segment of one, in a PDU of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Begin of its SDU in the bearer's stream of SDU bytes.
    pub sdu_from: u64,
    /// One past the end of its SDU.
    pub sdu_to: u64,
    /// First byte of the stream in it.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
    /// Size of the PDU with its MAC subheader.
    pub size: Bytes,
}

/// Queue of a bearer, and the SDU being segmented.
pub(super) struct Segmenter {
    pdcp_header: Bytes,
    queue: Box<dyn QueueDisc>,
    /// SDUs returned by an earlier RLC entity; they are sent first.
    returned: VecDeque<Returned>,
    /// Their bytes.
    returned_bytes: Bytes,
    /// The partly sent SDU, and its remaining bytes.
    partial: Option<(Sdu, Bytes)>,
    /// End of the stream of bytes that have been put into PDUs.
    sent: u64,
    /// Maximum waiting time of an SDU of which no part has been sent.
    discard_timer: Span,
}

/// The bytes of an SDU with this many left that fit into `room`, which they take, and whether they are the last piece of
/// the data field.
#[inline]
fn fit(remaining: Bytes, room: &mut Bytes) -> (Bytes, bool) {
    if remaining > *room || remaining > LONGEST_CONCATENATED {
        return (remaining.min(*room), true);
    }
    *room -= remaining;
    // As in ns-3 LENA: the next SDU is not started if the length indicator would take the remaining space.
    (remaining, *room <= Bytes(2))
}

/// Bytes that the length indicator of this piece of a data field adds.
fn length_indicator(piece: u64) -> Bytes {
    Bytes(if piece % 2 == 1 { 2 } else { 1 })
}

impl Segmenter {
    /// An empty queue without discard timer, whose SDUs get this header of PDCP.
    pub fn new(queue: Box<dyn QueueDisc>, pdcp_header: Bytes) -> Self {
        Segmenter {
            pdcp_header,
            queue,
            returned: VecDeque::new(),
            returned_bytes: Bytes::ZERO,
            partial: None,
            sent: 0,
            discard_timer: Span::MAX,
        }
    }

    /// Sets the discard timer: maximum waiting time of SDUs of which no part has been sent; `None`: no limit.
    pub fn discarding(self, discard_timer: Option<Span>) -> Self {
        Segmenter { discard_timer: discard_timer.unwrap_or(Span::MAX), ..self }
    }

    /// Enqueues a packet from the upper layer; its size includes the IP header.
    pub fn enqueue(&mut self, packet: Sdu, events: &mut dyn BearerEvents) {
        let sdu = Sdu { size: packet.size + self.pdcp_header, ..packet };
        // Expired SDUs do not occupy buffer space.
        //= TS 36.323 §5.4
        // An expired SDU is discarded when RLC reaches it or the next SDU arrives; until then it only occupies buffer
        // space.
        if self.discard_timer < Span::MAX {
            let discard = &mut |old| events.dropped(old, DropCause::Discarded);
            self.queue.expire(sdu.arrived, self.discard_timer, discard);
        }
        self.queue.enqueue(sdu.arrived, sdu, self.held(), &mut QueueToBearer(events));
    }

    /// Cuts a data field that leaves space for its length indicators within `room`. Passes each SDU that goes on air
    /// for the first time to `begun`, in stream order. Returns `None` if no SDU waits.
    ///
    /// Each SDU segment except the last has a length indicator of 12 bits; indicators pack into 2, 1, 2, 1, ... bytes.
    /// Up to two bytes stay unused if the length indicator of another segment would fill them, as in ns-3 LENA.
    pub fn cut(
        &mut self,
        now: Time,
        mut room: Bytes,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<DataField> {
        let begin = self.sent;
        let mut pieces = 0;
        if let Some((_, remaining)) = &mut self.partial {
            pieces = 1;
            let (taken, is_last) = fit(*remaining, &mut room);
            self.sent += taken.0;
            if taken < *remaining {
                *remaining -= taken;
            } else {
                self.partial = None;
            }
            if is_last {
                return (self.sent > begin).then_some(DataField { begin, end: self.sent, pieces });
            }
            room -= length_indicator(pieces);
        }
        while let Some(next) = self.next(now, events) {
            pieces += 1;
            begun(next);
            let size = next.sdu.size;
            let (taken, is_last) = fit(size, &mut room);
            self.sent += taken.0;
            if taken < size {
                self.partial = Some((next.sdu, size - taken));
            }
            if is_last {
                break;
            }
            room -= length_indicator(pieces);
        }
        (self.sent > begin).then_some(DataField { begin, end: self.sent, pieces })
    }

    /// Cuts an SDU, or the longest segment of one, whose PDU fits into `room`. Passes each SDU that goes on air for the
    /// first time to `begun`. Returns `None` if no SDU waits, or if `room` is too small for a segment.
    //= TS 38.322 §5.2.2.1.1
    pub fn piece(
        &mut self,
        now: Time,
        room: Bytes,
        headers: Headers,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<Piece> {
        if room <= LONGEST_HEADERS {
            return None;
        }
        let (sdu, remaining) = self.current(now, begun, events)?;
        let (is_first, begin) = (remaining == sdu.size, self.sent);
        let is_last = headers.size(remaining, is_first, true) <= room;
        let taken = if is_last { remaining } else { headers.data_in(room, is_first) };
        self.sent += taken.0;
        if !is_last {
            self.partial = Some((sdu, remaining - taken));
        }
        let sdu_to = begin + remaining.0;
        let size = headers.size(taken, is_first, is_last);
        Some(Piece { sdu_from: sdu_to - sdu.size.0, sdu_to, begin, end: self.sent, size })
    }

    /// The SDU to send from, and its remaining bytes.
    fn current(
        &mut self,
        now: Time,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<(Sdu, Bytes)> {
        if let Some(partial) = self.partial.take() {
            return Some(partial);
        }
        let next = self.next(now, events)?;
        begun(next);
        Some((next.sdu, next.sdu.size))
    }

    #[inline]
    fn next(&mut self, now: Time, events: &mut dyn BearerEvents) -> Option<Returned> {
        if !self.returned.is_empty() {
            return self.next_returned();
        }
        loop {
            let sdu = self.queue.dequeue(now, &mut QueueToBearer(events))?;
            //= TS 36.323 §5.4
            if now.since(sdu.arrived) < self.discard_timer {
                return Some(Returned { sdu, delivered: false });
            }
            events.dropped(sdu, DropCause::Discarded);
        }
    }

    #[cold]
    fn next_returned(&mut self) -> Option<Returned> {
        let returned = self.returned.pop_front()?;
        self.returned_bytes -= returned.sdu.size;
        Some(returned)
    }

    /// End of the stream of bytes that have been put into PDUs.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether a part of an SDU has been sent and the rest waits.
    pub fn is_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Bytes and packets that wait, including the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        let queued = self.queue.backlog();
        Backlog {
            bytes: queued.bytes + self.held(),
            packets: queued.packets + self.returned.len() as u64 + u64::from(self.partial.is_some()),
        }
    }

    /// Arrival of the oldest SDU with bytes to send for the first time.
    pub fn oldest(&self) -> Option<Time> {
        let partial = self.partial.map(|(sdu, _)| sdu.arrived);
        let returned = self.returned.front().map(|returned| returned.sdu.arrived);
        [partial, returned, self.queue.oldest()].into_iter().flatten().min()
    }

    /// SDUs of which no part has been sent and which the receiver does not have.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        let returned = self.returned.iter().filter(|returned| !returned.delivered);
        returned.map(|returned| &returned.sdu).chain(self.queue.inside())
    }

    /// Returns the SDUs of which no part has been sent, in order, and starts a new stream.
    pub fn release(&mut self, now: Time, into: &mut VecDeque<Returned>, events: &mut dyn BearerEvents) {
        while let Some(next) = self.next(now, events) {
            into.push_back(next);
        }
        self.partial = None;
        self.sent = 0;
    }

    /// Enqueues returned SDUs ahead of all others.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        for returned in returned {
            self.returned_bytes += returned.sdu.size;
            self.returned.push_back(returned);
        }
    }

    /// Waiting bytes outside the queue.
    fn held(&self) -> Bytes {
        self.returned_bytes + self.partial.map_or(Bytes::ZERO, |(_, remaining)| remaining)
    }
}

//! From SDUs to the data fields of PDUs: what both modes do before a PDU gets its number.

use super::{BearerEvents, DropCause, PDCP_HEADER, Sdu, Told};
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// The longest piece that an 11-bit length indicator can describe (TS 36.322 §6.2.2.5): a longer one must
/// be the last of its PDU.
const LONGEST_CONCATENATED: Bytes = Bytes(2047);

/// An SDU that a bearer gives back when its RLC is established anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The SDU.
    pub sdu: Sdu,
    /// The receiver has it; only the transmitter does not know. It is sent again, and discarded there
    /// (TS 36.323 §5.1.2.1.4).
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

/// The queue of a bearer, and the SDU that is being cut.
pub(super) struct Segmenter {
    queue: Box<dyn QueueDisc>,
    /// What an earlier RLC entity gave back: it goes first.
    returned: VecDeque<Returned>,
    /// Bytes of it.
    returned_bytes: Bytes,
    /// The SDU of which a part has been sent, and the bytes that remain of it.
    partial: Option<(Sdu, Bytes)>,
    /// End of the stream of bytes that have been put into PDUs.
    sent: u64,
    /// For how long an SDU may wait of which nothing has been sent.
    discard_timer: Span,
}

impl Segmenter {
    /// Nothing queued, and no discard timer.
    pub fn new(queue: Box<dyn QueueDisc>) -> Self {
        Segmenter {
            queue,
            returned: VecDeque::new(),
            returned_bytes: Bytes::ZERO,
            partial: None,
            sent: 0,
            discard_timer: Span::MAX,
        }
    }

    /// SDUs of which nothing has been sent may wait for so long; none: for ever.
    pub fn discarding(self, discard_timer: Option<Span>) -> Self {
        Segmenter { discard_timer: discard_timer.unwrap_or(Span::MAX), ..self }
    }

    /// A packet arrives from above, its size that with its IP header.
    pub fn enqueue(&mut self, packet: Sdu, events: &mut dyn BearerEvents) {
        let sdu = Sdu { size: packet.size + PDCP_HEADER, ..packet };
        // What has expired takes no room from it.
        //= TS 36.323 §5.4
        // An expired SDU is discarded when RLC reaches it or the next one arrives; until then it only counts against
        // the buffer.
        if self.discard_timer < Span::MAX {
            let discard = &mut |old| events.dropped(old, DropCause::Discarded);
            self.queue.expire(sdu.arrived, self.discard_timer, discard);
        }
        self.queue.enqueue(sdu.arrived, sdu, self.held(), &mut Told(events));
    }

    /// Cuts a data field that leaves room for its length indicators within `room`. Each SDU that goes on air for
    /// the first time is handed to `begun`, in the order of the stream. Returns nothing if nothing waits.
    ///
    /// Each piece but the last has a length indicator of 12 bits, which packs into 2, 1, 2, 1, ... bytes. Up to
    /// two bytes are left unused rather than spent on a piece that its length indicator would eat, as in ns-3
    /// LENA.
    pub fn cut(
        &mut self,
        now: Time,
        mut room: Bytes,
        begun: &mut impl FnMut(Returned),
        events: &mut dyn BearerEvents,
    ) -> Option<DataField> {
        let begin = self.sent;
        let mut pieces = 0;
        loop {
            let (sdu, remaining) = match self.partial.take() {
                Some(partial) => partial,
                None => match self.next(now, events) {
                    Some(next) => {
                        begun(next);
                        (next.sdu, next.sdu.size)
                    }
                    None => break,
                },
            };
            pieces += 1;
            if remaining > room || remaining > LONGEST_CONCATENATED {
                let taken = remaining.min(room);
                self.sent += taken.0;
                if taken < remaining {
                    self.partial = Some((sdu, remaining - taken));
                }
                break;
            }
            self.sent += remaining.0;
            room -= remaining;
            // As ns-3 LENA packs, rather than begin an SDU of which its length indicator leaves nothing.
            if room <= Bytes(2) {
                break;
            }
            room -= Bytes(if pieces % 2 == 1 { 2 } else { 1 });
        }
        (self.sent > begin).then_some(DataField { begin, end: self.sent, pieces })
    }

    fn next(&mut self, now: Time, events: &mut dyn BearerEvents) -> Option<Returned> {
        if let Some(returned) = self.returned.pop_front() {
            self.returned_bytes -= returned.sdu.size;
            return Some(returned);
        }
        loop {
            let sdu = self.queue.dequeue(now, &mut Told(events))?;
            //= TS 36.323 §5.4
            if now.since(sdu.arrived) < self.discard_timer {
                return Some(Returned { sdu, delivered: false });
            }
            events.dropped(sdu, DropCause::Discarded);
        }
    }

    /// End of the stream of bytes that have been put into PDUs.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// What waits, counting the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        let queued = self.queue.backlog();
        Backlog {
            bytes: queued.bytes + self.held(),
            packets: queued.packets + self.returned.len() as u64 + u64::from(self.partial.is_some()),
        }
    }

    /// When the oldest SDU arrived of which something is to be sent for the first time.
    pub fn oldest(&self) -> Option<Time> {
        let partial = self.partial.map(|(sdu, _)| sdu.arrived);
        let returned = self.returned.front().map(|returned| returned.sdu.arrived);
        [partial, returned, self.queue.oldest()].into_iter().flatten().min()
    }

    /// SDUs of which nothing has been sent yet, and that the receiver does not have.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        let returned = self.returned.iter().filter(|returned| !returned.delivered);
        returned.map(|returned| &returned.sdu).chain(self.queue.inside())
    }

    /// Gives back the SDUs of which nothing has been sent, in their order, and begins a new stream.
    pub fn release(&mut self, now: Time, into: &mut VecDeque<Returned>, events: &mut dyn BearerEvents) {
        while let Some(next) = self.next(now, events) {
            into.push_back(next);
        }
        self.partial = None;
        self.sent = 0;
    }

    /// Takes SDUs that go before all that comes.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        for returned in returned {
            self.returned_bytes += returned.sdu.size;
            self.returned.push_back(returned);
        }
    }

    /// What is no longer the queue's, but waits all the same.
    fn held(&self) -> Bytes {
        self.returned_bytes + self.partial.map_or(Bytes::ZERO, |(_, remaining)| remaining)
    }
}

//! Unacknowledged mode of NR (TS 38.322 §5.2.2), with the reordering of PDCP (TS 38.323 §5.2.2).

use crate::nr::{Headers, LONGEST_HEADERS, PDCP_HEADER};
use crate::segmenter::{Returned, Segmenter};
use crate::um::{NR_SIZES, Pdu, window};
use crate::{BearerEvents, BufferStatus, DropCause, Sdu};
use airwnd_kernel::Key;
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A transmitter. Its PDUs in a transport block follow one another in the bearer's stream of SDU bytes, so that they are
/// one interval of it.
pub struct Tx {
    source: Segmenter,
    /// Number of the next transport block.
    next: u64,
    /// Size of the PDUs in the last transport block, with their MAC subheaders.
    size: Bytes,
    headers: Headers,
}

impl Tx {
    /// A transmitter with an empty queue, and with this maximum waiting time of SDUs of which no part has been sent.
    pub fn new(queue: Box<dyn QueueDisc>, discard_timer: Option<Span>) -> Self {
        let source = Segmenter::new(queue, PDCP_HEADER).discarding(discard_timer);
        Tx { source, next: 0, size: Bytes::ZERO, headers: Headers::UM_12 }
    }

    /// Sets the size of sequence numbers in bits.
    pub fn numbering(self, sn_size: u16) -> Self {
        Tx { headers: if sn_size == NR_SIZES[0] { Headers::UM_6 } else { Headers::UM_12 }, ..self }
    }

    /// The queue.
    pub(crate) fn source(&self) -> &Segmenter {
        &self.source
    }

    /// Headers of its PDUs.
    pub(crate) fn headers(&self) -> Headers {
        self.headers
    }

    /// Enqueues a packet from the upper layer; its size includes the IP header.
    pub fn enqueue(&mut self, packet: Sdu, events: &mut dyn BearerEvents) {
        self.source.enqueue(packet, events);
    }

    /// Fills a grant of `grant` bytes. Passes each SDU that goes on air for the first time to `begun`, in stream order.
    /// Returns `None` if no SDU waits or the grant is too small.
    pub fn transmit(
        &mut self,
        now: Time,
        grant: Bytes,
        begun: &mut impl FnMut(Sdu),
        events: &mut dyn BearerEvents,
    ) -> Option<Pdu> {
        self.size = Bytes::ZERO;
        let begin = self.source.sent();
        let mut begun = |next: Returned| begun(next.sdu);
        let headers = self.headers;
        while let Some(piece) = self.source.piece(now, grant - self.size, headers, &mut begun, events) {
            self.size += piece.size;
        }
        let end = self.source.sent();
        if end == begin {
            return None;
        }
        self.next += 1;
        Some(Pdu { sn: self.next - 1, begin, end })
    }

    /// Size of what has just been transmitted.
    pub fn transmitted(&self) -> Bytes {
        self.size
    }

    /// Bytes and packets that wait, including the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        self.source.backlog()
    }

    /// Buffer status reported to the MAC: the backlog with the longest headers for each SDU.
    pub fn reported(&self) -> BufferStatus {
        let backlog = self.backlog();
        BufferStatus { new: backlog.bytes + LONGEST_HEADERS * backlog.packets, ..BufferStatus::default() }
    }

    /// Returns the SDUs of which no part has been sent, in order, and re-establishes the entity (TS 38.322 §5.1.2).
    pub fn release(&mut self, now: Time, into: &mut VecDeque<Returned>, events: &mut dyn BearerEvents) {
        self.source.release(now, into, events);
        self.next = 0;
    }

    /// Enqueues returned SDUs ahead of all others.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        self.source.resume(returned);
    }
}

/// An SDU that has gone on air.
#[derive(Clone, Copy, Debug)]
struct Expected {
    sdu: Sdu,
    /// One past its end in the stream.
    end: u64,
    /// Bytes of it that have been received.
    received: Bytes,
    /// Sequence number of RLC; `None`: it is sent in one piece, which has none.
    sn: Option<u64>,
}

impl Expected {
    fn is_complete(&self) -> bool {
        self.received == self.sdu.size
    }
}

/// A receiver: RLC reassembles SDUs as they come, PDCP delivers them in order.
///
/// The caller reports each SDU that goes on air ([`Rx::expect`]) and each block that the MAC decoded, and calls
/// [`Rx::expire`] when t-Reordering is due.
//= exception nr-segments-wait-for-pdcp
pub struct Rx {
    reordering: Span,
    window: u64,
    /// Sequence number of the next SDU that is sent in segments.
    next_sn: u64,
    /// RX_Next_Highest: one past the highest sequence number that has been received.
    highest_sn: u64,
    /// The SDUs from RX_DELIV on.
    expected: VecDeque<Expected>,
    /// End of the newest of them in the stream.
    expected_to: u64,
    /// RX_DELIV: the first SDU that is not delivered.
    first: u64,
    /// RX_NEXT: one past the highest complete SDU.
    next: u64,
    /// RX_REORD and the expiry of t-Reordering, while it runs.
    timer: Option<(u64, Time)>,
}

impl Rx {
    /// A receiver with this t-Reordering.
    pub fn new(reordering: Span) -> Self {
        let expected = VecDeque::with_capacity(64);
        let window = window(NR_SIZES[1]);
        Rx {
            reordering,
            window,
            next_sn: 0,
            highest_sn: 0,
            expected,
            expected_to: 0,
            first: 0,
            next: 0,
            timer: None,
        }
    }

    /// Sets the size of sequence numbers in bits.
    pub fn numbering(self, sn_size: u16) -> Self {
        Rx { window: window(sn_size), ..self }
    }

    /// A block that ends here has gone on air, after all earlier ones: the SDU of which it has a segment gets a number.
    pub fn sent_to(&mut self, end: u64) {
        if end < self.expected_to
            && let Some(Expected { sn: sn @ None, .. }) = self.expected.back_mut()
        {
            *sn = Some(self.next_sn);
            self.next_sn += 1;
        }
    }

    /// An SDU has gone on air, after all earlier ones.
    pub fn expect(&mut self, sdu: Sdu) {
        self.expected_to += sdu.size.0;
        self.expected.push_back(Expected { sdu, end: self.expected_to, received: Bytes::ZERO, sn: None });
    }

    /// Handles a decoded block. Passes SDUs that are complete and in order to `deliver`.
    pub fn receive(&mut self, now: Time, pdu: Pdu, deliver: &mut impl FnMut(Sdu)) {
        let from = self.expected.partition_point(|expected| expected.end <= pdu.begin);
        for (index, expected) in (from as u64..).zip(self.expected.range_mut(from..)) {
            let begin = expected.end - expected.sdu.size.0;
            if begin >= pdu.end {
                break;
            }
            if let Some(sn) = expected.sn {
                // The rest of an SDU below the window is discarded, as all of it is.
                //= TS 38.322 §5.2.2.2.2
                if sn + self.window < self.highest_sn {
                    continue;
                }
                self.highest_sn = self.highest_sn.max(sn + 1);
            }
            // HARQ delivers each block once.
            expected.received += Bytes(expected.end.min(pdu.end) - begin.max(pdu.begin));
            if expected.is_complete() {
                self.next = self.next.max(self.first + index + 1);
            }
        }
        self.deliver_in_order(deliver);
        self.rearm(now);
    }

    /// Expiry of t-Reordering, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.timer.map(|(_, expiry)| expiry)
    }

    /// Handles the expiry of t-Reordering: SDUs before RX_REORD that are not complete are lost.
    //= TS 38.323 §5.2.2.2
    pub fn expire(&mut self, now: Time, deliver: &mut impl FnMut(Sdu), events: &mut dyn BearerEvents) {
        let Some((reordered, _)) = self.timer.take_if(|(_, expiry)| *expiry <= now) else { return };
        while self.first < reordered {
            let expected = self.expected.pop_front().expect("SDUs before RX_NEXT have gone on air");
            self.first += 1;
            if expected.is_complete() {
                deliver(expected.sdu);
            } else {
                events.dropped(expected.sdu, DropCause::RadioLoss);
            }
        }
        self.deliver_in_order(deliver);
        self.rearm(now);
    }

    /// Re-establishes the entity: SDUs on air are dropped with this cause.
    pub fn release(&mut self, cause: DropCause, events: &mut dyn BearerEvents) {
        self.expected.drain(..).for_each(|expected| events.dropped(expected.sdu, cause));
        let (expected, window) = (std::mem::take(&mut self.expected), self.window);
        *self = Rx { expected, window, ..Rx::new(self.reordering) };
    }

    /// SDUs on air, neither delivered nor dropped.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.expected.iter().map(|expected| &expected.sdu)
    }

    /// Begin and end in the stream of the SDUs on air from a position on, with their sequence numbers and packets.
    pub(crate) fn stream(&self, from: u64) -> impl Iterator<Item = (u64, u64, Option<u64>, Key)> + '_ {
        let first = self.expected.partition_point(|expected| expected.end <= from);
        let range = self.expected.range(first..);
        range.map(|each| (each.end - each.sdu.size.0, each.end, each.sn, each.sdu.packet))
    }

    fn deliver_in_order(&mut self, deliver: &mut impl FnMut(Sdu)) {
        while let Some(expected) = self.expected.front().copied().filter(Expected::is_complete) {
            self.expected.pop_front();
            self.first += 1;
            deliver(expected.sdu);
        }
    }

    /// Stops t-Reordering when its gap is closed, and starts it for a new gap.
    fn rearm(&mut self, now: Time) {
        self.timer = self.timer.filter(|(reordered, _)| *reordered > self.first);
        if self.timer.is_none() && self.next > self.first {
            self.timer = Some((self.next, now + self.reordering));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{packet, queue};
    use proptest::prelude::*;

    const REORDERING: Span = Span::from_millis(100);

    /// Sends SDUs of these sizes in grants of these sizes and returns the blocks with the sizes of their PDUs.
    fn blocks(sizes: &[u64], grants: &[u64], rx: &mut Rx) -> Vec<(Pdu, Bytes)> {
        let mut tx = Tx::new(queue(Bytes(1 << 30)), None);
        let mut events = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
        for (key, size) in (0..).zip(sizes) {
            tx.enqueue(packet(key, *size), &mut events);
        }
        let mut block = |grant: &u64| {
            let pdu = tx.transmit(Time::ZERO, Bytes(*grant), &mut |sdu| rx.expect(sdu), &mut events)?;
            rx.sent_to(pdu.end);
            Some((pdu, tx.transmitted()))
        };
        grants.iter().filter_map(&mut block).collect()
    }

    #[derive(Default)]
    struct Seen {
        delivered: Vec<u32>,
        dropped: Vec<u32>,
    }

    impl Seen {
        fn receive(&mut self, rx: &mut Rx, now: Time, pdu: Pdu) {
            rx.receive(now, pdu, &mut |sdu| self.delivered.push(sdu.packet.0));
        }

        fn expire(&mut self, rx: &mut Rx, now: Time) {
            let dropped = &mut self.dropped;
            let mut events = |sdu: Sdu, _: DropCause| dropped.push(sdu.packet.0);
            rx.expire(now, &mut |sdu| self.delivered.push(sdu.packet.0), &mut events);
        }
    }

    /// The first half of an SDU, then many others in halves; its second half is late.
    #[test]
    fn the_rest_of_an_sdu_below_the_window_is_discarded() {
        for (sn_size, window) in [(6, 32), (12, 2048)] {
            for others in [window - 1, window] {
                let mut rx = Rx::new(Span::from_secs(10)).numbering(sn_size);
                let blocks = blocks(&vec![100; others + 1], &[60, 58].repeat(others + 1), &mut rx);
                let mut seen = Seen::default();
                let is_late = |pdu: &Pdu| (51..103).contains(&pdu.begin);
                for (pdu, _) in blocks.iter().filter(|(pdu, _)| !is_late(pdu)) {
                    seen.receive(&mut rx, Time(0), *pdu);
                }
                assert_eq!(seen.delivered, Vec::<u32>::new());
                for (pdu, _) in blocks.iter().filter(|(pdu, _)| is_late(pdu)) {
                    seen.receive(&mut rx, Time(0), *pdu);
                }
                let is_discarded = others == window;
                assert_eq!(seen.delivered.is_empty(), is_discarded, "{sn_size} bits, {others} others");
            }
        }
    }

    #[test]
    fn each_sdu_has_its_headers() {
        let mut rx = Rx::new(REORDERING);
        // PDCP adds 3 bytes. Two whole SDUs with 1 + 2 bytes each; the rest of the first grant takes 2 + 2 bytes and 34 of
        // data, and the rest of the third SDU 4 + 2 bytes.
        let blocks = blocks(&[40, 40, 60], &[130, 300], &mut rx);
        let ends: Vec<_> = blocks.iter().map(|(pdu, size)| (pdu.begin, pdu.end, size.0)).collect();
        assert_eq!(ends, [(0, 86 + 34, 130), (120, 149, 29 + 6)]);
    }

    #[test]
    fn a_lost_block_costs_the_sdus_in_it_and_t_reordering() {
        let mut rx = Rx::new(REORDERING);
        let blocks = blocks(&[100, 100, 100, 100], &[150, 150, 100, 300], &mut rx);
        let mut seen = Seen::default();
        seen.receive(&mut rx, Time(0), blocks[0].0);
        assert_eq!((&seen.delivered[..], rx.deadline()), (&[0][..], None), "the rest of 1 is not missing");
        seen.receive(&mut rx, Time(0), blocks[2].0);
        seen.receive(&mut rx, Time(1_000_000), blocks[3].0);
        assert_eq!((&seen.delivered[..], rx.deadline()), (&[0][..], Some(Time(101_000_000))));
        seen.expire(&mut rx, Time(100_999_999));
        assert!(seen.dropped.is_empty());
        seen.expire(&mut rx, Time(101_000_000));
        assert_eq!((seen.delivered, seen.dropped, rx.deadline()), (vec![0, 3], vec![1, 2], None));
    }

    proptest! {
        /// With any losses and delays: SDUs are delivered in order and at most once, none is both dropped and delivered, all
        /// that are not affected by a loss are delivered, and no block exceeds its grant.
        #[test]
        fn every_sdu_is_delivered_or_dropped_once(
            sizes in prop::collection::vec(1u64..400, 1..60),
            grants in prop::collection::vec(10u64..300, 1..60),
            events in prop::collection::vec(0u8..10, 60),
        ) {
            let mut rx = Rx::new(REORDERING);
            let blocks = blocks(&sizes, &grants, &mut rx);
            let mut seen = Seen::default();
            let mut late = Vec::new();
            let mut lost = Vec::new();
            for (((pdu, size), grant), event) in blocks.iter().zip(&grants).zip(&events) {
                prop_assert!(size.0 <= *grant);
                match event {
                    0 => lost.push(*pdu),
                    1 | 2 => late.push(*pdu),
                    _ => seen.receive(&mut rx, Time(0), *pdu),
                }
            }
            for pdu in late {
                seen.receive(&mut rx, Time(1), pdu);
            }
            seen.expire(&mut rx, Time(1_000_000_000));
            seen.expire(&mut rx, Time(2_000_000_000));
            prop_assert!(seen.delivered.windows(2).all(|pair| pair[0] < pair[1]));
            let sent_to = blocks.last().map_or(0, |(pdu, _)| pdu.end);
            let mut from = 0;
            for (number, size) in (0..).zip(&sizes) {
                let to = from + size + PDCP_HEADER.0;
                let is_lost = lost.iter().any(|pdu| pdu.begin < to && from < pdu.end);
                prop_assert_eq!(seen.delivered.contains(&number), to <= sent_to && !is_lost);
                prop_assert!(!seen.dropped.contains(&number) || is_lost);
                from = to;
            }
        }
    }
}

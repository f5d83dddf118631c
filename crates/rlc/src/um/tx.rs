//! Transmitting entity: PDUs of the size that the MAC grants.

use super::{FIXED_HEADER, LTE_SIZES, Pdu, fixed_header};
use crate::segmenter::{Returned, Segmenter};
use crate::{BearerEvents, BufferStatus, PDCP_HEADER, Sdu};
use airwnd_links::aqm::{Backlog, QueueDisc};
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// An unacknowledged-mode transmitter (TS 36.322 §5.1.2.1).
pub struct Tx {
    source: Segmenter,
    next_sn: u64,
    header: Bytes,
}

impl Tx {
    /// A transmitter with an empty queue.
    pub fn new(queue: Box<dyn QueueDisc>) -> Self {
        Tx { source: Segmenter::new(queue, PDCP_HEADER), next_sn: 0, header: FIXED_HEADER }
    }

    /// Sets the size of sequence numbers in bits.
    pub fn numbering(self, sn_size: u16) -> Self {
        Tx { header: fixed_header(sn_size), ..self }
    }

    /// Header of a PDU without length indicators.
    pub fn header(&self) -> Bytes {
        self.header
    }

    /// The queue.
    pub(crate) fn source(&self) -> &Segmenter {
        &self.source
    }

    /// Size of a sequence number in bits.
    pub(crate) fn sn_size(&self) -> u16 {
        LTE_SIZES[usize::from(self.header == FIXED_HEADER)]
    }

    /// Sets the discard timer: maximum waiting time of SDUs of which no part has been sent; `None`: no limit.
    pub fn discarding(self, discard_timer: Option<Span>) -> Self {
        Tx { source: self.source.discarding(discard_timer), ..self }
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
        if grant <= self.header {
            return None;
        }
        let field = self.source.cut(now, grant - self.header, &mut |next| begun(next.sdu), events)?;
        self.next_sn += 1;
        Some(Pdu { sn: self.next_sn - 1, begin: field.begin, end: field.end })
    }

    /// Bytes and packets that wait, including the rest of a partly sent SDU.
    pub fn backlog(&self) -> Backlog {
        self.source.backlog()
    }

    /// Buffer status reported to the MAC: the backlog and two bytes of header for each SDU.
    pub fn reported(&self) -> BufferStatus {
        let backlog = self.backlog();
        BufferStatus { new: backlog.bytes + FIXED_HEADER * backlog.packets, ..BufferStatus::default() }
    }

    /// Arrival of the oldest SDU with bytes to send.
    pub fn oldest(&self) -> Option<Time> {
        self.source.oldest()
    }

    /// SDUs of which no part has been sent.
    pub fn inside(&self) -> impl Iterator<Item = &Sdu> {
        self.source.inside()
    }

    /// Returns the SDUs of which no part has been sent, in order, and re-establishes the entity (TS 36.322 §5.4).
    pub fn release(&mut self, now: Time, into: &mut VecDeque<Returned>, events: &mut dyn BearerEvents) {
        self.source.release(now, into, events);
        self.next_sn = 0;
    }

    /// Enqueues returned SDUs ahead of all others.
    pub fn resume(&mut self, returned: impl IntoIterator<Item = Returned>) {
        self.source.resume(returned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropCause;
    use crate::tests::{packet, transmitter};
    use airwnd_links::aqm::Cause;

    /// Number of SDUs of `sdu` bytes of IP that a backlogged bearer sends in `blocks` grants of `grant` bytes.
    fn whole_sdus_sent(sdu: u64, grant: u64, blocks: u64) -> u64 {
        let mut tx = transmitter(Bytes(10240));
        let mut events = |_: Sdu, _: DropCause| {};
        let mut end = 0;
        for _ in 0..blocks {
            for _ in 0..12 {
                tx.enqueue(packet(0, sdu), &mut events);
            }
            end = tx
                .transmit(Time::ZERO, Bytes(grant), &mut |_| {}, &mut events)
                .expect("the bearer is backlogged")
                .end;
        }
        end / (sdu + PDCP_HEADER.0)
    }

    /// Grants and delivered datagrams of the ns-3 runs S1 and S2 (1000 B of UDP payload).
    #[test]
    fn packing_agrees_with_ns3() {
        for (grant, blocks, datagrams) in [
            (185, 6991, 1239),
            (1287, 998, 1242),
            (1287, 1072, 1335),
            (693, 1050, 703),
            (533, 1102, 567),
            (453, 1005, 439),
            (241, 1003, 232),
            (185, 898, 159),
            (97, 6990, 643),
            (22, 6991, 135),
            (4395, 9987, 42531),
        ] {
            assert_eq!(whole_sdus_sent(1028, grant, blocks), datagrams, "{blocks} grants of {grant} B");
        }
    }

    /// TS 36.322 figures 6.2.1.3-1 and -2.
    #[test]
    fn the_header_follows_from_the_size_of_sequence_numbers() {
        for (sn_size, header) in [(5, 1), (10, 2)] {
            let mut tx = transmitter(Bytes(1 << 20)).numbering(sn_size);
            let mut events = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
            tx.enqueue(packet(0, 100), &mut events);
            let pdu = tx.transmit(Time::ZERO, Bytes(50), &mut |_| (), &mut events).unwrap();
            assert_eq!(pdu.end - pdu.begin, 50 - header);
        }
    }

    #[test]
    fn a_grant_of_headers_only_sends_nothing() {
        let mut tx = transmitter(Bytes(10240));
        let mut events = |_: Sdu, _: DropCause| {};
        tx.enqueue(packet(0, 100), &mut events);
        assert_eq!(tx.transmit(Time::ZERO, Bytes(2), &mut |_| {}, &mut events), None);
        assert_eq!(tx.reported().total(), Bytes(104));
        let pdu = tx.transmit(Time::ZERO, Bytes(200), &mut |_| {}, &mut events);
        assert_eq!(pdu, Some(Pdu { sn: 0, begin: 0, end: 102 }));
        assert_eq!(
            (tx.reported().total(), tx.transmit(Time::ZERO, Bytes(200), &mut |_| {}, &mut events)),
            (Bytes(0), None)
        );
    }

    /// Expired SDUs are discarded when RLC reaches them or when the next SDU arrives, which can use their space. A
    /// partly sent SDU is kept.
    //= TS 36.323 §5.4
    #[test]
    fn an_sdu_is_discarded_after_the_discard_timer() {
        let timer = Span::from_millis(50);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let come = |tx: &mut Tx, key, ms, events: &mut dyn BearerEvents| {
            tx.enqueue(Sdu { arrived: at(ms), ..packet(key, 1000) }, events);
        };
        let mut dropped = Vec::new();
        let mut events = |sdu: Sdu, cause| dropped.push((sdu.packet.0, cause));
        let mut tx = transmitter(Bytes(3006)).discarding(Some(timer));
        for key in 0..3 {
            come(&mut tx, key, 0, &mut events);
        }
        // Half of the first SDU goes on air in time, the rest after the timer.
        assert!(tx.transmit(at(10), Bytes(500), &mut |_| {}, &mut events).is_some());
        come(&mut tx, 3, 49, &mut events);
        come(&mut tx, 4, 50, &mut events);
        let mut begun = Vec::new();
        tx.transmit(at(100), Bytes(5000), &mut |sdu| begun.push(sdu.packet.0), &mut events);
        assert!(begun.is_empty());
        come(&mut tx, 5, 100, &mut events);
        tx.transmit(at(149), Bytes(5000), &mut |sdu| begun.push(sdu.packet.0), &mut events);
        assert_eq!((begun, tx.backlog()), (vec![5], Backlog::default()));
        let (full, gone) = (DropCause::Queue(Cause::Full), DropCause::Discarded);
        assert_eq!(dropped, [(3, full), (1, gone), (2, gone), (4, gone)]);
    }
}

//! Tests of both entities together, with losses and delays between them.

use super::{Conduct, Params, Pdu, Quirks, Rx, Status, Tx};
use crate::tests::{packet, queue};
use crate::{BufferStatus, Content, DropCause, OneWay, Protocol, Sdu};
use crate::{Rlc, RlcMode};
use airwnd_phy::access::Timing;
use airwnd_units::{Bytes, Tti};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Outcome of a block.
#[derive(Clone, Copy, Debug)]
enum Chance {
    Lost,
    /// Received after this many TTIs.
    Late(u8),
}

/// Arriving SDUs, grants and outcomes of both directions in a TTI.
#[derive(Clone, Copy, Debug)]
struct Slot {
    arriving: [u64; 2],
    grants: [u64; 2],
    chances: [Chance; 2],
}

fn slots(min_grant: u64) -> impl Strategy<Value = Vec<Slot>> {
    let chance = || prop_oneof![2 => Just(Chance::Lost), 5 => (0u8..7).prop_map(Chance::Late)];
    let sdus = || prop_oneof![1 => Just(0), 1 => 1u64..3000];
    let slot = ((sdus(), sdus()), (min_grant..4000, min_grant..4000), (chance(), chance()));
    let slot = slot.prop_map(|(arriving, grants, chances)| Slot {
        arriving: arriving.into(),
        grants: grants.into(),
        chances: chances.into(),
    });
    prop::collection::vec(slot, 1..200)
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Lte), Just(Protocol::Nr)]
}

struct Bearer {
    ways: [OneWay; 2],
    /// Decoded blocks in transit, by the TTI in which they arrive.
    air: [VecDeque<(u64, Content)>; 2],
    sent: [Vec<u32>; 2],
    delivered: [Vec<u32>; 2],
    max_in_window: u64,
}

impl Bearer {
    fn new(params: Params, protocol: Protocol) -> Bearer {
        let rlc = Rlc { mode: RlcMode::Am, am: params, ..Rlc::default() };
        let way =
            || OneWay::new(&rlc, protocol, &Timing::lte(8), Timing::lte(8).processes, queue(Bytes(1 << 40)));
        Bearer {
            ways: [way(), way()],
            air: Default::default(),
            sent: Default::default(),
            delivered: Default::default(),
            max_in_window: 0,
        }
    }

    fn tti(&mut self, tti: u64, slot: Slot) {
        let now = Tti(tti).start();
        let mut events = |sdu: Sdu, cause: DropCause| unreachable!("{sdu:?} is dropped: {cause:?}");
        for way in 0..2 {
            let [first, second] = &mut self.ways;
            let (own, other) = if way == 0 { (first, second) } else { (second, first) };
            let delivered = &mut self.delivered[way];
            let mut deliver = |sdu: Sdu| delivered.push(sdu.packet.0);
            own.expire(now, &mut deliver, &mut events);
            self.air[way].retain(|(due, content)| {
                if *due == tti {
                    own.receive(now, *content, other, &mut deliver, &mut events);
                }
                *due > tti
            });
            if slot.arriving[way] > 0 {
                let number = self.sent[way].len() as u32;
                self.sent[way].push(number);
                own.enqueue(packet(number, slot.arriving[way]), &mut events);
            }
            let reported = (way == 1).then(|| own.reported(now, other));
            if reported.is_some_and(|reported| reported == BufferStatus::default()) {
                continue;
            }
            // A process is free again when its block has arrived.
            let process = (tti % u64::from(Timing::lte(8).processes)) as u8;
            let content = own.transmit(now, Bytes(slot.grants[way]), process, other, reported, &mut events);
            if let (Some(content), Chance::Late(ttis)) = (content, slot.chances[way]) {
                self.air[way].push_back((tti + 1 + u64::from(ttis), content));
            }
            if let OneWay::Am(own) = own {
                self.max_in_window = self.max_in_window.max(own.in_window());
            }
        }
    }

    /// Runs an error-free channel from now on; returns the TTIs until all SDUs are delivered.
    fn drain(&mut self, from: u64) -> u64 {
        let good = Slot { arriving: [0; 2], grants: [6000; 2], chances: [Chance::Late(0); 2] };
        (from..from + 20_000)
            .find(|tti| {
                self.tti(*tti, good);
                self.sent == self.delivered
            })
            .expect("all is delivered")
            - from
    }
}

proptest! {
    /// With any losses, delays and block sizes, each SDU is delivered once and in order, and no bearer stalls.
    #[test]
    fn every_sdu_is_delivered_once_and_in_order(slots in slots(20), protocol in protocols()) {
        let mut bearer = Bearer::new(Params::default(), protocol);
        for (tti, slot) in (0..).zip(&slots) {
            bearer.tti(tti, *slot);
            for way in 0..2 {
                prop_assert!(bearer.sent[way].starts_with(&bearer.delivered[way]));
            }
        }
        bearer.drain(slots.len() as u64);
        prop_assert!(bearer.max_in_window <= Params::default().format(protocol).window());
    }

    /// The same in ns-3's model, in which blocks must not become smaller than the PDUs sent.
    #[test]
    fn ns3_delivers_every_sdu_too(slots in slots(4000 - 1)) {
        let mut bearer = Bearer::new(Params { quirks: Quirks { conduct: Conduct::Ns3 }, ..Params::default() }, Protocol::Lte);
        for (tti, slot) in (0..).zip(&slots) {
            bearer.tti(tti, *slot);
        }
        bearer.drain(slots.len() as u64);
        prop_assert!(bearer.max_in_window <= Params::default().format(Protocol::Lte).window());
    }

    /// RLC can be re-established at any time without losses or duplicates.
    #[test]
    fn rlc_can_be_re_established_at_any_time(
        slots in slots(20),
        again in 1usize..40,
        protocol in protocols(),
    ) {
        let mut bearer = Bearer::new(Params::default(), protocol);
        let mut events = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
        for (tti, slot) in (0..).zip(&slots) {
            bearer.tti(tti, *slot);
            if (tti as usize).is_multiple_of(again) {
                let now = Tti(tti).start();
                for (way, air) in bearer.ways.iter_mut().zip(&mut bearer.air) {
                    let mut returned = VecDeque::new();
                    way.release(now, DropCause::LinkFailure, &mut returned, &mut events);
                    way.resume(returned);
                    air.clear();
                }
            }
        }
        bearer.drain(slots.len() as u64);
    }
}

/// A transmitter and a receiver by the standard, with a channel between them that loses given blocks.
struct Link {
    tx: Tx,
    rx: Rx,
    /// End of each SDU in the stream.
    ends: Vec<u64>,
    /// Begin and end of each PDU at its first transmission, by sequence number.
    whole: Vec<(u64, u64)>,
    /// Number of segments that were cut from an earlier segment.
    segments_of_segments: u32,
    /// Segments sent of missing PDUs.
    segments: Vec<(u64, u64, u64)>,
    delivered: Vec<u32>,
    now: u64,
}

impl Link {
    /// A link with SDUs of these sizes, including PDCP's header.
    fn new(sdus: &[u64]) -> Link {
        let params = Params::default();
        let mut tx = Tx::new(params.clone(), Protocol::Lte, queue(Bytes(1 << 40)));
        let mut ends = vec![0];
        for (number, size) in (0..).zip(sdus) {
            tx.enqueue(packet(number, size - 2), &mut |_: Sdu, _: DropCause| unreachable!("there is room"));
            ends.push(ends[number as usize] + size);
        }
        let rx = Rx::new(params, Protocol::Lte);
        Link {
            tx,
            rx,
            ends: ends.split_off(1),
            whole: Vec::new(),
            segments_of_segments: 0,
            segments: Vec::new(),
            delivered: Vec::new(),
            now: 0,
        }
    }

    /// Expected header size of a PDU: 2 bytes, 4 with the fields of a segment, and 12 bits for each SDU except the
    /// last.
    fn header(&self, pdu: &Pdu) -> u64 {
        let within = self.ends.iter().filter(|end| (pdu.begin + 1..pdu.end).contains(end)).count() as u64;
        let is_segment = (pdu.begin, pdu.end) != self.whole[pdu.sn as usize];
        let fixed = if is_segment { 4 } else { 2 };
        fixed + (12 * within).div_ceil(8)
    }

    /// Runs a TTI with a block of `room` bytes, and a STATUS PDU back if one is due.
    fn tti(&mut self, room: u64, lost: bool) {
        let now = Tti(self.now).start();
        self.now += 1;
        self.tx.expire(now);
        self.rx.expire(now);
        let mut left = room;
        let Link { tx, rx, .. } = self;
        let mut sent = Vec::new();
        let mut no_drops = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
        while let Some(pdu) = tx.transmit(now, now, Bytes(left), &mut |sdu| rx.expect(sdu), &mut no_drops) {
            assert!(pdu.size.0 <= left, "{pdu:?} in {left} B");
            left -= pdu.size.0;
            sent.push(pdu);
        }
        for pdu in sent {
            let new = pdu.sn as usize == self.whole.len();
            if new {
                assert_eq!(pdu.begin, self.whole.last().map_or(0, |(_, end)| *end), "the stream has no gaps");
                self.whole.push((pdu.begin, pdu.end));
            }
            let (begin, end) = self.whole[pdu.sn as usize];
            assert!(begin <= pdu.begin && pdu.begin < pdu.end && pdu.end <= end, "{pdu:?}");
            assert_eq!((pdu.whole_from, pdu.last), (begin, pdu.end == end), "SO and LSF of {pdu:?}");
            assert_eq!(pdu.size.0, self.header(&pdu) + pdu.end - pdu.begin, "{pdu:?}");
            if (pdu.begin, pdu.end) != (begin, end) {
                let within = |&&(sn, from, to): &&(u64, u64, u64)| {
                    sn == pdu.sn && from <= pdu.begin && pdu.end <= to && (from, to) != (pdu.begin, pdu.end)
                };
                self.segments_of_segments += u32::from(self.segments.iter().find(within).is_some());
                self.segments.push((pdu.sn, pdu.begin, pdu.end));
            }
            if !lost {
                self.rx.receive(now, pdu, &mut |sdu| self.delivered.push(sdu.packet.0));
            }
        }
        let mut status = Status::default();
        if self.rx.send_status(now, Bytes(1000), &mut status).is_some() {
            self.tx.on_status(&status);
        }
    }

    fn is_done(&self) -> bool {
        self.delivered.len() == self.ends.len()
    }
}

proptest! {
    /// With blocks of any size from one byte on and any losses: each PDU fits its block and has the standard's header,
    /// segments lie within their PDU, and all SDUs are delivered once and in order.
    #[test]
    fn segments_of_any_size_deliver_every_sdu_once(
        sdus in prop::collection::vec(3u64..3000, 1..30),
        blocks in prop::collection::vec((1u64..2500, prop::bool::weighted(0.4)), 1..200),
    ) {
        let mut link = Link::new(&sdus);
        for (room, lost) in blocks {
            link.tti(room, lost);
        }
        while !link.is_done() {
            link.tti(700, false);
            prop_assert!(link.now < 2000, "all is delivered");
        }
        prop_assert_eq!(link.delivered, (0..sdus.len() as u32).collect::<Vec<_>>());
    }
}

/// A PDU of 6 kB that later blocks cannot carry is cut into segments of 1 kB, and lost segments into smaller ones.
#[test]
fn segments_are_cut_again() {
    let mut link = Link::new(&[3000, 3000]);
    link.tti(6010, true);
    let lost = |link: &mut Link, room, lost: bool, ttis| (0..ttis).for_each(|_| link.tti(room, lost));
    lost(&mut link, 1004, true, 40);
    assert!(!link.segments.is_empty() && link.delivered.is_empty());
    lost(&mut link, 104, false, 100);
    assert!(link.is_done() && link.segments_of_segments >= 10, "{}", link.segments_of_segments);
    assert_eq!(link.delivered, [0, 1]);
}

/// A lost last PDU costs one t-PollRetransmit.
#[test]
fn a_lost_last_pdu_costs_one_poll() {
    for protocol in [Protocol::Lte, Protocol::Nr] {
        let mut bearer = Bearer::new(Params::default(), protocol);
        let lost = Slot { arriving: [1000, 0], grants: [2000; 2], chances: [Chance::Lost; 2] };
        bearer.tti(0, lost);
        // The poll is sent again t-PollRetransmit after the first one and arrives a TTI later.
        let expected = Params::default().poll_retransmit.0 / Tti::SPAN.0;
        assert_eq!((bearer.drain(1), expected), (20, 20));
    }
}

/// In NR, of an SDU that is sent in segments only the lost one is sent again, and what is still to be sent is not missing.
#[test]
fn nr_sends_a_lost_segment_again() {
    let params = Params { poll_pdu: 1_000_000, poll_byte: Bytes(1 << 40), ..Params::default() };
    let mut tx = Tx::new(params.clone(), Protocol::Nr, queue(Bytes(1 << 40)));
    let mut rx = Rx::new(params.clone(), Protocol::Nr);
    let mut drops = |_: Sdu, _: DropCause| unreachable!("the buffer is large");
    for number in 0..2 {
        tx.enqueue(packet(number, 3000), &mut drops);
    }
    let mut delivered = Vec::new();
    let mut sent = Vec::new();
    for tti in 0..8 {
        let now = Tti(tti).start();
        let Some(pdu) = tx.transmit(now, now, Bytes(1000), &mut |sdu| rx.expect(sdu), &mut drops) else {
            break;
        };
        if sent.len() != 4 {
            rx.receive(now, pdu, &mut |sdu| delivered.push(sdu.packet.0));
        }
        // t-Reassembly runs from the first segment behind the lost one on.
        assert_eq!(rx.deadline().is_some(), sent.len() > 4, "segment {}", sent.len());
        sent.push(pdu);
    }
    let parts: Vec<_> = sent.iter().map(|pdu| (pdu.sn, pdu.end - pdu.begin, pdu.last)).collect();
    let first = 1000 - 3 - 3;
    let other = 1000 - 5 - 3;
    let whole = 3003 - first - 2 * other;
    let sdu = |sn| [(sn, first, false), (sn, other, false), (sn, other, false), (sn, whole, true)];
    assert_eq!(parts, [sdu(0), sdu(1)].concat());
    assert_eq!(delivered, [0]);
    let later = rx.deadline().expect("t-Reassembly runs");
    rx.expire(later);
    let mut status = Status::default();
    assert!(rx.send_status(later, Bytes(100), &mut status).is_some());
    tx.on_status(&status);
    let again = tx.transmit(later, later, Bytes(2000), &mut |_| unreachable!(), &mut drops);
    let again = again.expect("a segment is missing");
    assert_eq!((again.sn, again.begin, again.end), (1, sent[4].begin, sent[4].end));
    rx.receive(later, again, &mut |sdu| delivered.push(sdu.packet.0));
    assert_eq!(delivered, [0, 1]);
}

//! Both ends together, whatever happens in between.

use super::{Conduct, Params, WINDOW};
use crate::rlc::tests::{packet, queue};
use crate::rlc::{BufferStatus, Content, DropCause, OneWay, PROCESSES, Sdu};
use crate::settings::{Rlc, RlcMode};
use airwnd_units::{Bytes, Tti};
use proptest::prelude::*;
use std::collections::VecDeque;

/// What becomes of a block.
#[derive(Clone, Copy, Debug)]
enum Chance {
    Lost,
    /// It comes after so many TTIs.
    Late(u8),
}

/// What happens in a TTI: SDUs arrive, both directions have a block.
#[derive(Clone, Copy, Debug)]
struct Slot {
    arriving: [u64; 2],
    grants: [u64; 2],
    chances: [Chance; 2],
}

fn slots(least_grant: u64) -> impl Strategy<Value = Vec<Slot>> {
    let chance = || prop_oneof![2 => Just(Chance::Lost), 5 => (0u8..7).prop_map(Chance::Late)];
    let sdus = || prop_oneof![1 => Just(0), 1 => 1u64..3000];
    let slot = ((sdus(), sdus()), (least_grant..4000, least_grant..4000), (chance(), chance()));
    let slot = slot.prop_map(|(arriving, grants, chances)| Slot {
        arriving: arriving.into(),
        grants: grants.into(),
        chances: chances.into(),
    });
    prop::collection::vec(slot, 1..200)
}

struct Bearer {
    ways: [OneWay; 2],
    /// Decoded blocks under way, by the TTI in which they arrive.
    air: [VecDeque<(u64, Content)>; 2],
    sent: [Vec<u32>; 2],
    delivered: [Vec<u32>; 2],
    most_in_window: u64,
}

impl Bearer {
    fn new(params: Params) -> Bearer {
        let rlc = Rlc { mode: RlcMode::Am, am: params, ..Rlc::default() };
        let way = || OneWay::new(&rlc, queue(Bytes(1 << 40)));
        Bearer {
            ways: [way(), way()],
            air: Default::default(),
            sent: Default::default(),
            delivered: Default::default(),
            most_in_window: 0,
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
            let told = (way == 1).then(|| own.reported(now, other));
            if told.is_some_and(|told| told == BufferStatus::default()) {
                continue;
            }
            // A process is free again when its block has come.
            let process = (tti % u64::from(PROCESSES)) as u8;
            let content = own.transmit(now, Bytes(slot.grants[way]), process, other, told, &mut events);
            if let (Some(content), Chance::Late(ttis)) = (content, slot.chances[way]) {
                self.air[way].push_back((tti + 1 + u64::from(ttis), content));
            }
            if let OneWay::Am(own) = own {
                self.most_in_window = self.most_in_window.max(own.in_window());
            }
        }
    }

    /// The channel is good from now on; the TTIs until all is delivered.
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
    /// Whatever is lost and late, and however the blocks' sizes change: each SDU is delivered once and in order, and
    /// nothing stalls.
    #[test]
    fn every_sdu_is_delivered_once_and_in_order(slots in slots(20)) {
        let mut bearer = Bearer::new(Params { conduct: Conduct::Standard, ..Params::default() });
        for (tti, slot) in (0..).zip(&slots) {
            bearer.tti(tti, *slot);
            for way in 0..2 {
                prop_assert!(bearer.sent[way].starts_with(&bearer.delivered[way]));
            }
        }
        bearer.drain(slots.len() as u64);
        prop_assert!(bearer.most_in_window <= WINDOW);
    }

    /// The same of ns-3's habits, whose blocks must not become smaller than what was sent.
    #[test]
    fn ns3_delivers_it_too(slots in slots(4000 - 1)) {
        let mut bearer = Bearer::new(Params::default());
        for (tti, slot) in (0..).zip(&slots) {
            bearer.tti(tti, *slot);
        }
        bearer.drain(slots.len() as u64);
        prop_assert!(bearer.most_in_window <= WINDOW);
    }

    /// RLC may be established anew at any time: nothing is lost, nothing comes twice.
    #[test]
    fn it_may_begin_anew(slots in slots(20), again in 1usize..40) {
        let mut bearer = Bearer::new(Params { conduct: Conduct::Standard, ..Params::default() });
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

/// A lost last PDU costs one t-PollRetransmit.
#[test]
fn a_lost_last_pdu_costs_one_poll() {
    let mut bearer = Bearer::new(Params { conduct: Conduct::Standard, ..Params::default() });
    let lost = Slot { arriving: [1000, 0], grants: [2000; 2], chances: [Chance::Lost; 2] };
    bearer.tti(0, lost);
    // The poll goes out again t-PollRetransmit after it was sent, and is there a TTI later.
    let expected = Params::default().poll_retransmit.0 / Tti::SPAN.0;
    assert_eq!((bearer.drain(1), expected), (20, 20));
}

//! Properties of every queue discipline under random arrivals and departures.

use airwnd_catalog::{Node, Param};
use airwnd_kernel::{Codepoint, Key, Stream};
use airwnd_links::aqm::{Cause, QueueContext, QueueEvents, Spec, Waiting};
use airwnd_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Final state of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Sent,
    Dropped,
    Expired,
}

#[derive(Default)]
struct Ends(BTreeMap<u32, End>);

impl Ends {
    fn note(&mut self, packet: u32, end: End) {
        assert_eq!(self.0.insert(packet, end), None, "packet {packet} has one final state");
    }
}

impl QueueEvents for Ends {
    fn dropped(&mut self, packet: Waiting, _cause: Cause) {
        self.note(packet.packet.0, End::Dropped);
    }
    fn marked(&mut self, _packet: Key) {}
}

/// Arrival of a packet, while the owner holds `held` bytes of an earlier one; departure; or expiry of packets that have
/// waited for the lifetime.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { size: u64, held: u64, flow: u32, ecn: Codepoint },
    Leave,
    Expire { lifetime_us: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let ecn = prop::sample::select(vec![Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce]);
    let held = prop_oneof![3 => Just(0), 1 => 1u64..1500];
    prop_oneof![
        12 => (40u64..1500, held, 0u32..5, ecn).prop_map(|(size, held, flow, ecn)| Step::Arrive { size, held, flow, ecn }),
        9 => Just(Step::Leave),
        1 => (0u64..50_000).prop_map(|lifetime_us| Step::Expire { lifetime_us }),
    ]
}

const PACKETS: u64 = 30;

/// Disciplines that keep packets in order.
const IN_ORDER: [&str; 11] = [
    "drop-tail",
    "drop-head",
    "red",
    "gentle-red",
    "adaptive-red",
    "smred",
    "blue",
    "avq",
    "codel",
    "pie",
    "cobalt",
];

fn check(kind: &str, steps: &[(u64, Step)], rate: Option<BitRate>) -> Result<(), TestCaseError> {
    let toml = format!("kind = \"{kind}\"\npackets = {PACKETS}\nbuffer = \"20000B\"\n");
    let spec = Spec::read(&Node::from_toml(&toml, "test").unwrap()).unwrap();
    prop_assert_eq!(spec.check_values(), Ok(()));
    let mut queue =
        spec.build(&QueueContext { stream: Stream::new(7, kind), rate, identity: Default::default() });
    let (mut ends, mut now, mut arrived) = (Ends::default(), Time::ZERO, 0);
    let mut sent = Vec::new();
    for (gap, step) in steps {
        now += Span::from_micros(*gap);
        match *step {
            Step::Arrive { size, held, flow, ecn } => {
                let packet = Waiting { packet: Key(arrived), size: Bytes(size), arrived: now, flow, ecn };
                queue.enqueue(now, packet, Bytes(held), &mut ends);
                arrived += 1;
                prop_assert!(queue.backlog().packets <= PACKETS, "{}", kind);
                prop_assert!(queue.backlog().bytes <= Bytes(20_000), "{}", kind);
            }
            Step::Leave => {
                if let Some(packet) = queue.dequeue(now, &mut ends) {
                    ends.note(packet.packet.0, End::Sent);
                    sent.push(packet.packet.0);
                } else {
                    prop_assert!(
                        queue.backlog().packets == 0,
                        "{} returns a packet unless it is empty",
                        kind
                    );
                }
            }
            Step::Expire { lifetime_us } => {
                let lifetime = Span::from_micros(lifetime_us);
                queue.expire(now, lifetime, &mut |packet| {
                    assert!(now.since(packet.arrived) >= lifetime);
                    ends.note(packet.packet.0, End::Expired);
                });
                let is_stale = |packet: &Waiting| now.since(packet.arrived) >= lifetime;
                prop_assert!(!IN_ORDER.contains(&kind) || !queue.inside().any(is_stale), "{}", kind);
            }
        }
        let backlog = queue.backlog();
        let inside: Vec<&Waiting> = queue.inside().collect();
        prop_assert_eq!(inside.len() as u64, backlog.packets, "{}", kind);
        prop_assert_eq!(
            inside.iter().fold(Bytes::ZERO, |sum, one| sum + one.size),
            backlog.bytes,
            "{}",
            kind
        );
        prop_assert_eq!(
            ends.0.len() + inside.len(),
            arrived as usize,
            "{}: each packet is accounted for",
            kind
        );
        prop_assert!(inside.iter().all(|packet| !ends.0.contains_key(&packet.packet.0)), "{}", kind);
    }
    if IN_ORDER.contains(&kind) {
        prop_assert!(sent.is_sorted(), "{}: first come, first served", kind);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_packet_has_one_final_state_and_no_queue_exceeds_its_limit(
        steps in prop::collection::vec((0u64..3000, step()), 1..400),
        rate in prop::option::of(100_000u64..50_000_000),
    ) {
        for kind in Spec::built_in() {
            check(&kind, &steps, rate.map(BitRate))?;
        }
    }
}

//! Stepping a network from outside: packets enter at any time, and the step size does not change results.

use airwnd_catalog::{Node, Param};
use airwnd_cell::{BearerId, BearerSetup, CellSite, Crew, Ran, RanSetup, UeSite, handover, mobility};
use airwnd_kernel::{Codepoint, Direction, Key, Stream};
use airwnd_links::aqm::{self, QueueContext};
use airwnd_links::link::wifi::Medium;
use airwnd_links::link::{Impairments, Link, Managed, Police, Queue, Server, wire::Wire};
use airwnd_links::loss;
use airwnd_network::{Access, Cause, Duplex, Hop, Network, OneWay, Outcome, Packet, Topology};
use airwnd_phy::{Position, antenna};
use airwnd_units::{BitRate, Bytes, Db, Dbm, Degrees, Metres, Span, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

const DEVICES: u32 = 3;
/// Bearers of a device; the sizes of packets distribute them among these.
const BEARERS: u32 = 2;

fn read<T: Param>(toml: &str) -> T {
    T::read(&Node::from_toml(toml, "test").unwrap()).unwrap()
}

fn wire(mbps: u64, delay: Span, queue: Queue) -> Link<Key> {
    Link::new(Server::Wire(Wire::new(BitRate(mbps * 1_000_000), Bytes(2))), delay, queue)
}

fn duplex(name: &str, one_way: impl Fn(Direction) -> OneWay) -> Duplex {
    Duplex { name: name.into(), owner: None, down: one_way(Direction::Down), up: one_way(Direction::Up) }
}

/// A fast server link, a narrow link behind CoDel or drop-tail with marks and losses; optionally an 802.11 channel, and
/// two cells between which UEs drive.
#[derive(Clone, Copy, Debug)]
struct Plan {
    managed: bool,
    wifi: bool,
    cells: bool,
    /// The narrow link jitters, reorders, duplicates and polices.
    impaired: bool,
    seed: u64,
}

impl Plan {
    /// Unacknowledged mode detects a lost PDU by the next one: a bearer's last PDU may stay open indefinitely.
    fn max_open_at_end(self) -> usize {
        if self.cells { (2 * DEVICES * BEARERS) as usize } else { 0 }
    }

    fn build(self) -> Network<u64> {
        let plain = |mbps, delay| OneWay::Plain(wire(mbps, delay, Queue::default()));
        let mut topology = Topology::new(duplex("server", |_| plain(1000, Span::from_millis(10))));
        let narrow = duplex("narrow", |direction| {
            let stream = Stream::new(self.seed, "narrow").child(direction as u64);
            let delay = Span::from_millis(3);
            let impair = |link: Link<Key>| {
                let impairments = Impairments::new(
                    Some(&read("time = \"4ms\"\ndistribution = \"normal\"")),
                    Some(&read("probability = 0.1")),
                    Some(&read("probability = 0.2")),
                    stream.child(1),
                );
                let police: Police = read("rate = \"4Mbit/s\"\nburst = \"10kB\"");
                match self.impaired {
                    true => link.impaired(impairments.unwrap()).policed(&police),
                    false => link,
                }
            };
            if self.managed {
                let codel: aqm::Spec = read("kind = \"codel\"");
                let rate = Some(BitRate(6_000_000));
                let queue = codel.build(&QueueContext { stream, rate, identity: Default::default() });
                OneWay::Managed(Managed::new(impair(wire(6, delay, Queue::default())), queue, 1))
            } else {
                let queue = Queue { packets: Some(20), mark_above: Some(10), ..Queue::default() };
                let losing: loss::Spec = read("kind = \"packet-error\"\nrate = 0.01");
                OneWay::Plain(impair(wire(6, delay, queue)).losing(losing.build(stream, Time::ZERO)))
            }
        });
        let narrow = Hop::Link(topology.add_link(narrow));
        let medium = self.wifi.then(|| {
            let queue = Queue { packets: Some(30), ..Queue::default() };
            let medium = Medium::new(read(""), queue, Stream::new(self.seed, "backoff"));
            topology.add_medium("wifi".into(), None, medium)
        });
        if self.cells {
            let ran = Box::new(Ran::new(&ran(self.seed), Crew::default()).unwrap());
            let fast = |_| plain(10_000, Span::ZERO);
            let slow = |_| plain(10_000, Span::from_millis(4));
            let s1u = (0..2).map(|_| topology.add_link(duplex("s1u", fast))).collect();
            let x2 = (0..2).map(|_| topology.add_link(duplex("x2", slow))).collect();
            let forwarding = handover::Forwarding::Waiting;
            topology.set_access(Access { ran, s1u, x2: Some(x2), forwarding });
        }
        for _ in 0..DEVICES {
            let mut via = vec![narrow];
            via.extend(medium.map(|medium| {
                let no_loss =
                    || read::<loss::Spec>("kind = \"none\"").build(Stream::new(0, "none"), Time::ZERO);
                Hop::Medium { medium, station: topology.medium_mut(medium).join(no_loss(), no_loss()) }
            }));
            let own = self.managed.then(|| {
                let paced = |_| {
                    let link =
                        Link::new(Server::paced(Some(BitRate(3_000_000))), Span::ZERO, Queue::default());
                    let fifo: aqm::Spec = read("kind = \"drop-tail\"\npackets = 20");
                    let context = QueueContext {
                        stream: Stream::new(0, "none"),
                        rate: None,
                        identity: Default::default(),
                    };
                    OneWay::Managed(Managed::new(link, fifo.build(&context), 0))
                };
                topology.add_link(duplex("own", paced))
            });
            topology.add_device(&via, own);
        }
        Network::new(topology, ())
    }
}

/// Two cells 400 m apart; the UEs start between them and drive towards the second. With odd seeds they sleep.
fn ran(seed: u64) -> RanSetup {
    let sleep = seed % 2 == 1;
    let cell = |site: u32| CellSite {
        site,
        position: Position::new(400.0 * f64::from(site), 0.0, 30.0),
        boresight: Degrees(0.0),
        antenna: antenna::Spec::Isotropic(Default::default()),
        power: Dbm(30.0),
        noise_figure: Db(5.0),
    };
    let ue = |number: u64| UeSite {
        position: Position { x: Metres(150.0 + 40.0 * number as f64), y: Metres(20.0), z: Metres(1.5) },
        mobility: read::<mobility::Spec>(
            "kind = \"constant-velocity\"\nspeed = \"60m/s\"\ndirection = \"0deg\"",
        ),
        way: Stream::new(seed, "mobility").child(number),
        noise_figure: Db(9.0),
        cell: None,
        srs_offset: None,
        configured_grant: None,
        replay: None,
        carriers: 1,
        bearers: vec![BearerSetup::default(); BEARERS as usize].into(),
    };
    RanSetup {
        carrier: Default::default(),
        radio: read("position_period = \"20ms\""),
        mac: read(if sleep {
            "retx_bsr_timer = \"320ms\"\ndrx = {cycle = \"80ms\", inactivity = \"10ms\"}"
        } else {
            "retx_bsr_timer = \"320ms\""
        }),
        rlc: read("queue = {kind = \"drop-tail\", buffer = \"30kB\"}"),
        rrc: sleep.then(|| read("inactivity = \"60ms\"\npromotion = \"20ms\"\npaging_cycle = \"40ms\"")),
        handover: read("algorithm = \"a3-rsrp\""),
        x2_delay: Span::from_millis(4),
        cells: (0..2).map(cell).collect(),
        copies: Vec::new(),
        ues: (0..u64::from(DEVICES)).map(ue).collect(),
        seed,
    }
}

/// A packet to send: gap in nanoseconds since the previous one, device, whether uplink, size in bytes, whether
/// ECN-capable.
type Injection = (u64, u32, bool, u64, bool);

fn injections() -> impl Strategy<Value = Vec<Injection>> {
    let one = (0u64..4_000_000, 0..DEVICES, any::<bool>(), 40u64..1500, any::<bool>());
    prop::collection::vec(one, 1..400)
}

fn plans() -> impl Strategy<Value = Plan> {
    let bools = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (bools, 0u64..1000).prop_map(|((managed, wifi, cells, impaired), seed)| Plan {
        managed,
        wifi,
        cells,
        impaired,
        seed,
    })
}

/// Runs the network and returns all outcomes in chronological order. Every downlink packet that arrives is answered by
/// a small one.
fn run(plan: Plan, injections: &[Injection], steps: impl Fn(Time) -> Time) -> Vec<(Time, Outcome<u64>)> {
    let mut network = plan.build();
    let mut outcomes = Vec::new();
    let mut at = Time::ZERO;
    let mut answers = 1 << 32;
    let mut advance_to = |network: &mut Network<u64>, from: Time, to: Time, outcomes: &mut Vec<_>| {
        let mut reached = from;
        while reached < to {
            reached = steps(reached).min(to);
            while let Some(now) = network.advance(reached) {
                while let Some(outcome) = network.next_outcome() {
                    outcomes.push((now, outcome));
                    if let Outcome::Delivered(packet @ Packet { direction: Direction::Down, .. }) = outcome {
                        answers += 1;
                        let answer =
                            Packet { direction: Direction::Up, size: Bytes(52), content: answers, ..packet };
                        network.send(now, answer);
                        while let Some(outcome) = network.poll() {
                            outcomes.push((now, outcome));
                        }
                    }
                }
            }
        }
    };
    for (number, (gap, device, up, size, capable)) in (0..).zip(injections) {
        let next = at + Span(*gap);
        advance_to(&mut network, at, next, &mut outcomes);
        at = next;
        let direction = if *up { Direction::Up } else { Direction::Down };
        let ecn = if *capable { Codepoint::Ect0 } else { Codepoint::NotEct };
        let bearer = BearerId((*size % u64::from(BEARERS)) as u8);
        network.send(
            at,
            Packet {
                device: *device,
                direction,
                bearer,
                size: Bytes(*size),
                ecn,
                flow: *device,
                content: number,
            },
        );
        while let Some(outcome) = network.poll() {
            outcomes.push((at, outcome));
        }
    }
    let end = at + Span::from_secs(2);
    advance_to(&mut network, at, end, &mut outcomes);
    let (ledger, inside) = network.balance();
    let delivered = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Delivered(_))).count();
    assert_eq!(ledger.delivered.packets, delivered as u64);
    assert!(
        inside.packets as usize <= plan.max_open_at_end(),
        "every queue drains within two seconds: {inside:?}"
    );
    outcomes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Each packet leaves exactly once and in order, on impaired links once for each copy, and only ECN-capable packets are marked. Outcomes do not depend on
    /// the owner's step: one large step, 1 ms, or 37 us.
    #[test]
    fn outcomes_do_not_depend_on_the_step_size(plan in plans(), injections in injections()) {
        let outcomes = run(plan, &injections, |_| Time(u64::MAX));
        prop_assert_eq!(&outcomes, &run(plan, &injections, |now| now + Span::from_millis(1)));
        prop_assert_eq!(&outcomes, &run(plan, &injections, |now| now + Span::from_micros(37)));
        let mut left = BTreeMap::<u64, u32>::new();
        let mut inside = BTreeMap::<u64, u32>::new();
        let mut last = BTreeMap::new();
        for (_, outcome) in &outcomes {
            let packet = match outcome {
                Outcome::Delivered(packet) => {
                    let flow = (packet.device, packet.direction, packet.bearer, packet.content >> 32);
                    let before = last.insert(flow, packet.content);
                    let in_order = before < Some(packet.content);
                    prop_assert!(plan.impaired || in_order, "{:?} overtakes {:?}", packet, before);
                    packet
                }
                Outcome::Dropped(packet, cause) => {
                    prop_assert!(*cause != Cause::RetryLimit || plan.wifi);
                    packet
                }
                Outcome::Copied(packet) => {
                    prop_assert!(plan.impaired && !left.contains_key(&packet.content));
                    *inside.entry(packet.content).or_default() += 1;
                    continue;
                }
                Outcome::Mobility(_) | Outcome::Crowded => continue,
            };
            *left.entry(packet.content).or_default() += 1;
        }
        let missing = (0..injections.len() as u64).filter(|number| !left.contains_key(number)).count();
        let copies = |number: &u64| inside.get(number).copied().unwrap_or(0);
        // A bearer may keep a copy, as it may keep a packet.
        let kept = left.iter().map(|(number, times)| (1 + copies(number)).checked_sub(*times));
        let kept = kept.sum::<Option<u32>>().map(|kept| kept as usize + missing);
        prop_assert!(kept.is_some_and(|kept| kept <= plan.max_open_at_end()), "{kept:?}");
        prop_assert!(missing <= plan.max_open_at_end(), "{missing} packets are missing");
    }
}

#[test]
fn next_event_returns_the_time_of_the_next_arrival() {
    let plan = Plan { managed: false, wifi: false, cells: false, impaired: false, seed: 1 };
    let mut network = plan.build();
    assert_eq!(network.next_event(), None);
    let packet = |content| Packet {
        device: 0,
        direction: Direction::Down,
        bearer: BearerId(0),
        size: Bytes(1248),
        ecn: Codepoint::Ect0,
        flow: 0,
        content,
    };
    network.send(Time(5), packet(0));
    // Serialization of 1250 bytes takes 10 us at 1 Gbit/s; the delay is 10 ms.
    let at_gateway = Time(5) + Span::from_micros(10) + Span::from_millis(10);
    assert_eq!(network.next_event(), Some(at_gateway));
    assert_eq!(network.advance(Time(at_gateway.0 - 1)), None);
    // Serialization takes 5/3 ms at 6 Mbit/s, rounded up to nanoseconds; the delay is 3 ms.
    let at_device = at_gateway + Span(1_666_667) + Span::from_millis(3);
    assert_eq!(network.advance(at_gateway), None);
    assert_eq!(network.next_event(), Some(at_device));
    // A packet may enter between two events.
    network.send(at_device, packet(1));
    assert_eq!(network.advance(at_device), Some(at_device));
    assert_eq!(network.next_outcome(), Some(Outcome::Delivered(packet(0))));
    assert_eq!(network.next_outcome(), None);
}

#[test]
fn a_queue_marks_ecn_capable_packets_above_its_threshold() {
    let plan = Plan { managed: false, wifi: false, cells: false, impaired: false, seed: 1 };
    let burst: Vec<Injection> = (0..18).map(|_| (0, 0, false, 1248, true)).collect();
    let outcomes = run(plan, &burst, |_| Time(u64::MAX));
    let marked = outcomes.iter().filter_map(|(_, outcome)| match outcome {
        Outcome::Delivered(packet) if packet.ecn == Codepoint::Ce => Some(packet.content),
        _ => None,
    });
    // One packet is in transmission and ten may wait before the twelfth; all packets arrive at the same instant.
    let marked: Vec<u64> = marked.collect();
    assert!(marked.iter().all(|number| *number >= 11) && marked.len() >= 6, "{marked:?}");
}

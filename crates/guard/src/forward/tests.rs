//! The programs of a router, run by the kernel with packets of our own. Nothing is attached.
//!
//! Without the privilege to load eBPF programs the message is checked instead.

use super::*;
use crate::observation::{Event, Observation};
use crate::paths::FLOWS_MAX;
use aya::maps::HashMap;
use aya::programs::{TestRun as _, TestRunOptions};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::net::Ipv4Addr;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const URG: u8 = 32;
const RECEIVER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 40_000);
const SENDER: (Ipv4Addr, u16) = (Ipv4Addr::new(198, 51, 100, 1), 443);
const ETHERNET_BYTES: usize = ETHERNET_HEADER as usize;
/// Bytes of `struct key`, `struct connection` and `struct flow`.
const KEY: usize = 40;
const CONNECTION: usize = 88;
const FLOW: usize = 168;
/// Position of the identifier in `struct flow`, and of the least RTT in `struct connection`.
const ID: usize = CONNECTION;
const LEAST_RTT: usize = 16;
/// Window field of segments without a reason for another.
const FIELD: u16 = 500;
const MSS: u16 = 1460;
/// Segment that the tests send as data, in bytes.
const LENGTH: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Receiver,
    Sender,
}

use Role::{Receiver, Sender};

#[derive(Clone, Copy, Debug)]
struct Segment {
    from: Role,
    flags: u8,
    seq: u32,
    ack: u32,
    field: u16,
    payload: u32,
    timestamps: Option<(u32, u32)>,
    /// Of a SYN.
    shift: Option<u8>,
    mss: u16,
}

impl Segment {
    /// An Ethernet frame with an IPv4 packet. Nothing depends on its checksums.
    fn frame(&self, (receiver, sender): (u16, u16)) -> Vec<u8> {
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            options.extend([2, 4]);
            options.extend(self.mss.to_be_bytes());
            options.extend(self.shift.into_iter().flat_map(|shift| [1, 3, 3, shift]));
        }
        if let Some((val, ecr)) = self.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend([val, ecr].into_iter().flat_map(u32::to_be_bytes));
        }
        let (mut source, mut destination) = ((RECEIVER.0, receiver), (SENDER.0, sender));
        if self.from == Sender {
            std::mem::swap(&mut source, &mut destination);
        }
        let mut tcp = Vec::new();
        tcp.extend([source.1, destination.1].into_iter().flat_map(u16::to_be_bytes));
        tcp.extend([self.seq, self.ack].into_iter().flat_map(u32::to_be_bytes));
        tcp.extend([(((20 + options.len()) / 4) << 4) as u8, self.flags]);
        tcp.extend([self.field, 0, 0].into_iter().flat_map(u16::to_be_bytes));
        tcp.extend(&options);
        tcp.resize(tcp.len() + self.payload as usize, 0);
        let total = (20 + tcp.len()) as u16;
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([source.0, destination.0].iter().flat_map(Ipv4Addr::octets));
        frame.extend(tcp);
        frame
    }
}

/// An Ethernet frame with its packet in a session of PPPoE instead, with this protocol of PPP.
pub(crate) fn pppoe_frame(frame: &[u8], protocol: u8) -> Vec<u8> {
    let packet = &frame[14..];
    let mut session = frame[..12].to_vec();
    session.extend([0x88, 0x64, 0x11, 0, 0, 7]);
    session.extend(((packet.len() + 2) as u16).to_be_bytes());
    session.extend([0, protocol]);
    session.extend(packet);
    session
}

/// The programs of an interface.
struct Lab {
    ebpf: Ebpf,
    maps: Maps,
    flows: HashMap<aya::maps::MapData, [u8; KEY], [u8; FLOW]>,
    connections: HashMap<aya::maps::MapData, [u8; KEY], [u8; CONNECTION]>,
    ports: (u16, u16),
    /// Whether packets are in a session of PPPoE.
    has_pppoe: bool,
}

impl Lab {
    /// Returns `None` where programs cannot be loaded.
    fn open() -> Option<Lab> {
        let mut ebpf = match Forward::load() {
            Ok(ebpf) => ebpf,
            Err(why) => {
                assert!(!why.to_string().contains('\n'), "{why}");
                return None;
            }
        };
        let mut maps = Maps::take(&mut ebpf, ETHERNET_HEADER).unwrap();
        maps.allow_until(Time(u64::MAX), Span::ZERO).unwrap();
        let flows = ebpf.take_map("flows").unwrap().try_into().unwrap();
        let connections = ebpf.take_map("connections").unwrap().try_into().unwrap();
        Some(Lab { ebpf, maps, flows, connections, ports: (RECEIVER.1, SENDER.1), has_pppoe: false })
    }

    /// Passes a segment; returns its window field afterwards.
    fn pass(&mut self, segment: &Segment) -> u16 {
        let mut frame = segment.frame(self.ports);
        let mut at = ETHERNET_BYTES + 20 + 14;
        if self.has_pppoe {
            let session = pppoe_frame(&frame, 0x21);
            at += session.len() - frame.len();
            frame = session;
        }
        let mut out = vec![0; frame.len()];
        let name = if segment.from == Sender { PROGRAMS[0].0 } else { PROGRAMS[1].0 };
        let options =
            TestRunOptions { data_in: Some(&frame), data_out: Some(&mut out), ..TestRunOptions::new() };
        classifier(&mut self.ebpf, name).test_run(options).unwrap();
        u16::from_be_bytes([out[at], out[at + 1]])
    }

    fn key(&self) -> [u8; KEY] {
        let mut key = [0; KEY];
        for (end, (at, port_at)) in [(RECEIVER.0, (0, 32)), (SENDER.0, (16, 34))] {
            key[at..at + 16].copy_from_slice(&end.to_ipv6_mapped().octets());
            let port = if at == 0 { self.ports.0 } else { self.ports.1 };
            key[port_at..port_at + 2].copy_from_slice(&port.to_be_bytes());
        }
        // The kernel runs tests on the loopback interface.
        key[36..].copy_from_slice(&links::index("lo").expect("an interface").to_ne_bytes());
        key
    }

    /// Entry of a connection without data.
    fn connection(&self) -> Option<[u8; CONNECTION]> {
        self.connections.get(&self.key(), 0).ok()
    }

    /// Entry of the connection as a flow; `None`: it is no flow.
    fn flow(&self) -> Option<[u8; FLOW]> {
        self.flows.get(&self.key(), 0).ok()
    }

    /// Lowers the window of the flow from now on.
    fn limit(&mut self, window: u64) {
        let flow = u64::from_ne_bytes(*self.flow().expect("a flow")[ID..].first_chunk().unwrap());
        self.maps.limit(flow, window);
    }

    /// Forgets the RTT of the handshake, of which a part passes between two reports: it is this machine's time.
    fn forget_rtt(&mut self) {
        let mut connection = self.connection().expect("a handshake");
        connection[LEAST_RTT..LEAST_RTT + 4].fill(0);
        self.connections.insert(self.key(), connection, 0).unwrap();
    }

    /// Everything that the programs have reported since the last call.
    fn reports(&mut self) -> Vec<Observation> {
        let mut all = Vec::new();
        while self.maps.observe(|seen| {
            all.push(seen.clone());
            None
        }) {}
        all
    }
}

/// The two ends of a connection, as RFC 9293 describes them, without any delay between them.
#[derive(Clone, Debug)]
struct Ends {
    receiver: End,
    sender: End,
    has_timestamps: bool,
    /// Ticks of both clocks.
    clock: u32,
}

#[derive(Clone, Copy, Debug)]
struct End {
    isn: u32,
    /// Next byte to be sent, and next byte that is expected.
    nxt: u32,
    rcv_nxt: u32,
    /// Bytes that it offers, the most it has offered, and the right edge that its peer knows.
    window: u32,
    largest: u32,
    edge: u32,
    shift: u8,
    /// TS.Recent
    recent: u32,
    /// Newest TSval sent.
    val: u32,
    offset: u32,
}

impl Ends {
    fn new(receiver: u32, sender: u32, shift: u8, has_timestamps: bool) -> Ends {
        let end = |isn: u32, peer: u32, shift, offset| End {
            isn,
            nxt: isn,
            rcv_nxt: peer.wrapping_add(1),
            window: u32::from(FIELD) << shift,
            largest: 0,
            edge: 0,
            shift,
            recent: 0,
            val: 0,
            offset,
        };
        let offset = receiver.rotate_left(7);
        Ends {
            receiver: end(receiver, sender, shift, offset),
            sender: end(sender, receiver, 7, !offset),
            has_timestamps,
            clock: 0,
        }
    }

    fn pair(&mut self, from: Role) -> (&mut End, &mut End) {
        match from {
            Receiver => (&mut self.receiver, &mut self.sender),
            Sender => (&mut self.sender, &mut self.receiver),
        }
    }

    /// A segment that the end sends now.
    fn segment(&mut self, from: Role, flags: u8, payload: u32) -> Segment {
        let (clock, has_timestamps) = (self.clock, self.has_timestamps);
        let (own, _) = self.pair(from);
        own.val = clock.wrapping_add(own.offset);
        Segment {
            from,
            flags,
            seq: own.nxt,
            ack: if flags & ACK == 0 { 0 } else { own.rcv_nxt },
            field: (own.window >> own.shift) as u16,
            payload,
            timestamps: has_timestamps.then_some((own.val, own.recent)),
            shift: None,
            mss: MSS,
        }
    }

    /// Whether the end to which a segment goes refuses it: RFC 9293 §3.10.7.4, RFC 5961 §3 to §5, RFC 7323 §5.
    fn refuses(&mut self, segment: &Segment) -> bool {
        let has_timestamps = self.has_timestamps;
        let (from, to) = self.pair(segment.from);
        let (from, to) = (*from, *to);
        let after = |a: u32, b: u32| a.wrapping_sub(b).cast_signed() > 0;
        if segment.flags & SYN != 0 {
            return true;
        }
        if segment.flags & RST != 0 {
            return segment.seq != to.rcv_nxt;
        }
        let length = segment.payload + u32::from(segment.flags & FIN);
        let offset = segment.seq.wrapping_sub(to.rcv_nxt);
        let last = offset.wrapping_add(length).wrapping_sub(1);
        let window = to.edge.wrapping_sub(to.rcv_nxt);
        let is_inside = match length {
            // All that was offered may be under way.
            0 => offset <= window,
            _ => offset < window || last < window,
        };
        let has_old_clock = |(val, _): (u32, u32)| has_timestamps && after(to.recent, val);
        // A value that was never sent cannot be echoed.
        let is_no_echo = |(_, ecr): (u32, u32)| has_timestamps && after(ecr, to.val);
        !is_inside
            || segment.flags & ACK == 0
            || after(segment.ack, to.nxt)
            || after(from.rcv_nxt.wrapping_sub(from.largest), segment.ack)
            || segment
                .timestamps
                .is_some_and(|timestamps| has_old_clock(timestamps) || is_no_echo(timestamps))
    }

    /// Sends a segment through the router, and delivers it; returns its window field.
    fn pass(&mut self, lab: &mut Lab, segment: Segment) -> u16 {
        let field = lab.pass(&segment);
        let (from, to) = self.pair(segment.from);
        let length = segment.payload + u32::from(segment.flags & (SYN | FIN) != 0);
        from.nxt = segment.seq.wrapping_add(length);
        to.rcv_nxt = from.nxt;
        if let Some((val, _)) = segment.timestamps {
            to.recent = val;
        }
        let shift = if segment.flags & SYN == 0 { from.shift } else { 0 };
        let window = u32::from(field) << shift;
        from.largest = from.largest.max(window);
        let edge = segment.ack.wrapping_add(window);
        if edge.wrapping_sub(from.edge).cast_signed() > 0 || from.edge == 0 {
            from.edge = edge;
        }
        field
    }

    /// The receiver opens the connection, which has both ends' options.
    fn shake_hands(&mut self, lab: &mut Lab) {
        let (receiver_shift, sender_shift) = (self.receiver.shift, self.sender.shift);
        let open = self.segment(Receiver, SYN, 0);
        self.pass(lab, Segment { shift: Some(receiver_shift), field: 65_535, ..open });
        // It has not known the other sequence number yet.
        let answer = self.segment(Sender, SYN | ACK, 0);
        self.pass(lab, Segment { shift: Some(sender_shift), field: 65_535, ..answer });
        self.receiver.edge = self.receiver.rcv_nxt.wrapping_add(65_535);
        self.clock += 1;
        let ack = self.segment(Receiver, ACK, 0);
        self.pass(lab, ack);
    }

    /// Data passes, and is acknowledged; returns the window field of the ACK.
    fn transfer(&mut self, lab: &mut Lab) -> u16 {
        self.clock += 1;
        let data = self.segment(Sender, ACK, LENGTH);
        self.pass(lab, data);
        self.acknowledge(lab)
    }

    /// Receives what has been offered beyond a limit.
    fn settle(&mut self, lab: &mut Lab, transfers: usize) {
        for _ in 0..transfers {
            self.transfer(lab);
        }
    }

    fn acknowledge(&mut self, lab: &mut Lab) -> u16 {
        self.clock += 1;
        let ack = self.segment(Receiver, ACK, 0);
        self.pass(lab, ack)
    }
}

/// An established connection whose window is lowered to 20 000 bytes, of 64 000.
fn limited(lab: &mut Lab, receiver: u32, sender: u32, has_timestamps: bool) -> Ends {
    let mut ends = Ends::new(receiver, sender, 7, has_timestamps);
    ends.shake_hands(lab);
    assert!(lab.flow().is_none(), "a handshake makes no flow");
    lab.forget_rtt();
    assert_eq!(ends.transfer(lab), FIELD);
    lab.limit(20_000);
    ends.settle(lab, 60);
    assert_eq!(ends.transfer(lab), LIMITED);
    lab.reports();
    ends
}

const LIMITED: u16 = 20_000_u32.div_ceil(128) as u16;

/// A number of the connection, near one, or any.
fn near(values: Vec<u32>) -> impl Strategy<Value = u32> {
    let values = prop::sample::select(values);
    prop_oneof![
        any::<u32>(),
        (values, prop_oneof![Just(0), -3000..3000_i32, -70_000..70_000_i32, Just(i32::MIN)])
            .prop_map(|(value, by)| value.wrapping_add_signed(by)),
    ]
}

/// A segment with the addresses of a connection, from either end.
fn hostile(ends: &Ends) -> impl Strategy<Value = Segment> + use<> {
    let (receiver, sender) = (ends.receiver, ends.sender);
    let numbers = vec![receiver.isn, receiver.nxt, receiver.edge, sender.isn, sender.nxt, sender.edge, 0];
    let clocks = vec![receiver.val, receiver.recent, sender.val, sender.recent, 0];
    let flags =
        vec![ACK, ACK, SYN, SYN | ACK, RST, RST | ACK, FIN | ACK, FIN, 0, ACK | URG, SYN | RST, SYN | FIN];
    let timestamps = prop::option::weighted(0.8, (near(clocks.clone()), near(clocks)));
    (
        prop::sample::select(vec![Receiver, Sender]),
        prop::sample::select(flags),
        (near(numbers.clone()), near(numbers)),
        any::<u16>(),
        prop::sample::select(vec![0, 1, 100, 1448]),
        timestamps,
        (prop::option::of(0..=15_u8), any::<u16>()),
    )
        .prop_map(|(from, flags, (seq, ack), field, payload, timestamps, (shift, mss))| Segment {
            from,
            flags,
            seq,
            ack,
            field,
            payload,
            timestamps,
            shift,
            mss,
        })
}

/// Draws values, the same in each run.
fn draw<T: Strategy>(runner: &mut TestRunner, strategy: &T) -> T::Value {
    strategy.new_tree(runner).expect("a value").current()
}

/// Passes segments that an end refuses; returns their number.
fn attack(lab: &mut Lab, ends: &mut Ends, runner: &mut TestRunner) -> usize {
    let segments = hostile(ends);
    let refused: Vec<Segment> =
        (0..500).map(|_| draw(runner, &segments)).filter(|segment| ends.refuses(segment)).collect();
    for segment in &refused {
        let before = (lab.flow(), lab.connection());
        let field = lab.pass(segment);
        // Only an ACK within the window may be lowered, as that of data that passes at the same time.
        let offset = segment.ack.wrapping_sub(ends.receiver.rcv_nxt);
        let offered = ends.receiver.edge.wrapping_sub(ends.receiver.rcv_nxt);
        let is_lowered = segment.from == Role::Receiver && offset <= offered && field < segment.field;
        assert!(field == segment.field || is_lowered, "{field}: {segment:?} of {ends:?}");
        // A SYN and its answer by the same hand are another connection, beside the one that is known.
        let is_flow = before.0.is_some();
        let after = (lab.flow(), if is_flow { before.1 } else { lab.connection() });
        assert_eq!(after, before, "{segment:?} of {ends:?}");
    }
    assert_eq!(lab.reports().len(), 0);
    refused.len()
}

/// No segment that an end refuses changes what is known of the connection, or what is reported.
#[test]
fn what_an_end_refuses_changes_nothing() {
    let Some(mut lab) = Lab::open() else { return };
    let mut runner = TestRunner::deterministic();
    let mut refused = 0;
    for number in 0..64 {
        lab.ports.0 = 1024 + number;
        let (receiver, sender, has_timestamps) = draw(&mut runner, &any::<(u32, u32, bool)>());
        let mut ends = limited(&mut lab, receiver, sender, has_timestamps);
        refused += attack(&mut lab, &mut ends, &mut runner);
        assert_eq!(ends.transfer(&mut lab), LIMITED);
        assert_eq!(lab.reports().len(), 2, "of the data and of its ACK");
    }
    assert!(refused > 20_000, "{refused}");
}

/// The data passes on another processor at the same time.
#[test]
fn a_window_is_lowered_below_the_interface_of_ppp() {
    let Some(mut lab) = Lab::open() else { return };
    lab.has_pppoe = true;
    limited(&mut lab, 1000, 2000, true);
}

#[test]
fn an_ack_of_data_that_is_not_noted_yet_is_lowered() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = limited(&mut lab, 1 << 20, 2 << 20, true);
    let ack = ends.segment(Role::Receiver, ACK, 0);
    let early = Segment { ack: ack.ack.wrapping_add(1000), ..ack };
    assert_eq!(lab.pass(&early), LIMITED);
}

/// A later ACK may have been held up for as long as an RTT, and the echo is that of the first.
#[test]
fn only_the_first_ack_with_a_value_awaits_its_echo() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = limited(&mut lab, 1, 2, true);
    let mut acknowledged = |ticks: u32| {
        ends.clock += ticks;
        let data = ends.segment(Sender, ACK, LENGTH);
        ends.pass(&mut lab, data);
        let ack = ends.segment(Receiver, ACK, 0);
        ends.pass(&mut lab, ack);
        let reports = lab.reports();
        let report = reports.iter().rfind(|seen| seen.event == Event::Ack).expect("each ACK is reported");
        (ack.timestamps.map(|(val, _)| val), report.ack_ts_val)
    };
    let (sent, reported) = acknowledged(1);
    assert!(sent.is_some() && reported == sent);
    assert_eq!(acknowledged(0), (sent, None));
    let (sent, reported) = acknowledged(1);
    assert_eq!(reported, sent);
}

#[test]
fn what_an_end_refuses_before_the_first_data_changes_nothing() {
    let Some(mut lab) = Lab::open() else { return };
    let mut runner = TestRunner::deterministic();
    for number in 0..32 {
        lab.ports.0 = 1024 + number;
        let (receiver, sender, has_timestamps) = draw(&mut runner, &any::<(u32, u32, bool)>());
        let mut ends = Ends::new(receiver, sender, 7, has_timestamps);
        ends.shake_hands(&mut lab);
        attack(&mut lab, &mut ends, &mut runner);
        ends.transfer(&mut lab);
        lab.limit(20_000);
        ends.settle(&mut lab, 60);
        assert_eq!(ends.transfer(&mut lab), LIMITED);
        lab.reports();
    }
}

/// A host on each side agree on a connection with the addresses of one that is alive.
#[test]
fn a_handshake_by_others_displaces_no_flow_that_is_alive() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = limited(&mut lab, 1, 2, true);
    let mut others = Ends::new(1 << 30, 1 << 31, 14, true);
    let before = lab.flow();
    ends.transfer(&mut lab);
    others.shake_hands(&mut lab);
    let data = others.segment(Sender, ACK, LENGTH);
    others.pass(&mut lab, data);
    assert_eq!(others.acknowledge(&mut lab), FIELD);
    assert_ne!(before, None);
    assert_eq!(ends.transfer(&mut lab), LIMITED);
}

/// Ends of a connection: by a FIN of the sender, by a RST of either end, and in silence.
#[test]
fn ports_are_used_again_after_the_end_of_a_connection() {
    let Some(mut lab) = Lab::open() else { return };
    for (number, end) in
        ["fin", "rst of the sender", "rst of the receiver", "silence"].into_iter().enumerate()
    {
        lab.ports.0 = 1024 + number as u16;
        let mut ends = limited(&mut lab, 1, 2, true);
        let closed = |lab: &mut Lab| lab.reports().iter().filter(|seen| seen.event == Event::Closed).count();
        match end {
            "fin" => {
                let fin = ends.segment(Sender, FIN | ACK, LENGTH);
                ends.pass(&mut lab, fin);
                assert_eq!(closed(&mut lab), 0, "the receiver has not acknowledged it");
                ends.acknowledge(&mut lab);
                assert_eq!(closed(&mut lab), 1);
            }
            "silence" => {
                // As if nothing had been heard for long.
                let mut flow = lab.flow().expect("a flow");
                flow[..8].fill(0);
                let key = lab.key();
                lab.flows.insert(key, flow, 0).unwrap();
            }
            _ => {
                let from = if end.ends_with("sender") { Sender } else { Receiver };
                let rst = ends.segment(from, RST, 0);
                lab.pass(&rst);
                assert_eq!(closed(&mut lab), 1);
            }
        }
        let mut next = Ends::new(1 << 30, 1 << 31, 9, true);
        next.shake_hands(&mut lab);
        next.transfer(&mut lab);
        let window = u64::from(FIELD) << 8;
        lab.limit(window);
        next.settle(&mut lab, 400);
        assert_eq!(next.transfer(&mut lab), FIELD / 2, "{end}");
    }
}

/// A handshake whose SYN and SYN+ACK are sent again, with later timestamps, and with other options in between.
#[test]
fn a_handshake_that_is_sent_again_is_followed() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = Ends::new(70, 80, 7, true);
    let open = ends.segment(Receiver, SYN, 0);
    let open = Segment { shift: Some(7), field: 65_535, ..open };
    let spoofed = Segment { seq: 5, shift: Some(14), ..open };
    for segment in [open, spoofed, Segment { timestamps: Some((ends.receiver.val + 1000, 0)), ..open }] {
        lab.pass(&segment);
    }
    ends.clock = 1000;
    ends.shake_hands(&mut lab);
    // The answer to the first, and again.
    let answer = ends.segment(Sender, SYN | ACK, 0);
    let answer = Segment { seq: 80, shift: Some(7), ..answer };
    lab.pass(&Segment { timestamps: Some((ends.sender.val + 9, 0)), ..answer });
    ends.transfer(&mut lab);
    lab.limit(20_000);
    ends.settle(&mut lab, 60);
    assert_eq!(ends.transfer(&mut lab), LIMITED);
    assert_eq!(lab.reports()[0].min_rtt, None, "of a SYN that was sent again");
}

/// An answer without window scale, as with SYN cookies without timestamps.
#[test]
fn without_window_scale_on_one_syn_no_window_is_scaled() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = Ends::new(70, 80, 0, false);
    let open = ends.segment(Receiver, SYN, 0);
    ends.pass(&mut lab, Segment { shift: Some(7), field: 65_535, ..open });
    let answer = ends.segment(Sender, SYN | ACK, 0);
    ends.pass(&mut lab, Segment { field: 65_535, ..answer });
    ends.receiver.window = 60_000;
    ends.sender.shift = 0;
    ends.transfer(&mut lab);
    lab.limit(5000);
    ends.settle(&mut lab, 60);
    assert_eq!(ends.transfer(&mut lab), 5000);
}

/// Segments whose options are ambiguous.
#[test]
fn a_simultaneous_open_is_left_alone() {
    let Some(mut lab) = Lab::open() else { return };
    let mut ends = Ends::new(70, 80, 7, false);
    for flags in [SYN, SYN | ACK] {
        for from in [Receiver, Sender] {
            let (seq, ack) = if from == Receiver { (70, 81) } else { (80, 71) };
            let syn = ends.segment(from, flags, 0);
            lab.pass(&Segment { seq, ack, shift: Some(7), ..syn });
        }
    }
    assert_eq!(lab.connection(), None);
    (ends.receiver.nxt, ends.sender.nxt) = (71, 81);
    ends.transfer(&mut lab);
    assert_eq!(lab.flow(), None);
}

/// Connections whose ends send nothing displace no flow, and are not reported; a table of flows that is full loses
/// those that were silent for longest, and these keep their own windows.
#[test]
fn the_table_of_flows_is_bounded() {
    let Some(mut lab) = Lab::open() else { return };
    let own = lab.ports;
    let mut ends = limited(&mut lab, 1, 2, true);
    for (sends, number) in [false, true].into_iter().flat_map(|sends| (0..20_000).map(move |n| (sends, n))) {
        lab.ports = (number as u16, if sends { 444 } else { 445 });
        let mut other = Ends::new(number, number, 7, false);
        other.shake_hands(&mut lab);
        if sends {
            other.transfer(&mut lab);
        }
        if number % 500 == 0 {
            assert!(sends || lab.reports().len() <= 2, "of the first flow");
            lab.ports = own;
            assert_eq!(ends.transfer(&mut lab), LIMITED, "flow {number}");
        }
    }
    let flows = lab.flows.keys().count();
    assert!((10_000..=FLOWS_MAX).contains(&flows), "{flows}");
    // The first of them has been displaced.
    lab.ports = (0, 444);
    assert_eq!(lab.flow(), None);
    let mut other = Ends::new(0, 0, 7, false);
    (other.receiver.nxt, other.sender.nxt) = (1, 1001);
    assert_eq!(other.transfer(&mut lab), FIELD);
}

/// Data under way, any part of it acknowledged, and any change of the limit: what was offered is not taken back.
#[test]
fn the_right_edge_does_not_move_back() {
    let Some(mut lab) = Lab::open() else { return };
    let mut runner = TestRunner::deterministic();
    for number in 0..20 {
        lab.ports.0 = 1024 + number;
        let start = draw(&mut runner, &any::<u32>());
        let mut ends = Ends::new(1, start, 10, false);
        ends.receiver.window = 500 << 10;
        ends.shake_hands(&mut lab);
        ends.transfer(&mut lab);
        let (mut edge, mut sent) = (ends.receiver.edge, ends.sender.nxt);
        let mut acknowledged = sent;
        for _ in 0..500 {
            let (operation, amount) = draw(&mut runner, &(0..4, 0..200_000_u32));
            match operation {
                0 => lab.limit(u64::from(amount)),
                1 | 2 => {
                    let payload = amount.min(edge.wrapping_sub(sent)).min(1400);
                    let data = ends.segment(Sender, ACK, payload);
                    lab.pass(&Segment { seq: sent, ..data });
                    sent = sent.wrapping_add(payload);
                }
                _ => {
                    acknowledged = acknowledged.wrapping_add(amount.min(sent.wrapping_sub(acknowledged)));
                    let ack = ends.segment(Receiver, if amount % 7 == 0 { ACK | URG } else { ACK }, 0);
                    let window = u32::from(lab.pass(&Segment { ack: acknowledged, ..ack })) << 10;
                    let next = acknowledged.wrapping_add(window);
                    assert!(next.wrapping_sub(edge).cast_signed() >= 0, "{edge} {next}");
                    edge = next;
                }
            }
        }
    }
}

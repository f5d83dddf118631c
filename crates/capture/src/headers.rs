//! Packet headers as on the wire. Payloads are zeros and not included.

use crate::hosts;
use airwnd_kernel::Direction;
use airwnd_lab::tap::{Carried, Node, Sight};
use airwnd_tcp::Segment;
use airwnd_tcp::segment::Codepoint;
use std::net::Ipv4Addr;

/// Maximum length that [`packet`] writes: a tunnel's headers, IPv4, and TCP with all its options.
pub const LONGEST: usize = 40 + 20 + 60;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Initial time to live (RFC 1700, "IP time to live").
const TIME_TO_LIVE: u8 = 64;
/// UDP port of GTP-U (TS 29.281 §4.4.2.3).
const TUNNEL_PORT: u16 = 2152;
/// Experiment identifier of the window code (RFC 6994 §3); not registered.
const CODE_EXPERIMENT: u16 = 0xa120;

/// Variable fields of an IPv4 header.
struct Ip {
    from: Ipv4Addr,
    to: Ipv4Addr,
    identification: u16,
    ecn: u8,
    time_to_live: u8,
    protocol: u8,
}

/// Writes the headers of a packet as observed at a node; returns the packet's total length.
///
/// At an eNB the packet is inside its tunnel, with this sequence number.
pub fn packet(bytes: &mut Vec<u8>, sight: &Sight, tunnel_sequence: u16) -> usize {
    bytes.clear();
    let (server, ue) = (hosts::server(sight.flow), hosts::ue(sight.ue));
    let (from, to) = if sight.direction == Direction::Down { (server, ue) } else { (ue, server) };
    let (from_port, to_port) = match sight.direction {
        Direction::Down => (hosts::SERVER_PORT, hosts::ue_port(sight.flow)),
        Direction::Up => (hosts::ue_port(sight.flow), hosts::SERVER_PORT),
    };
    let in_tunnel = matches!(sight.node, Node::Enb(_));
    bytes.resize(if in_tunnel { 40 } else { 0 }, 0);
    let begin = bytes.len();
    // RFC 1812 §5.3.1: the gateway is the only router on the path.
    let routed = match sight.node {
        Node::Server | Node::Gateway => sight.direction == Direction::Up,
        Node::Enb(_) | Node::Ue(_) => sight.direction == Direction::Down,
    };
    let mut ip = Ip {
        from,
        to,
        identification: sight.identification,
        ecn: 0,
        time_to_live: TIME_TO_LIVE - u8::from(routed),
        protocol: UDP,
    };
    bytes.resize(begin + 20, 0);
    let payload = match sight.carried {
        Carried::Segment(segment) => {
            ip.protocol = TCP;
            ip.ecn = ecn_bits(segment.ecn);
            tcp(bytes, &segment, from_port, to_port);
            usize::from(segment.len)
        }
        Carried::Datagram(payload) => {
            udp(bytes, from_port, to_port, payload.0 as usize);
            payload.0 as usize
        }
        Carried::Frame { .. } => unreachable!("the bytes of a frame exist: `frame` copies them"),
    };
    let checksum_at = begin + 20 + if ip.protocol == TCP { 16 } else { 6 };
    close_transport(bytes, begin, checksum_at, &ip, payload);
    ipv4(&mut bytes[begin..], &ip, payload);
    if let Node::Enb(cell) = sight.node {
        let (gateway, enb) = (hosts::gateway(), hosts::enb(cell));
        let (from, to) = if sight.direction == Direction::Down { (gateway, enb) } else { (enb, gateway) };
        // RFC 6040 §4.1: the tunnel's ECN field is a copy.
        let outer = Ip { from, to, time_to_live: TIME_TO_LIVE, protocol: UDP, ..ip };
        tunnel(bytes, &outer, hosts::tunnel(sight.ue), tunnel_sequence, payload);
    }
    bytes.len() + payload
}

/// Adds the tunnel's headers to the bytes of a real packet if it was observed at an eNB; returns the total length.
/// `bytes` begins with 40 bytes for these headers.
pub fn frame(bytes: &mut Vec<u8>, sight: &Sight, ecn: Codepoint, tunnel_sequence: u16) -> usize {
    set_ecn(&mut bytes[40..], ecn);
    match sight.node {
        Node::Enb(cell) => {
            let (gateway, enb) = (hosts::gateway(), hosts::enb(cell));
            let (from, to) = if sight.direction == Direction::Down { (gateway, enb) } else { (enb, gateway) };
            let identification = sight.identification;
            let ecn = ecn_bits(ecn);
            let outer = Ip { from, to, identification, ecn, time_to_live: TIME_TO_LIVE, protocol: UDP };
            tunnel(bytes, &outer, hosts::tunnel(sight.ue), tunnel_sequence, 0);
        }
        Node::Server | Node::Gateway | Node::Ue(_) => drop(bytes.drain(..40)),
    }
    bytes.len()
}

/// Sets the ECN field of an IPv4 or IPv6 header and adjusts the checksum. Returns whether it had another value.
pub fn set_ecn(packet: &mut [u8], ecn: Codepoint) -> bool {
    let ecn = ecn_bits(ecn);
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 && packet[1] & 3 != ecn => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !3 | ecn;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            //= RFC 1624 §3: HC' = ~(~HC + ~m + m')
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            packet[10..12].copy_from_slice(&fold(sum).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 && packet[1] >> 4 & 3 != ecn => {
            packet[1] = packet[1] & !0x30 | ecn << 4;
        }
        _ => return false,
    }
    true
}

/// The ECN field's bits (RFC 3168 §5).
fn ecn_bits(ecn: Codepoint) -> u8 {
    match ecn {
        Codepoint::NotEct => 0,
        Codepoint::Ect1 => 1,
        Codepoint::Ect0 => 2,
        Codepoint::Ce => 3,
    }
}

/// TCP header (RFC 9293 §3.1); options are padded with zeros to a multiple of four bytes.
fn tcp(bytes: &mut Vec<u8>, segment: &Segment, from: u16, to: u16) {
    let begin = bytes.len();
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(segment.seq.0.to_be_bytes());
    bytes.extend(segment.ack.0.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(segment.window.to_be_bytes());
    bytes.extend([0; 4]);
    options(bytes, segment);
    let words = (bytes.len() - begin).div_ceil(4);
    bytes.resize(begin + 4 * words, 0);
    let offset_and_flags = (words as u16) << 12 | segment.flags.0;
    bytes[begin + 12..begin + 14].copy_from_slice(&offset_and_flags.to_be_bytes());
}

/// TCP options: RFC 9293 §3.2, RFC 7323 §2.2 and §3.2, RFC 2018 §2 and §3, RFC 6994 §3.
fn options(bytes: &mut Vec<u8>, segment: &Segment) {
    if let Some(mss) = segment.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.get().to_be_bytes());
    }
    if segment.sack_permitted {
        bytes.extend([4, 2]);
    }
    if let Some(timestamps) = segment.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(timestamps.val.to_be_bytes());
        bytes.extend(timestamps.ecr.to_be_bytes());
    }
    if let Some(shift) = segment.window_scale {
        bytes.extend([3, 3, shift]);
    }
    if let Some(code) = segment.code {
        bytes.extend([254, 5]);
        bytes.extend(CODE_EXPERIMENT.to_be_bytes());
        bytes.push(code.get());
    }
    let blocks = segment.sack.iter().filter(|block| !block.is_empty());
    let count = blocks.clone().count() as u8;
    if count > 0 {
        bytes.extend([5, 2 + 8 * count]);
    }
    for block in blocks {
        bytes.extend(block.start.0.to_be_bytes());
        bytes.extend(block.end.0.to_be_bytes());
    }
}

/// UDP header (RFC 768).
fn udp(bytes: &mut Vec<u8>, from: u16, to: u16, payload: usize) {
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(field(8 + payload));
    bytes.extend([0, 0]);
}

/// Fills in the transport checksum over header, pseudo-header and the payload's zeros.
fn close_transport(bytes: &mut [u8], ip_at: usize, checksum_at: usize, ip: &Ip, payload: usize) {
    let header = &bytes[ip_at + 20..];
    let length = (header.len() + payload) as u32;
    //= RFC 9293 §3.1
    let pseudo = sum(&ip.from.octets()) + sum(&ip.to.octets()) + u32::from(ip.protocol) + length;
    let mut checksum = fold(pseudo + sum(header));
    //= RFC 768: a zero checksum field means no checksum
    if ip.protocol == UDP && checksum == 0 {
        checksum = 0xffff;
    }
    bytes[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// IPv4 header (RFC 791 §3.1), with the don't-fragment bit: no node on the path fragments.
fn ipv4(bytes: &mut [u8], ip: &Ip, payload: usize) {
    let length = field(bytes.len() + payload);
    bytes[0] = 0x45;
    bytes[1] = ip.ecn;
    bytes[2..4].copy_from_slice(&length);
    bytes[4..6].copy_from_slice(&ip.identification.to_be_bytes());
    bytes[6] = 0x40;
    bytes[8] = ip.time_to_live;
    bytes[9] = ip.protocol;
    bytes[12..16].copy_from_slice(&ip.from.octets());
    bytes[16..20].copy_from_slice(&ip.to.octets());
    let checksum = fold(sum(&bytes[..20]));
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Fills in the 40 bytes of tunnel headers before a packet: IPv4, UDP, GTP-U.
fn tunnel(bytes: &mut [u8], outer: &Ip, identifier: u32, sequence: u16, payload: usize) {
    let inner = bytes.len() - 40 + payload;
    bytes[20..22].copy_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes[22..24].copy_from_slice(&TUNNEL_PORT.to_be_bytes());
    bytes[24..26].copy_from_slice(&field(20 + inner));
    //= TS 29.281 §5.1: version 1, GTP, with a sequence number; a G-PDU
    bytes[28] = 0x32;
    bytes[29] = 255;
    // Length after the first eight bytes, including the sequence number's four.
    bytes[30..32].copy_from_slice(&field(4 + inner));
    bytes[32..36].copy_from_slice(&identifier.to_be_bytes());
    bytes[36..38].copy_from_slice(&sequence.to_be_bytes());
    close_transport(bytes, 0, 26, outer, payload);
    ipv4(bytes, outer, payload);
}

/// Encodes a length. Saturates: a maximum-size datagram plus the tunnel headers exceeds the field.
fn field(length: usize) -> [u8; 2] {
    (length.min(usize::from(u16::MAX)) as u16).to_be_bytes()
}

/// Sum of 16-bit words (RFC 1071 §1).
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// One's complement of a sum after end-around carry.
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_lab::tap::Crossing;
    use airwnd_tcp::Seq;
    use airwnd_tcp::segment::{Flags, SackBlock, Timestamps};
    use airwnd_units::{Bytes, Span, Time};
    use std::num::{NonZeroU8, NonZeroU16};

    fn segment() -> Segment {
        Segment {
            sent_at: Time::ZERO,
            seq: Seq(0x0102_0304),
            ack: Seq(0x0506_0708),
            timestamps: None,
            sack: Default::default(),
            len: 1000,
            window: 0x1234,
            mss: None,
            window_scale: None,
            code: None,
            flags: Flags::ACK,
            ecn: Codepoint::NotEct,
            sack_permitted: false,
            retransmission: false,
        }
    }

    fn sight(node: Node, carried: Carried) -> Sight {
        Sight {
            at: Span::ZERO,
            node,
            crossing: Crossing::Out,
            flow: 0,
            ue: 0,
            direction: Direction::Down,
            identification: 7,
            carried,
        }
    }

    fn whole(sight: &Sight) -> (Vec<u8>, usize) {
        let mut bytes = Vec::new();
        let length = packet(&mut bytes, sight, 0);
        (bytes, length)
    }

    /// Verifies the checksums as a receiver does: the sum including the checksum is all ones.
    fn verifies(bytes: &[u8], at: usize, payload: usize) -> bool {
        let length = (bytes.len() - at - 20 + payload) as u32;
        let pseudo = sum(&bytes[at + 12..at + 20]) + u32::from(bytes[at + 9]) + length;
        fold(sum(&bytes[at..at + 20])) == 0 && fold(pseudo + sum(&bytes[at + 20..])) == 0
    }

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), !0xddf2);
    }

    #[test]
    fn a_segment_with_every_option_and_flag() {
        let block = |start| SackBlock { start: Seq(start), end: Seq(start + 1) };
        let every = [
            Segment {
                timestamps: Some(Timestamps { val: 1, ecr: 2 }),
                sack: [block(1), block(3), block(5)],
                ..segment()
            },
            Segment {
                flags: Flags::SYN | Flags::AE | Flags::CWR | Flags::ECE,
                len: 0,
                mss: NonZeroU16::new(1448),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { val: 1, ecr: 0 }),
                ..segment()
            },
            Segment { code: NonZeroU8::new(9), ecn: Codepoint::Ce, ..segment() },
        ];
        for segment in every {
            let (bytes, length) = whole(&sight(Node::Server, Carried::Segment(segment)));
            assert_eq!(bytes.len() as u64, segment.header_bytes().0);
            assert_eq!(length as u64, segment.wire_bytes().0);
            assert_eq!(usize::from(bytes[32] >> 4) * 4, bytes.len() - 20);
            assert_eq!(u16::from_be_bytes([bytes[32], bytes[33]]) & 0xfff, segment.flags.0);
            assert!(verifies(&bytes, 0, usize::from(segment.len)));
        }
        let (marked, _) = whole(&sight(Node::Server, Carried::Segment(every[2])));
        assert_eq!(marked[1], 3);
        assert_eq!(marked[40..45], [254, 5, 0xa1, 0x20, 9]);
    }

    #[test]
    fn a_changed_ecn_field_keeps_the_checksum_valid() {
        let (mut bytes, _) = whole(&sight(Node::Server, Carried::Segment(segment())));
        for ecn in [Codepoint::Ce, Codepoint::Ect0, Codepoint::Ect1, Codepoint::NotEct, Codepoint::Ce] {
            set_ecn(&mut bytes, ecn);
            assert_eq!(bytes[1], ecn_bits(ecn));
            assert!(verifies(&bytes, 0, 1000));
        }
        let mut six = [0_u8; 40];
        six[0] = 0x60;
        six[1] = 0x0f;
        set_ecn(&mut six, Codepoint::Ce);
        assert_eq!(six[..2], [0x60, 0x3f]);
        let mut stub = [0x45_u8; 5];
        set_ecn(&mut stub, Codepoint::Ce);
        assert_eq!(stub, [0x45; 5]);
    }

    #[test]
    fn a_frame_is_copied_and_tunnelled() {
        let (inner, _) = whole(&sight(Node::Server, Carried::Datagram(Bytes(333))));
        let observe = |node| {
            let mut bytes = [&[0; 40][..], &inner].concat();
            let carried = Carried::Frame { number: 0, ecn: Codepoint::NotEct, marked_at: None };
            let length = frame(&mut bytes, &sight(node, carried), Codepoint::NotEct, 3);
            assert_eq!(length, bytes.len());
            bytes
        };
        assert_eq!(observe(Node::Ue(0)), inner);
        let tunnelled = observe(Node::Enb(0));
        assert_eq!(tunnelled[40..], inner);
        assert!(verifies(&tunnelled, 0, 0));
    }

    #[test]
    fn a_datagram_with_an_odd_length() {
        let (bytes, length) = whole(&sight(Node::Ue(0), Carried::Datagram(Bytes(333))));
        assert_eq!((bytes.len(), length), (28, 28 + 333));
        assert_eq!(bytes[24..26], 341_u16.to_be_bytes());
        assert_eq!(bytes[8], 63, "one router on the path");
        assert!(verifies(&bytes, 0, 333));
    }

    #[test]
    fn a_tunnel_adds_forty_bytes_as_in_the_model() {
        let (inner, plain) = whole(&sight(Node::Ue(0), Carried::Segment(segment())));
        let (bytes, length) = whole(&sight(Node::Enb(0), Carried::Segment(segment())));
        assert_eq!(length, plain + 40);
        assert_eq!(bytes[40..], inner);
        assert!(verifies(&bytes, 0, 1000));
        assert_eq!(usize::from(u16::from_be_bytes([bytes[30], bytes[31]])), plain + 4);
    }
}

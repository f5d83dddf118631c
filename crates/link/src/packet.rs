//! Headers of real packets, as far as the emulator reads them.

use airwnd_kernel::Codepoint;
use airwnd_lab::Protocol;
use airwnd_units::Bytes;
use etherparse::{Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, IpNumber, IpSlice, TcpSlice, UdpSlice};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Headers of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet; bytes behind it are not part of the packet.
    pub size: Bytes,
    /// ECN field.
    pub ecn: Codepoint,
    /// Differentiated services code point (RFC 2474 §3).
    pub dscp: u8,
    /// Protocol of its flow.
    pub protocol: Protocol,
    /// Sender; port 0 if the packet has none. The identifier of a ping is the port of both ends.
    pub from: SocketAddr,
    /// Receiver.
    pub to: SocketAddr,
    /// Content as far as measurements need it.
    pub content: Content,
}

/// Content of a packet, as far as measurements use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment.
    Segment(Segment),
    /// A UDP datagram with this payload.
    Datagram(Bytes),
    /// Echo request with this sequence number and payload (RFC 792, RFC 4443 §4).
    Request(u16, Bytes),
    /// Echo reply.
    Reply(u16, Bytes),
    /// Anything else, fragments included, with this payload.
    Other(Bytes),
}

/// Header fields of a TCP segment (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; `None` without the ACK flag.
    pub ack: Option<u32>,
    /// Payload.
    pub len: u32,
    /// SYN flag.
    pub syn: bool,
    /// FIN flag.
    pub fin: bool,
    /// RST flag.
    pub rst: bool,
}

/// A packet that is not an IP packet, or whose IP header contradicts its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a complete IP packet")
    }
}

impl Packet {
    /// Reads the headers of a packet. A malformed transport header or extension header does not matter to a router:
    /// such a packet belongs to [`Protocol::Other`].
    ///
    /// # Errors
    /// No complete IPv4 or IPv6 packet.
    pub fn parse(bytes: &[u8]) -> Result<Packet, Malformed> {
        let (size, class, source, destination) = match bytes.first().map(|byte| byte >> 4) {
            Some(4) if bytes.len() >= 20 => {
                let size = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
                let header = usize::from(bytes[0] & 15) * 4;
                if header < 20 || size < header || size > bytes.len() {
                    return Err(Malformed);
                }
                (size, bytes[1], address::<4>(&bytes[12..]), address::<4>(&bytes[16..]))
            }
            Some(6) if bytes.len() >= 40 => {
                let size = 40 + usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
                if size > bytes.len() {
                    return Err(Malformed);
                }
                (size, bytes[0] << 4 | bytes[1] >> 4, address::<16>(&bytes[8..]), address::<16>(&bytes[24..]))
            }
            _ => return Err(Malformed),
        };
        let ecn =
            [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce][usize::from(class & 3)];
        let (protocol, [from, to], content) = transport(&bytes[..size]);
        Ok(Packet {
            size: Bytes(size as u64),
            ecn,
            dscp: class >> 2,
            protocol,
            from: SocketAddr::new(source, from),
            to: SocketAddr::new(destination, to),
            content,
        })
    }
}

fn address<const N: usize>(bytes: &[u8]) -> IpAddr
where
    IpAddr: From<[u8; N]>,
{
    let octets: [u8; N] = bytes[..N].try_into().expect("the header is complete");
    octets.into()
}

/// Protocol, ports of sender and receiver, and content of a packet.
fn transport(packet: &[u8]) -> (Protocol, [u16; 2], Content) {
    let whole = Content::Other(Bytes(packet.len() as u64));
    let unknown = (Protocol::Other, [0; 2], whole);
    let Ok(ip) = IpSlice::from_slice(packet) else { return unknown };
    let payload = ip.payload();
    let bytes = |bytes: &[u8]| Bytes(bytes.len() as u64);
    if payload.fragmented {
        let protocol = match payload.ip_number {
            IpNumber::TCP => Protocol::Tcp,
            IpNumber::UDP => Protocol::Udp,
            IpNumber::ICMP | IpNumber::IPV6_ICMP => Protocol::Icmp,
            _ => Protocol::Other,
        };
        return (protocol, [0; 2], Content::Other(bytes(payload.payload)));
    }
    match payload.ip_number {
        IpNumber::TCP => TcpSlice::from_slice(payload.payload).map_or(unknown, |tcp| {
            let segment = Segment {
                seq: tcp.sequence_number(),
                ack: tcp.ack().then(|| tcp.acknowledgment_number()),
                len: tcp.payload().len() as u32,
                syn: tcp.syn(),
                fin: tcp.fin(),
                rst: tcp.rst(),
            };
            (Protocol::Tcp, [tcp.source_port(), tcp.destination_port()], Content::Segment(segment))
        }),
        IpNumber::UDP => UdpSlice::from_slice(payload.payload).map_or(unknown, |udp| {
            let content = Content::Datagram(bytes(udp.payload()));
            (Protocol::Udp, [udp.source_port(), udp.destination_port()], content)
        }),
        IpNumber::ICMP => Icmpv4Slice::from_slice(payload.payload).map_or(unknown, |icmp| {
            let size = bytes(icmp.payload());
            match icmp.icmp_type() {
                Icmpv4Type::EchoRequest(echo) => ping(echo.id, Content::Request(echo.seq, size)),
                Icmpv4Type::EchoReply(echo) => ping(echo.id, Content::Reply(echo.seq, size)),
                _ => (Protocol::Icmp, [0; 2], Content::Other(size)),
            }
        }),
        IpNumber::IPV6_ICMP => Icmpv6Slice::from_slice(payload.payload).map_or(unknown, |icmp| {
            let size = bytes(icmp.payload());
            match icmp.icmp_type() {
                Icmpv6Type::EchoRequest(echo) => ping(echo.id, Content::Request(echo.seq, size)),
                Icmpv6Type::EchoReply(echo) => ping(echo.id, Content::Reply(echo.seq, size)),
                _ => (Protocol::Icmp, [0; 2], Content::Other(size)),
            }
        }),
        _ => (Protocol::Other, [0; 2], Content::Other(bytes(payload.payload))),
    }
}

fn ping(id: u16, content: Content) -> (Protocol, [u16; 2], Content) {
    (Protocol::Icmp, [id; 2], content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    fn built(builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn a_datagram_of_either_version() {
        let four = built(PacketBuilder::ipv4([100, 64, 0, 2], [100, 64, 0, 1], 64).udp(5000, 7), &[0; 9]);
        let packet = Packet::parse(&four).unwrap();
        assert_eq!((packet.size, packet.protocol, packet.ecn), (Bytes(37), Protocol::Udp, Codepoint::NotEct));
        assert_eq!(packet.from, "100.64.0.2:5000".parse().unwrap());
        assert_eq!(packet.to, "100.64.0.1:7".parse().unwrap());
        assert_eq!(packet.content, Content::Datagram(Bytes(9)));
        let mut six = built(PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(5000, 7), &[0; 9]);
        // Traffic class: DSCP 46 and CE.
        (six[0], six[1]) = (6 << 4 | 46 >> 2, (46 & 3) << 6 | 3 << 4);
        let packet = Packet::parse(&six).unwrap();
        assert_eq!((packet.size, packet.ecn, packet.dscp), (Bytes(57), Codepoint::Ce, 46));
        // Bytes behind the packet are ignored; missing ones make it malformed.
        six.extend([0; 4]);
        assert_eq!(Packet::parse(&six).unwrap().size, Bytes(57));
        assert_eq!(Packet::parse(&six[..56]), Err(Malformed));
    }

    #[test]
    fn a_malformed_transport_header_is_forwarded_as_other() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([1; 4], [2; 4], 64).tcp(1, 2, 3, 4).write(&mut bytes, &[]).unwrap();
        let header = 20 + 12;
        bytes[header] = 0x10;
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!((packet.protocol, packet.from.port()), (Protocol::Other, 0));
    }

    #[test]
    fn a_fragment_has_no_ports() {
        let mut bytes = built(PacketBuilder::ipv4([1; 4], [2; 4], 64).udp(5000, 7), &[0; 16]);
        bytes[6] = 0x20;
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!((packet.protocol, packet.from.port()), (Protocol::Udp, 0));
        assert_eq!(packet.content, Content::Other(Bytes(24)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn any_bytes_are_parsed_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000), first in 0_u8..=255) {
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            if let Ok(packet) = Packet::parse(&bytes) {
                prop_assert!(packet.size.0 as usize <= bytes.len());
                prop_assert!(packet.size.0 >= 20);
            }
        }
    }
}

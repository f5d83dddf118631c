//! Datagrams, flows and what happens to packets.

use airwnd_kernel::{Codepoint, Direction};
use airwnd_lab::Protocol;
use airwnd_network::Cause;
use std::time::Duration;

/// Content of a packet: bytes, or only their number.
///
/// The network reads neither. The tag is the owner's, for example the index of a packet in a table.
///
/// ```
/// use airwnd::Datagram;
/// assert_eq!(Datagram::from(vec![1, 2, 3]).size(), 3);
/// let empty = Datagram::of_size(1200).with_tag(7);
/// assert_eq!((empty.size(), empty.bytes(), empty.tag()), (1200, &[][..], 7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    bytes: Vec<u8>,
    size: usize,
    tag: u64,
}

impl Datagram {
    /// A datagram without bytes that occupies the network like one of this size.
    pub fn of_size(size: usize) -> Datagram {
        Datagram { bytes: Vec::new(), size, tag: 0 }
    }

    /// Returns the datagram with a tag.
    pub fn with_tag(self, tag: u64) -> Datagram {
        Datagram { tag, ..self }
    }

    /// Size in bytes, without the headers that the flow adds.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes; empty if only the size was given.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the bytes; empty if only the size was given.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The tag; 0 if none was set.
    pub fn tag(&self) -> u64 {
        self.tag
    }
}

impl From<Vec<u8>> for Datagram {
    fn from(bytes: Vec<u8>) -> Datagram {
        Datagram { size: bytes.len(), bytes, tag: 0 }
    }
}

impl From<&[u8]> for Datagram {
    fn from(bytes: &[u8]) -> Datagram {
        bytes.to_vec().into()
    }
}

/// A UE of the scenario, by its number from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ue(pub u32);

/// A flow of an owner's packets between a UE and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow(pub(crate) u32);

impl Flow {
    /// The end at the UE.
    pub fn ue(self) -> End {
        End { flow: self, side: Side::Ue }
    }

    /// The end at the server.
    pub fn server(self) -> End {
        End { flow: self, side: Side::Server }
    }

    /// Number of the flow on its path, from 0 on in the order in which flows were opened.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// A side of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The UE.
    Ue,
    /// The server.
    Server,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The flow.
    pub flow: Flow,
    /// The side.
    pub side: Side,
}

impl End {
    /// The other end of the flow.
    pub fn peer(self) -> End {
        match self.side {
            Side::Ue => self.flow.server(),
            Side::Server => self.flow.ue(),
        }
    }

    /// Direction of the packets that this end sends.
    pub fn direction(self) -> Direction {
        match self.side {
            Side::Ue => Direction::Up,
            Side::Server => Direction::Down,
        }
    }

    pub(crate) fn sender(flow: Flow, direction: Direction) -> End {
        match direction {
            Direction::Up => flow.ue(),
            Direction::Down => flow.server(),
        }
    }
}

/// Properties of a flow.
///
/// Packet filters of a scenario's dedicated bearers, and queue disciplines with a queue for each flow, use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowOptions {
    /// Protocol.
    pub protocol: Protocol,
    /// Bytes of the headers that every packet has in addition to the datagram.
    pub headers: usize,
    /// Ports of the UE's end and of the server's end.
    pub ports: Option<[u16; 2]>,
    /// Differentiated services code point, from 0 to 63.
    pub dscp: u8,
}

impl FlowOptions {
    /// UDP over IPv4, whose headers have 28 bytes (RFC 791, RFC 768): datagrams are UDP payloads.
    pub const fn udp() -> FlowOptions {
        FlowOptions { protocol: Protocol::Udp, headers: 28, ports: None, dscp: 0 }
    }

    /// A flow of this protocol whose datagrams are whole IP packets, to which no headers are added.
    pub const fn ip(protocol: Protocol) -> FlowOptions {
        FlowOptions { protocol, headers: 0, ports: None, dscp: 0 }
    }

    /// Sets the ports of the UE's end and of the server's end.
    pub const fn with_ports(self, ue: u16, server: u16) -> FlowOptions {
        FlowOptions { ports: Some([ue, server]), ..self }
    }

    /// Sets the differentiated services code point.
    pub const fn with_dscp(self, dscp: u8) -> FlowOptions {
        FlowOptions { dscp, ..self }
    }
}

impl Default for FlowOptions {
    fn default() -> FlowOptions {
        FlowOptions::udp()
    }
}

/// A packet that has left the network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Time at which it left.
    pub at: Duration,
    /// Time at which it was sent.
    pub sent_at: Duration,
    /// End to which it was sent.
    pub to: End,
    /// ECN field, which queues may have marked.
    pub ecn: Codepoint,
    /// Time at which a queue marked it; `None`: none did.
    pub marked_at: Option<Duration>,
    /// The datagram as it was sent.
    pub datagram: Datagram,
    /// Whether it was delivered.
    pub fate: Fate,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has reached its destination.
    Delivered,
    /// It was dropped or lost.
    Dropped(Cause),
}

//! Packets, and their outcomes.

use crate::ledger::Cause;
use crate::legs::Leg;
use crate::node::Node;
use airwnd_cell::{BearerId, Notice};
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::Waiting;
use airwnd_units::{Bytes, Time};

/// An IP packet with content of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<C> {
    /// Number of the device (UE) that receives or sends it.
    pub device: u32,
    /// Downlink: to the device; uplink: from the device.
    pub direction: Direction,
    /// Bearer of the device, where the packet crosses the air.
    pub bearer: BearerId,
    /// Size with the IP header, without the framing of links.
    pub size: Bytes,
    /// The ECN field of the IP header. Queues set it to [`Codepoint::Ce`] where it is ECN-capable.
    pub ecn: Codepoint,
    /// Hash of addresses, protocol and ports, or a number in its place; fair queues classify by it.
    pub flow: u32,
    /// Opaque content.
    pub content: C,
}

impl<C> Packet<C> {
    /// Returns the sending node.
    pub fn source(&self) -> Node {
        match self.direction {
            Direction::Down => Node::Server,
            Direction::Up => Node::Ue(self.device),
        }
    }

    /// Returns the receiving node.
    pub fn destination(&self) -> Node {
        match self.direction {
            Direction::Down => Node::Ue(self.device),
            Direction::Up => Node::Server,
        }
    }
}

/// Outcome of a packet, or a notification about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<C> {
    /// The packet reached its destination. An `ecn` of [`Codepoint::Ce`] on an ECN-capable packet is a mark by a queue
    /// on the route.
    Delivered(Packet<C>),
    /// The packet was dropped or lost.
    Dropped(Packet<C>, Cause),
    /// A link has made a copy of the packet: both are inside, and each has an outcome of its own later.
    Copied(Packet<C>),
    /// A device changed cells, failed to change cells, or lost its radio link.
    Mobility(Notice),
    /// More packets are inside than [`limit_packets`](crate::Network::limit_packets) allows; all of them continue.
    Crowded,
}

/// A packet in the network, with its position on the route.
// Aligned to cache lines: of a packet with a TCP segment, whose 128 bytes would be in three lines, a hop reads one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct InFlight<C> {
    pub packet: Packet<C>,
    /// Index of its next hop in the list of all routes' hops.
    pub next_hop: u32,
    /// Leg behind the gateway; `None` if devices do not change cells.
    pub leg: Option<Leg>,
}

impl<C> InFlight<C> {
    /// Memory per packet: the packet, its key in the list of free slots, and its entry in a queue.
    pub const BYTES: usize = size_of::<Option<InFlight<C>>>() + size_of::<Key>() + size_of::<Waiting>();

    /// Returns the packet as an entry of a queue that it enters now.
    pub fn waiting(&self, now: Time, key: Key) -> Waiting {
        let Packet { size, flow, ecn, .. } = self.packet;
        Waiting { packet: key, size, arrived: now, flow, ecn }
    }
}

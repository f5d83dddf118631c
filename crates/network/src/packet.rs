//! Packets, and how they leave the network.

use crate::ledger::Cause;
use crate::legs::Leg;
use crate::node::Node;
use airwnd_cell::Notice;
use airwnd_kernel::{Codepoint, Direction, Key};
use airwnd_links::aqm::Waiting;
use airwnd_units::{Bytes, Time};

/// An IP packet with a content of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<C> {
    /// Number of the device (UE) that it goes to or comes from.
    pub device: u32,
    /// Downlink: to the device; uplink: from it.
    pub direction: Direction,
    /// Size with the IP header, without the framing of links.
    pub size: Bytes,
    /// The ECN field of the IP header. Queues set it to [`Codepoint::Ce`] where it is ECN-capable.
    pub ecn: Codepoint,
    /// A hash of addresses, protocol and ports, or a number that stands for them: what fair queues classify by.
    pub flow: u32,
    /// What the network carries without looking at it.
    pub content: C,
}

impl<C> Packet<C> {
    /// The node that sends it.
    pub fn source(&self) -> Node {
        match self.direction {
            Direction::Down => Node::Server,
            Direction::Up => Node::Ue(self.device),
        }
    }

    /// The node that it is sent to.
    pub fn destination(&self) -> Node {
        match self.direction {
            Direction::Down => Node::Ue(self.device),
            Direction::Up => Node::Server,
        }
    }
}

/// How a packet left the network, or what its owner may want to know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<C> {
    /// It reached the end it was sent to. Where `ecn` is [`Codepoint::Ce`] a queue on the route has marked it.
    Delivered(Packet<C>),
    /// It was dropped.
    Dropped(Packet<C>, Cause),
    /// A device changed cells, failed to, or lost its radio link.
    Mobility(Notice),
    /// There are more packets than [`limit_packets`](crate::Network::limit_packets) allows; they go on nevertheless.
    Crowded,
}

/// A packet on its route.
#[derive(Debug)]
pub(crate) struct InFlight<C> {
    pub packet: Packet<C>,
    /// Index of its next hop among those of all routes.
    pub next_hop: u32,
    /// Where it is going behind the gateway, if devices change cells.
    pub leg: Option<Leg>,
}

impl<C> InFlight<C> {
    /// What a packet takes: itself, its key in the list of free places, and its entry in a queue.
    pub const BYTES: usize = size_of::<Option<InFlight<C>>>() + size_of::<Key>() + size_of::<Waiting>();

    /// The packet as an entry of a queue that it enters now.
    pub fn waiting(&self, now: Time, key: Key) -> Waiting {
        let Packet { size, flow, ecn, .. } = self.packet;
        Waiting { packet: key, size, arrived: now, flow, ecn }
    }
}

//! Per-node observation of packets.

use crate::node::Node;
use crate::packet::Packet;
use airwnd_units::Time;

/// How a packet crosses a node's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// It reaches the node.
    In,
    /// It leaves the node, or is refused by the queue before the node's link.
    Out,
}

/// Sees every packet at every node. `()` observes nothing, at no cost.
pub trait Observer<C> {
    /// A packet crosses the interface of a node.
    fn on_crossing(&mut self, now: Time, node: Node, crossing: Crossing, packet: &Packet<C>);
}

impl<C> Observer<C> for () {
    fn on_crossing(&mut self, _: Time, _: Node, _: Crossing, _: &Packet<C>) {}
}

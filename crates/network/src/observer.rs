//! Per-node observation of packets.

use crate::node::Node;
use crate::packet::Packet;
use airwnd_units::Time;

/// Direction in which a packet crosses a node's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// The packet reaches the node.
    In,
    /// The packet leaves the node, or is refused by the queue before the node's link.
    Out,
}

/// Observes every packet at every node. The observer `()` does nothing, at no cost.
pub trait Observer<C> {
    /// Called when a packet crosses the interface of a node.
    fn on_crossing(&mut self, now: Time, node: Node, crossing: Crossing, packet: &Packet<C>);
}

impl<C> Observer<C> for () {
    fn on_crossing(&mut self, _: Time, _: Node, _: Crossing, _: &Packet<C>) {}
}

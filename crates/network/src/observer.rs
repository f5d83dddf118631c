//! Per-node observation of packets.

use crate::node::Node;
use crate::packet::Packet;
use crate::topology::LinkId;
use airwnd_cell::trace::{PduRecord, RadioRecord};
use airwnd_units::Time;

/// Direction in which a packet crosses a node's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// The packet reaches the node.
    In,
    /// The packet leaves the node, or is refused by the queue before the node's link.
    Out,
}

/// Stage of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The packet reaches the queue before the link, which may drop it.
    Arrival,
    /// The packet reaches the far end of the link, or is lost there.
    Departure,
    /// The queue drops the packet.
    Drop,
}

/// Observes every packet at every node and link. The observer `()` does nothing, at no cost.
pub trait Observer<C> {
    /// Returns false if the other calls have no effect. The network then leaves them out.
    fn is_watching(&self) -> bool;

    /// Called when a packet crosses the interface of a node.
    fn on_crossing(&mut self, now: Time, node: Node, crossing: Crossing, packet: &Packet<C>);

    /// Called at each stage of a packet at a link.
    fn on_link(&mut self, now: Time, link: LinkId, stage: Stage, packet: &Packet<C>);

    /// Called when a queue has marked a packet. The content may record the time of the mark.
    fn on_mark(&mut self, now: Time, packet: &mut Packet<C>);

    /// Called when a packet is dropped or lost, wherever that is.
    fn on_drop(&mut self, now: Time, packet: &Packet<C>);

    /// Called with each packet of which a PDU has the first transmission of a part, if the cells keep records; after
    /// [`on_record`](Observer::on_record) of the PDU. `at` is the time of the decision.
    fn on_part(&mut self, at: Time, packet: &Packet<C>, pdu: &PduRecord);

    /// Called with each record of the radio interface, if the cells keep them
    /// ([`Ran::observe`](airwnd_cell::Ran::observe)).
    fn on_record(&mut self, record: &RadioRecord);
}

impl<C> Observer<C> for () {
    fn is_watching(&self) -> bool {
        false
    }

    fn on_crossing(&mut self, _: Time, _: Node, _: Crossing, _: &Packet<C>) {}
    fn on_link(&mut self, _: Time, _: LinkId, _: Stage, _: &Packet<C>) {}
    fn on_mark(&mut self, _: Time, _: &mut Packet<C>) {}
    fn on_drop(&mut self, _: Time, _: &Packet<C>) {}
    fn on_part(&mut self, _: Time, _: &Packet<C>, _: &PduRecord) {}
    fn on_record(&mut self, _: &RadioRecord) {}
}

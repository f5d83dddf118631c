//! Per-node packet taps.

use crate::Scenario;
use airwnd_cell::trace::{PduRecord, RadioRecord};
use airwnd_kernel::{Codepoint, Direction};
use airwnd_tcp::Segment;
use airwnd_units::{Bytes, Span, Time};

pub use airwnd_network::{Crossing, Node, Stage};

/// Payload of an IP packet.
#[derive(Clone, Copy, Debug)]
pub enum Carried {
    /// A TCP segment.
    Segment(Segment),
    /// A UDP datagram with this much payload.
    Datagram(Bytes),
    /// A packet of a real program, in an emulation.
    Frame {
        /// Number given by the sender of the frame.
        number: u32,
        /// ECN field of its IP header, which queues may have marked.
        ecn: Codepoint,
        /// Time at which a queue first marked it.
        marked_at: Option<Time>,
    },
}

/// A packet observed at a node.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Time from the end of the warm-up.
    pub at: Span,
    /// Node.
    pub node: Node,
    /// In or out.
    pub crossing: Crossing,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the UE of the flow.
    pub ue: u32,
    /// Direction: to the UE or to the server.
    pub direction: Direction,
    /// Number of the packet among those sent by its end of the flow, modulo 65536.
    pub identification: u16,
    /// Payload.
    pub carried: Carried,
}

/// A packet of a flow between two nodes.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Time from the end of the warm-up.
    pub at: Span,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the UE of the flow.
    pub ue: u32,
    /// Direction: to the UE or to the server.
    pub direction: Direction,
    /// Number of the packet, as [`Sight::identification`].
    pub identification: u16,
}

/// A packet observed at a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkSight {
    /// Time from the end of the warm-up.
    pub at: Span,
    /// Number of the link: 0 is the server link, then those of the scenario in their order, one per instance.
    pub link: u32,
    /// Direction: to the UE or to the server.
    pub direction: Direction,
    /// Stage of the packet.
    pub stage: Stage,
    /// Size with the IP header, without the framing of the link.
    pub size: Bytes,
    /// Payload.
    pub carried: Carried,
}

/// Observes every packet at every node.
pub trait Tap: Send {
    /// Called when a packet crosses an interface of a node.
    fn packet(&mut self, sight: &Sight);

    /// Called when a packet reaches the queue of a link, leaves the link, or is dropped by the queue.
    fn at_link(&mut self, _: &LinkSight) {}

    /// Called when a packet is dropped or lost, wherever that is.
    fn dropped(&mut self, _: &Passage) {}

    /// Called with each packet of which a PDU in the records has the first transmission of a part. The time is that of the
    /// PDU's record.
    fn in_block(&mut self, _: &Passage, _: &PduRecord) {}

    /// Called with each record of the radio interface that [`Records::radio`](crate::Records::radio) wants, in the order of
    /// their times, but that the promotion of a released UE has woken it is noted at its end.
    fn radio(&mut self, _: &RadioRecord) {}

    /// Returns whether the run should continue.
    fn continues(&self) -> bool {
        true
    }
}

/// A tap that its owner keeps.
impl<T: Tap + ?Sized> Tap for &mut T {
    fn packet(&mut self, sight: &Sight) {
        (**self).packet(sight);
    }

    fn at_link(&mut self, sight: &LinkSight) {
        (**self).at_link(sight);
    }

    fn dropped(&mut self, passage: &Passage) {
        (**self).dropped(passage);
    }

    fn in_block(&mut self, passage: &Passage, pdu: &PduRecord) {
        (**self).in_block(passage, pdu);
    }

    fn radio(&mut self, record: &RadioRecord) {
        (**self).radio(record);
    }

    fn continues(&self) -> bool {
        (**self).continues()
    }
}

impl Scenario {
    /// Number of UEs of all groups.
    pub fn ues(&self) -> u32 {
        self.ue.iter().map(|group| group.count).sum()
    }

    /// All nodes, from the server to the UEs.
    pub fn nodes(&self) -> Vec<Node> {
        let cells = self.cells() as u16;
        [Node::Server, Node::Gateway]
            .into_iter()
            .chain((0..cells).map(Node::Enb))
            .chain((0..self.ues()).map(Node::Ue))
            .collect()
    }

    /// Returns the node with this name.
    ///
    /// # Errors
    /// An unknown name; the message lists the known ones.
    pub fn node(&self, word: &str) -> Result<Node, String> {
        let nodes = self.nodes();
        nodes.iter().copied().find(|node| node.to_string() == word).ok_or_else(|| {
            let span = |matches: fn(&Node) -> bool| {
                let first = nodes.iter().find(|node| matches(node))?;
                let last = nodes.iter().rfind(|node| matches(node))?;
                Some(if first == last { format!("{first}") } else { format!("{first} to {last}") })
            };
            let cells = span(|node| matches!(node, Node::Enb(_)));
            let ues = span(|node| matches!(node, Node::Ue(_)));
            let words: Vec<String> =
                ["server".into(), "gateway".into()].into_iter().chain(cells).chain(ues).collect();
            format!("there is no node `{word}`; nodes: {}, or all", words.join(", "))
        })
    }
}

//! What passes the nodes, for those who look at single packets.

use crate::Scenario;
use airwnd_tcp::Segment;
use airwnd_units::{Bytes, Span};
use std::fmt;

/// Where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Where the servers are: `server`.
    Server,
    /// The link to the servers, seen from the gateway: `gateway`.
    Gateway,
    /// The S1-U link of a cell, counted from 0: `enb-0`.
    BaseStation(u16),
    /// A terminal, counted from 0 over all groups: `ue-0`.
    Terminal(u32),
}

impl Node {
    /// What of the node a tap looks at.
    pub fn interface(self) -> &'static str {
        match self {
            Node::Server => "the servers' IP",
            Node::Gateway => "the gateway's link to the servers",
            Node::BaseStation(_) => "the base station's S1-U link, in GTP-U",
            Node::Terminal(_) => "the terminal's IP",
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Server => f.write_str("server"),
            Node::Gateway => f.write_str("gateway"),
            Node::BaseStation(cell) => write!(f, "enb-{cell}"),
            Node::Terminal(ue) => write!(f, "ue-{ue}"),
        }
    }
}

/// Which way a packet passes a node's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It reaches the node.
    In,
    /// It leaves the node, or is refused by the queue before its link.
    Out,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Carried {
    /// A TCP segment.
    Segment(Segment),
    /// A UDP datagram with this much payload.
    Datagram(Bytes),
}

/// A packet at a node.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Since the end of the warm-up.
    pub at: Span,
    /// Where.
    pub node: Node,
    /// In or out.
    pub way: Way,
    /// Number of its flow.
    pub flow: u32,
    /// Number of its flow's terminal.
    pub ue: u32,
    /// Whether it goes to the terminal, or to the server.
    pub to_terminal: bool,
    /// Counts the packets that one end of a flow has sent, modulo 65536.
    pub identification: u16,
    /// What it carries.
    pub carried: Carried,
}

/// Sees every packet at every node.
pub trait Tap {
    /// A packet passes a node.
    fn packet(&mut self, sight: &Sight);

    /// Whether it has a reason to see more; the run ends if not.
    fn goes_on(&self) -> bool {
        true
    }
}

impl Scenario {
    /// Terminals of all groups.
    pub fn terminals(&self) -> u32 {
        self.ue.iter().map(|group| group.count).sum()
    }

    /// All nodes, from the server to the terminals.
    pub fn nodes(&self) -> Vec<Node> {
        let cells = self.cells() as u16;
        [Node::Server, Node::Gateway]
            .into_iter()
            .chain((0..cells).map(Node::BaseStation))
            .chain((0..self.terminals()).map(Node::Terminal))
            .collect()
    }

    /// The node that a word names.
    ///
    /// # Errors
    /// One line that says which words there are.
    pub fn node(&self, word: &str) -> Result<Node, String> {
        let nodes = self.nodes();
        nodes.iter().copied().find(|node| node.to_string() == word).ok_or_else(|| {
            let span = |matches: fn(&Node) -> bool| {
                let first = nodes.iter().find(|node| matches(node))?;
                let last = nodes.iter().rfind(|node| matches(node))?;
                Some(if first == last { format!("{first}") } else { format!("{first} to {last}") })
            };
            let cells = span(|node| matches!(node, Node::BaseStation(_)));
            let terminals = span(|node| matches!(node, Node::Terminal(_)));
            let words: Vec<String> =
                ["server".into(), "gateway".into()].into_iter().chain(cells).chain(terminals).collect();
            format!("there is no node `{word}`; nodes: {}, or all", words.join(", "))
        })
    }
}

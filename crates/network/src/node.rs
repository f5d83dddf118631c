//! Observation points of packets.

use std::fmt;

/// An observation point of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// The servers: `server`.
    Server,
    /// The gateway's link to the servers: `gateway`.
    Gateway,
    /// The S1-U link of a cell, counted from 0: `enb-0`.
    Enb(u16),
    /// A UE, counted from 0: `ue-0`.
    Ue(u32),
}

impl Node {
    /// Returns a description of the interface at which packets are observed.
    pub fn interface(self) -> &'static str {
        match self {
            Node::Server => "the servers' IP",
            Node::Gateway => "the gateway's link to the servers",
            Node::Enb(_) => "the eNB's S1-U link, in GTP-U",
            Node::Ue(_) => "the UE's IP",
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Server => f.write_str("server"),
            Node::Gateway => f.write_str("gateway"),
            Node::Enb(cell) => write!(f, "enb-{cell}"),
            Node::Ue(ue) => write!(f, "ue-{ue}"),
        }
    }
}

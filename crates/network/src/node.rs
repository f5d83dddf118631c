//! The nodes that packets pass.

use std::fmt;

/// A place where packets can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// The servers' end: `server`.
    Server,
    /// The gateway's link to the servers: `gateway`.
    Gateway,
    /// The S1-U link of a cell, counted from 0: `enb-0`.
    BaseStation(u16),
    /// A UE, counted from 0: `ue-0`.
    Terminal(u32),
}

impl Node {
    /// The interface at which packets are observed.
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

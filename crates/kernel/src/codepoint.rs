//! The ECN field of the IP header.

/// ECN field of the IP header (RFC 3168 §5): the transport's ECN capability and the queues' congestion marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// Not ECN-capable transport: 00.
    #[default]
    NotEct,
    /// ECN-capable with L4S semantics (RFC 9331): 01.
    Ect1,
    /// ECN-capable with classic semantics: 10.
    Ect0,
    /// Congestion experienced: 11.
    Ce,
}

impl Codepoint {
    /// Returns true if a queue may mark the packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Codepoint::NotEct
    }
}

//! The ECN field of the IP header.

/// The ECN field of the IP header (RFC 3168 §5): what a packet's transport can do, and what a queue says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// The transport does not know ECN: 00.
    #[default]
    NotEct,
    /// ECN-capable, and heeds marks as an L4S sender does (RFC 9331): 01.
    Ect1,
    /// ECN-capable: 10.
    Ect0,
    /// Congestion experienced: 11.
    Ce,
}

impl Codepoint {
    /// Whether a queue may mark the packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Codepoint::NotEct
    }
}

//! What applications send.

use airwnd_catalog::family;
use airwnd_units::{Bytes, Time};

family! {
    /// Traffic: what an application sends, and over which transport.
    pub family Spec ("traffic") { bulk: Bulk, transfer: Transfer, ftp: Ftp, cbr: Cbr, video: Video }
    build fn build() -> Box<dyn Source>;
}

/// The transport that an application uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP connection, opened when the flow starts.
    Tcp,
    /// Datagrams.
    Udp,
}

/// What an application hands over at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// As much as the transport ever takes.
    Endless,
    /// All there is, and then the connection is closed.
    Whole(Bytes),
    /// A piece, and when the next one comes. What TCP has no room for is not written.
    Piece(Bytes, Time),
}

/// An application that sends.
pub trait Source: Send {
    /// The transport that it needs.
    fn transport(&self) -> Transport;
    /// Called when the flow starts and then at each instant that a [`Write::Piece`] named.
    fn write(&mut self, now: Time) -> Write;
    /// The size of the whole, if it has one.
    fn size(&self) -> Option<Bytes> {
        None
    }
}

//! What applications send.

pub mod on_off;

use airwnd_catalog::family;
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Time};

/// Traffic: what an application sends, and over which transport.
#[family(name = "traffic", build = fn(ctx: &FlowContext) -> Box<dyn Source>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Bulk(bulk::Params),
    Transfer(transfer::Params),
    Ftp(ftp::Params),
    Cbr(cbr::Params),
    Video(video::Params),
    Web(web::Params),
}

/// What an application is made from besides its settings.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// What the flow draws its sizes and times from.
    pub stream: Stream,
    /// The size that the flow brings along, in place of the settings'.
    pub size: Option<Bytes>,
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
    /// Nothing yet, and when the first piece comes.
    Later(Time),
    /// A request, which the end that receives the data sends to the other.
    Request(Bytes),
}

/// A part of what an application does, which a user waits for: a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// When it was asked for.
    pub began: Time,
    /// Bytes that belong to it.
    pub size: Bytes,
}

/// What follows from data that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// When the next request is to be written.
    pub write_at: Option<Time>,
    /// What is complete by it.
    pub completed: Option<Part>,
    /// It was the last.
    pub is_last: bool,
}

/// An application that sends.
pub trait Source: Send {
    /// The transport that it needs.
    fn transport(&self) -> Transport;
    /// Called when the flow starts and then at each instant that a [`Write::Piece`], a
    /// [`Write::Later`] or a [`Reaction`] named.
    fn write(&mut self, now: Time) -> Write;
    /// How often it writes in a second, if it writes evenly, pauses left out.
    fn writes_per_second(&self) -> f64 {
        0.0
    }
    /// Whether it ends by itself.
    fn ends(&self) -> bool {
        false
    }
    /// Whether a size that the flow brings along takes the place of the settings'.
    fn takes_size(&self) -> bool {
        false
    }
    /// The size of the whole, if it has one.
    fn size(&self) -> Option<Bytes> {
        None
    }
    /// Whether it is asked: the end that receives the data opens the connection and sends requests.
    fn is_asked(&self) -> bool {
        false
    }
    /// The sender has so many bytes of requests in all: what it answers now.
    fn answer(&mut self, _requested: Bytes) -> Bytes {
        Bytes::ZERO
    }
    /// The receiver has so many bytes in all: what follows.
    fn arrived(&mut self, _now: Time, _received: Bytes) -> Reaction {
        Reaction::default()
    }
    /// What has been asked for and is not complete.
    fn unfinished(&self) -> Option<Part> {
        None
    }
}

impl Spec {
    /// The transport that it needs.
    pub fn transport(&self) -> Transport {
        self.source().transport()
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.source().ends()
    }

    /// Whether a size that a flow brings along takes the place of the settings'.
    pub fn takes_size(&self) -> bool {
        self.source().takes_size()
    }

    /// How often it writes in a second, if it writes evenly, pauses left out.
    pub fn writes_per_second(&self) -> f64 {
        self.source().writes_per_second()
    }

    /// One of its applications, for what all of them have in common.
    fn source(&self) -> Box<dyn Source> {
        self.build(&FlowContext { stream: Stream::new(0, "nothing is drawn"), size: None })
    }
}

//! Traffic models of applications.

pub mod on_off;

use airwnd_catalog::{Choice, family};
use airwnd_kernel::Stream;
use airwnd_tcp::cc::Identity;
use airwnd_units::{BitRate, Bytes, Time};

/// Traffic: traffic model of an application, and its transport.
#[family(name = "traffic", build = fn(ctx: &FlowContext) -> Box<dyn Source>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Bulk(bulk::Params),
    Transfer(transfer::Params),
    Ftp(ftp::Params),
    Cbr(cbr::Params),
    Video(video::Params),
    Web(web::Params),
    Ping(ping::Params),
    #[outside]
    Plugin(plugin::Params),
    #[outside]
    Python(python::Params),
}

/// Inputs of an application in addition to its parameters.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// Random stream for the sizes and times of the flow.
    pub stream: Stream,
    /// Size of the flow, given by its arrival process; `None`: the size parameter applies.
    pub size: Option<Bytes>,
    /// Transport protocol. No built-in source depends on it.
    pub transport: Transport,
    /// Identity of the flow. No built-in source depends on it.
    pub identity: Identity,
}

/// Transport protocol of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Transport {
    /// A TCP connection, opened when the flow starts.
    #[word = "tcp"]
    Tcp,
    /// UDP datagrams.
    #[word = "udp"]
    Udp,
}

/// Result of a write by an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Unlimited data.
    Endless,
    /// All data of the flow; the connection is closed after it.
    Whole(Bytes),
    /// A chunk, and the time of the next write. Bytes that do not fit into TCP's send buffer are discarded.
    Piece(Bytes, Time),
    /// No data yet, and the time of the next write.
    Later(Time),
    /// A request from the receiver of the data to its sender.
    Request(Bytes),
}

/// A unit of transfer with a completion time, such as a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Time of the request.
    pub began: Time,
    /// Size in bytes.
    pub size: Bytes,
}

/// Reaction of an application to received data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// Time of the next request.
    pub write_at: Option<Time>,
    /// Unit completed by the data.
    pub completed: Option<Part>,
    /// Set if the completed unit is the last one.
    pub is_last: bool,
}

/// A traffic source.
pub trait Source: Send {
    /// Transport protocol.
    fn transport(&self) -> Transport;
    /// Writes data. Called when the flow starts, and then at each time given by a [`Write::Piece`], a [`Write::Later`]
    /// or a [`Reaction`].
    fn write(&mut self, now: Time) -> Write;
    /// Sets the rate from outside, from the next write on. Returns whether the source takes it.
    fn set_rate(&mut self, _rate: BitRate) -> bool {
        false
    }
    /// Writes per second during on periods; 0 for a source without periodic writes.
    fn writes_per_second(&self) -> f64 {
        0.0
    }
    /// Returns whether the source ends by itself.
    fn ends(&self) -> bool {
        false
    }
    /// Returns whether [`FlowContext::size`] replaces the size parameter.
    fn takes_size(&self) -> bool {
        false
    }
    /// Total size, if there is one.
    fn size(&self) -> Option<Bytes> {
        None
    }
    /// Returns whether data is sent on request: the receiver of the data opens the connection and sends requests.
    fn is_requested(&self) -> bool {
        false
    }
    /// Returns whether the other end returns each datagram at once.
    fn is_echoed(&self) -> bool {
        false
    }
    /// Returns the bytes to send in response, given the total bytes of requests received so far.
    fn answer(&mut self, _requested: Bytes) -> Bytes {
        Bytes::ZERO
    }
    /// Returns the reaction of the receiver, given the total bytes received so far.
    fn arrived(&mut self, _now: Time, _received: Bytes) -> Reaction {
        Reaction::default()
    }
    /// Requested unit that is not complete.
    fn unfinished(&self) -> Option<Part> {
        None
    }
}

impl Spec {
    /// Transport protocol.
    pub fn transport(&self) -> Transport {
        match self {
            Spec::Python(params) => params.head.transport,
            _ => self.source().transport(),
        }
    }

    /// Returns whether the sources end by themselves.
    pub fn ends(&self) -> bool {
        match self {
            Spec::Python(params) => params.head.ends,
            _ => self.source().ends(),
        }
    }

    /// Returns whether [`FlowContext::size`] replaces the size parameter.
    pub fn takes_size(&self) -> bool {
        match self {
            Spec::Python(params) => params.head.ends,
            _ => self.source().takes_size(),
        }
    }

    /// Writes per second during on periods; 0 for sources without periodic writes.
    pub fn writes_per_second(&self) -> f64 {
        self.source().writes_per_second()
    }

    /// Creates a source to query properties that do not depend on the flow.
    fn source(&self) -> Box<dyn Source> {
        let stream = Stream::new(0, "nothing is drawn");
        let (transport, identity) = (Transport::Tcp, Identity::default());
        let ctx = FlowContext { stream, size: None, transport, identity };
        match self {
            Spec::Plugin(params) => params.sample(&ctx),
            _ => self.build(&ctx),
        }
    }
}

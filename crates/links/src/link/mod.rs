//! Links: a queue, a service, a delay, and losses.
//!
//! [`Link`] is one direction with a drop-tail queue; before a [`Managed`] one stands a queue discipline. What differs
//! between kinds of links is the [`Service`]: when the bytes of what waits go.
//! A medium that stations share, where one packet's time depends on what others send later, is no service:
//! [`wifi::Medium`] stands beside [`Link`].

mod fifo;
mod figures;
mod managed;

use airwnd_catalog::family;
use airwnd_kernel::Direction;
use airwnd_units::{BitRate, Bytes, Span, Time};

pub use fifo::{Link, Lost, Queue, Refused, Sent};
pub use figures::Figures;
pub use managed::{Due, Managed};

/// Link: how a link serves what waits for it.
#[family(name = "link")]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Wire(wire::Params),
    Trace(trace::Params),
    Wifi(wifi::Params),
}

impl Spec {
    /// What carries; recordings begin at `start`.
    pub fn carrier(&self, start: Time) -> Carrier {
        let each = |server: &dyn Fn(Direction) -> Server| Carrier::Each {
            down: server(Direction::Down),
            up: server(Direction::Up),
        };
        match self {
            Spec::Wire(params) => each(&|direction| Server::Wire(params.service(direction))),
            Spec::Trace(params) => each(&|direction| params.server(direction, start)),
            Spec::Wifi(params) => Carrier::Shared(params.clone()),
        }
    }
}

/// What carries packets over a link.
pub enum Carrier {
    /// A service for each direction.
    Each {
        /// Towards the UEs.
        down: Server,
        /// Towards the servers.
        up: Server,
    },
    /// A medium that both directions and all stations share.
    Shared(wifi::Params),
}

/// When a packet is sent: the first of its bytes goes at `begins`, the last has gone at `ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it leaves the queue.
    pub begins: Time,
    /// When it has left the link's entry.
    pub ends: Time,
}

/// How a link serves what waits for it, first come, first served.
pub trait Service: Send {
    /// When a packet goes that comes now, behind all that came before. Asked once for each packet, in their order.
    fn serve(&mut self, now: Time, size: Bytes) -> Served;

    /// When a packet would begin to go that came now, behind all that came before: what [`Service::serve`] would say.
    fn begins(&self, now: Time) -> Time;

    /// How much it could send between two instants; none: no limit.
    fn capacity(&self, from: Time, to: Time) -> Option<Bytes>;

    /// How long it takes to send so much from an instant on if nobody else has anything.
    fn alone(&self, from: Time, size: Bytes) -> Span;

    /// What a packet carries besides itself on this link.
    fn framing(&self) -> Bytes {
        Bytes::ZERO
    }
}

/// What serves a link. Most links are wires, whose division is worth no indirect call.
pub enum Server {
    /// A constant rate.
    Wire(wire::Wire),
    /// Any other service.
    Other(Box<dyn Service>),
}

impl Server {
    /// The rate, if it is constant and there is one.
    pub fn rate(&self) -> Option<BitRate> {
        match self {
            Server::Wire(wire) => wire.rate(),
            Server::Other(_) => None,
        }
    }
}

impl Service for Server {
    fn serve(&mut self, now: Time, size: Bytes) -> Served {
        match self {
            Server::Wire(wire) => wire.serve(now, size),
            Server::Other(service) => service.serve(now, size),
        }
    }

    fn begins(&self, now: Time) -> Time {
        match self {
            Server::Wire(wire) => wire.begins(now),
            Server::Other(service) => service.begins(now),
        }
    }

    fn capacity(&self, from: Time, to: Time) -> Option<Bytes> {
        match self {
            Server::Wire(wire) => wire.capacity(from, to),
            Server::Other(service) => service.capacity(from, to),
        }
    }

    fn alone(&self, from: Time, size: Bytes) -> Span {
        match self {
            Server::Wire(wire) => wire.alone(from, size),
            Server::Other(service) => service.alone(from, size),
        }
    }

    fn framing(&self) -> Bytes {
        match self {
            Server::Wire(wire) => wire.framing(),
            Server::Other(service) => service.framing(),
        }
    }
}

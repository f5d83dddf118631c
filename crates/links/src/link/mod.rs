//! Links: a queue, a transmission service, a delay, and losses.
//!
//! [`Link`] is one direction with a drop-tail queue; a [`Managed`] link has a queue discipline in front. Kinds of links
//! differ in their [`Service`], which determines when the bytes of waiting packets are sent. A shared medium is not a
//! service, because the time of a packet depends on what other stations send later: [`wifi::Medium`] is an alternative
//! to [`Link`].

mod bucket;
mod fifo;
mod figures;
mod impairments;
mod managed;
mod paced;

use airwnd_catalog::family;
use airwnd_kernel::Direction;
use airwnd_units::{BitRate, Bytes, Span, Time};

use bucket::{Bucket, Shaped};
pub use bucket::{Police, SMALLEST_BURST, Tbf};
pub use fifo::{Link, Lost, Queue, Refused, Sent, Surfaced};
pub use figures::Figures;
pub use impairments::{Distribution, Duplicate, Impairments, Jitter, Reorder};
pub use managed::{Due, Managed};
use paced::Paced;

/// Link: transmission service of a link.
#[family(name = "link")]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Wire(wire::Params),
    Trace(trace::Params),
    Wifi(wifi::Params),
}

impl Spec {
    /// Returns the carrier of packets; link traces begin at `start`.
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

/// Carrier of packets over a link.
pub enum Carrier {
    /// A separate service for each direction.
    Each {
        /// Towards the UEs.
        down: Server,
        /// Towards the servers.
        up: Server,
    },
    /// A medium shared by both directions and all stations.
    Shared(wifi::Params),
}

/// Transmission of a packet: its first byte is sent at `begins`, its last at `ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Time at which the packet leaves the queue.
    pub begins: Time,
    /// Time at which the transmission ends.
    pub ends: Time,
}

/// Transmission service of a link, first come, first served.
pub trait Service: Send {
    /// Returns the transmission of a packet that arrives now, behind all earlier packets. Called once per packet, in
    /// order.
    fn serve(&mut self, now: Time, size: Bytes) -> Served;

    /// Returns the time from which the transmission of a packet that arrives now may begin, behind all earlier packets:
    /// the time that [`Service::serve`] would return, unless a shaper delays the packet.
    fn begins(&self, now: Time) -> Time;

    /// Returns the capacity between two instants; `None`: no limit.
    fn capacity(&self, from: Time, to: Time) -> Option<Bytes>;

    /// Returns the time to send `size` bytes from an instant on without other traffic.
    fn alone(&self, from: Time, size: Bytes) -> Span;

    /// Returns the framing that this link adds to each packet.
    fn framing(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Returns the rate; `None`: the rate varies or is not limited.
    fn rate(&self) -> Option<BitRate> {
        None
    }

    /// Sets the rate, `None`: no limit. Returns whether the service takes one.
    fn set_rate(&mut self, _rate: Option<BitRate>) -> bool {
        false
    }
}

/// Transmission service of a link. Wires are an enum variant to avoid an indirect call on most links.
pub enum Server {
    /// A constant rate.
    Wire(wire::Wire),
    /// Any other service.
    Other(Box<dyn Service>),
}

impl Server {
    /// Creates a service whose rate the owner sets; `None`: no limit.
    pub fn paced(rate: Option<BitRate>) -> Server {
        Server::Other(Box::new(Paced::new(rate)))
    }

    /// Adds a shaper.
    pub fn shaped(self, tbf: &Tbf) -> Server {
        Server::Other(Box::new(Shaped::new(self, Bucket::new(tbf.rate, tbf.burst))))
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

    fn rate(&self) -> Option<BitRate> {
        match self {
            Server::Wire(wire) => wire.rate(),
            Server::Other(service) => service.rate(),
        }
    }

    fn set_rate(&mut self, rate: Option<BitRate>) -> bool {
        match self {
            Server::Wire(wire) => wire.set_rate(rate),
            Server::Other(service) => service.set_rate(rate),
        }
    }
}

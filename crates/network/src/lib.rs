//! The network between servers and UEs: core links, access links, media and cells.
//!
//! [`Network`] carries packets of any content type without inspecting the content. Its owner sends packets in at one
//! end and takes out the packets that were delivered or dropped. In the simulator the owner is TCP; in an emulator, the
//! packets are a kernel's frames and time is a real clock's. Start with `path.rs`: it follows a packet down to a UE and
//! back up.
//!
//! ```
//! use airwnd_cell::BearerId;
//! use airwnd_kernel::{Codepoint, Direction};
//! use airwnd_links::link::{Link, Queue, Server, wire::Wire};
//! use airwnd_network::{Duplex, Network, OneWay, Outcome, Packet, Topology};
//! use airwnd_units::{BitRate, Bytes, Span, Time};
//!
//! // 10 Mbit/s and 5 ms each way between a server and one device.
//! let wire = || Server::Wire(Wire::new(BitRate(10_000_000), Bytes::ZERO));
//! let one_way = || OneWay::Plain(Link::new(wire(), Span::from_millis(5), Queue::default()));
//! let mut topology = Topology::new(Duplex { name: "wire".into(), owner: None, down: one_way(), up: one_way() });
//! topology.add_device(&[], None);
//! let mut network = Network::new(topology, ());
//!
//! let packet = Packet {
//!     device: 0, direction: Direction::Down, bearer: BearerId(0), size: Bytes(1250), ecn: Codepoint::NotEct, flow: 7,
//!     content: "frame",
//! };
//! network.send(Time::ZERO, packet);
//! // Serialization of 1250 bytes takes 1 ms.
//! assert_eq!(network.next_event(), Some(Time(6_000_000)));
//! assert_eq!(network.advance(Time(10_000_000)), Some(Time(6_000_000)));
//! assert!(matches!(network.next_outcome(), Some(Outcome::Delivered(Packet { content: "frame", .. }))));
//! assert_eq!(network.next_outcome(), None);
//! assert_eq!(network.advance(Time(10_000_000)), None);
//! ```

mod air;
mod bearers;
mod effects;
mod event;
mod inspect;
mod ledger;
mod legs;
mod network;
mod node;
mod observer;
mod packet;
mod path;
mod topology;
mod wires;

pub use bearers::{BearerFigures, Bearers};
pub use ledger::{Cause, Count, Ledger};
pub use network::Network;
pub use node::Node;
pub use observer::{Crossing, Observer, Stage};
pub use packet::{Outcome, Packet};
pub use topology::{Access, Duplex, Hop, LinkId, MediumId, OneWay, SharedMedium, Topology};

//! The emulator: packets of real programs cross the simulated network in real time.
//!
//! ```text
//! server's command        relay (real-time thread)            UE's command
//!   kernel  <-> TUN <->  packet -> flows -> Live -> exits  <-> TUN <-> kernel
//! ```
//!
//! * [`run`] runs a session: it prepares the network namespaces (`airwnd_netns`), starts the relay and the commands, and
//!   returns the results.
//! * `relay.rs` is the place to start reading: it reads packets from the TUN devices, sends them into the simulation
//!   ([`airwnd_lab::Live`]) at the present time, and writes them to the device at the other end when they leave it.
//! * `offload.rs` cuts what a device hands over at once into packets, and joins consecutive segments for one write;
//!   `writer.rs` writes, in a thread of the device if there is much to write.
//! * `log.rs` writes logs of links in mahimahi's format.
//! * `packet.rs` reads headers, `flows.rs` recognises flows, `watch.rs` measures them passively, `clock.rs` measures how
//!   late packets leave.
#![cfg(target_os = "linux")]

mod clock;
mod error;
mod flows;
mod frames;
mod log;
mod offload;
mod packet;
mod realtime;
mod relay;
mod report;
mod request;
mod session;
mod watch;
mod writer;

pub use clock::LatenessFigures;
pub use error::Error;
pub use log::LogRequest;
pub use report::{FlowView, Packets, Snapshot, UeSnapshot};
pub use request::{ClockRequest, End, Pcap, Request, UeRequest};
pub use session::{Summary, Update, run};

/// Entry of a helper process; see [`airwnd_netns::child`].
pub fn side(socket: std::os::fd::RawFd) -> ! {
    airwnd_netns::child(socket)
}

//! Network namespaces with a TUN device, without root. Linux only.
//!
//! A [`Side`] is one end of an emulated link: a network, mount and process namespace, of an ordinary user in a user
//! namespace as well. It contains the TUN device `link`, addresses and default routes, names of the other ends in
//! `/etc/hosts`, an init process and a command. The caller receives the file descriptor of the device and netlink
//! sockets of the namespace. It needs no privilege, and nothing outside the namespaces changes.
//!
//! Three processes are involved, since a process with several threads must not `fork` without `exec`:
//!
//! ```text
//! caller ── spawns ──> helper: namespaces ── forks ──> init (process 1 inside) ── spawns ──> command
//!    └────────── Unix socket: setup, descriptors, start, signals, exit status ──────┘
//! ```
//!
//! The helper is any single-threaded process that calls [`child`]. It watches the caller and kills init when the
//! caller ends, even by SIGKILL. With init the kernel kills every process inside; the last descriptor removes the
//! device and the namespaces.
#![cfg(target_os = "linux")]

mod command;
mod device;
mod diag;
mod error;
mod gateway;
mod helper;
mod host;
mod init;
mod mounts;
mod netlink;
mod nft;
mod outer;
mod programs;
mod route;
mod setup;
mod side;
mod signals;
mod socket;
mod tun;

pub use device::Device;
pub use diag::{Diag, TcpInfo, TcpSocket, TcpState};
pub use error::Error;
pub use gateway::Gateway;
pub use helper::child;
pub use host::{Host, nameservers, sweep};
pub use netlink::Netlink;
pub use outer::Outer;
pub use route::{LinkStats, Route};
pub use setup::{DeviceSetup, Exit, Framing, Outside, Setup, Stdio};
pub use side::{Process, Side};

/// Name of a side's TUN device.
const DEVICE: &str = "link";

//! Receive-window control for real connections: the controllers of `airwnd-rwnd` on an unpatched Linux kernel.
//!
//! Two eBPF programs observe connections and set windows: `receiver` at the host that receives, in the hook that runs
//! before the kernel chooses the window of each ACK, and `forward` on a router, which lowers the window field of the
//! ACKs that it forwards. Neither decides anything. They report [`Observation`]s through a ring buffer, at most one per
//! flow and millisecond, and apply a window per flow from a map. A [`Policy`] in user space turns observations into
//! windows with the same controllers as the simulator. It does no I/O and has no clock.
//!
//! The programs act only while the daemon confirms, several times a second, that it runs. When it stops, for whatever
//! reason, they give each connection its own window back with its next ACK.
#![cfg(target_os = "linux")]

mod arrivals;
mod carried;
mod cgroup;
mod check;
mod cli;
mod command;
mod control;
mod daemon;
mod error;
mod forward;
mod guarded;
mod install;
mod kernel;
mod links;
mod live;
mod log;
mod machine;
mod maps;
mod measure;
mod names;
mod observation;
mod output;
mod paths;
mod policy;
mod privileges;
mod processes;
mod prometheus;
mod receiver;
mod record;
mod routes;
mod rules;
mod shape;
mod signals;
mod spec;
mod system;
mod table;

pub use carried::Carried;
pub use cli::{commands, main};
pub use error::Error;
pub use maps::Counters;
pub use measure::rewritten as rewritten_message;
pub use observation::{Event, Observation, TimestampUnit};
pub use policy::{Policy, Reason, Status, Target, Treatment};
pub use record::{Record, Recorded, read_recording};
pub use rules::{Names, Rules};
pub use table::table as status_table;

//! Ping and goodput of the user's link, without and with the guard: `test`, and `serve` for the other end.
//!
//! Decisions are separate from sockets and clocks: the protocol, the phases, figures and grades, table and picture.

mod client;
mod command;
mod picture;
mod ping;
mod progress;
mod protocol;
mod report;
mod requirement;
mod results;
mod run;
mod schedule;
mod server;
mod wire;

pub(crate) use command::{Serve, Test, serve, test};
pub use protocol::rewritten;

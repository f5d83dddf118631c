//! Cellular networks in virtual time, to test transports.
//!
//! A transport without I/O, such as a QUIC or WebRTC stack that separates protocol and sockets, meets here what it meets
//! on a phone: grants, HARQ, schedulers, deep RLC queues, handovers, other UEs. Nothing waits for a clock: the same
//! scenario and seed give the same packets in the same nanosecond, on any machine, faster than real time, in a unit test.
//!
//! * [`Scenario`]: a network, its UEs and simulated TCP flows, from TOML or a builder. [`Scenario::run`] simulates it.
//! * [`Path`]: the same network in the hands of an owner, who sends datagrams and advances the time.
//! * [`Endpoint`]: the trait of a transport without I/O; [`Path::run`] connects two of them.
//! * [`Trial`]: a connection over several seeds, with assertions on [goodput](Report::goodput_kbps),
//!   [delay](Report::delay_ms_p95) and [retransmissions](Report::retransmissions).
//!
//! # A test
//!
//! ```
//! use airwnd::{Cbr, Scenario, Trial};
//!
//! let scenario = Scenario::from_toml(r#"
//!     duration = "5s"
//!     [[site]]
//!     [[ue]]
//!     name = "phone"
//!     placement = { kind = "ring", radius = "300m" }
//!     [[ue]]
//!     name = "others"
//!     count = 4
//!     [[flow]]
//!     ue = "others"
//!     cc = "cubic"
//! "#)?;
//! let report = Trial::new(&scenario).seeds(1..=3).run(|_| (Cbr::receiver(), Cbr::sender(500, 125)))?;
//! report.goodput_kbps().assert_at_least(490.0);
//! report.loss_percent().assert_at_most(0.0);
//! # Ok::<(), airwnd::TrialError>(())
//! ```
//!
//! A failed assertion says by how much, with the interval over the seeds and the value of each of them.
//!
//! # Requirements
//!
//! Rust 1.88 or later. The crate needs no Python, no particular system, no clock, no threads, and files only for
//! [`Scenario::read`] and the recordings that a scenario names. It also works on `wasm32-unknown-unknown`.
//!
//! # Versions
//!
//! Versions follow [semantic versioning](https://semver.org). Rows of results may gain fields in a minor version, so
//! construct none of them. Results of a scenario may change with a minor version before 1.0, and the changes are listed.
#![deny(missing_docs)]

mod cbr;
mod datagram;
mod endpoint;
mod error;
mod path;
mod radio;
mod scenario;
mod trial;

pub use airwnd_catalog::Error;
pub use airwnd_kernel::{Codepoint as Ecn, Direction};
pub use airwnd_lab::radio::RadioFilter;
pub use airwnd_lab::{
    BearerDrops, BearerRow, CellRow, Column, CompletionTimes, ConnectionRow, Drops, FlowRow, GroupRow,
    Limited, LinkDrops, LinkRow, NOTHING, Outcome, Percentiles, Protocol, Queued, Records, Socket, Table,
    Totals, UeRow,
};
pub use airwnd_network::Cause;
pub use airwnd_units::{BitRate, Bytes, Span};
pub use cbr::Cbr;
pub use datagram::{Datagram, End, Event, Fate, Flow, FlowOptions, Side, Ue};
pub use endpoint::{Endpoint, Pair, Received, Transmit};
pub use error::PathError;
pub use path::Path;
pub use radio::RadioTable;
pub use scenario::{Scenario, ScenarioBuilder};
pub use trial::{Measure, Report, Trial, TrialError};

//! Scenarios and their simulation.
//!
//! * [`Scenario`]: the user's input, strictly checked, with every default stated.
//! * [`run`]: simulates a scenario: a network (`airwnd_network`, the place to start reading) with TCP flows,
//!   applications and meters.
//! * [`Session`]: simulates it in steps, which an owner observes and steers.
//! * [`Outcome`]: the results of a run.
//!
//! ```
//! use airwnd_catalog::Node;
//! use airwnd_lab::{Scenario, run};
//! let text = r#"
//!     duration = "1s"
//!     [[link]]
//!     rate = "10Mbps"
//!     delay = "25ms"
//!     queue = 100
//!     [[ue]]
//!     [[flow]]
//! "#;
//! let scenario = Scenario::from_node(&Node::from_toml(text, "wire.toml").unwrap()).unwrap();
//! let outcome = run(&scenario, 1, None, &mut |_| true).unwrap();
//! assert!(outcome.flows()[0].goodput_kbps > 1000.0);
//! ```

// Derived code refers to this crate by its name, also within it.
extern crate self as airwnd_lab;

pub mod arrivals;
mod bearers;
mod build;
mod catalogue;
pub mod columns;
mod compat;
mod files;
mod hexagon;
mod histogram;
mod incidents;
mod limits;
mod links;
mod map;
mod meter;
mod outcome;
mod outside;
mod packet_filter;
pub mod placement;
mod plugins;
mod preset;
mod preset_values;
mod quirks;
pub mod radio;
mod recordings;
mod records;
mod scenario;
mod series;
mod simulation;
pub mod size;
mod table;
pub mod tap;
mod topology;
pub mod traffic;

pub use airwnd_cell::RadioMap;
pub use bearers::DedicatedBearer;
pub use catalogue::{
    StackInfo, TableInfo, catalogue, controls_of_marks, schema, sections, stacks, tables, udp_traffic,
};
pub use compat::{Compat, QuirkInfo};
pub use files::ReadPipe;
pub use limits::{LIMIT_TOPICS, Limit, limits};
pub use links::{Link, LinkSettings, Reroute, Sharing};
pub use map::resource_grid;
pub use outcome::{
    CellRow, CompletionTimes, ConnectionRow, Conservation, Contention, Drops, FlowRow, GroupRow, Limited,
    LinkDrops, LinkRow, Outcome, Percentiles, Queued, RunRow, Totals, UeRow,
};
pub use packet_filter::{PacketFilter, Protocol, Signature};
pub use plugins::Plugins;
pub use preset::Preset;
pub use preset_values::{PresetInfo, PresetValue, presets};
pub use quirks::{CompatInfo, compats};
pub use records::Records;
pub use scenario::{Core, Flow, Scenario, Shaper, Site, UeGroup};
pub use simulation::{
    CellView, Exit, Fate, FlowView, Frame, Live, RealUe, Session, Socket, UeView, run, run_tapped,
};
pub use table::{Column, NOTHING, Table};

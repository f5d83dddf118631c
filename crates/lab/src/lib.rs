//! Scenarios, and the path of a segment through them.
//!
//! * [`Scenario`] is what a user writes: strict, with every default stated.
//! * [`path`] is the newcomer's page: one `match event` whose arms follow a segment around the loop.
//! * [`Outcome`] is what a run gives.
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

pub mod arrivals;
mod build;
mod catalogue;
mod csv;
mod detour;
mod devices;
mod files;
mod handover;
mod hexagon;
mod incidents;
mod ledger;
mod links;
mod map;
mod meter;
mod outcome;
pub mod path;
pub mod placement;
mod recordings;
mod records;
mod routes;
mod scenario;
mod series;
pub mod size;
mod table;
pub mod tap;
pub mod traffic;

pub use airwnd_cell::RadioMap;
pub use airwnd_tcp::cc::outside::Plugins;
pub use catalogue::{catalogue, schema};
pub use links::{Link, LinkSettings, Sharing};
pub use outcome::{
    CellRow, CompletionTimes, Contention, FlowRow, GroupRow, LinkRow, Outcome, Percentiles, Queued, Totals,
    UeRow,
};
pub use path::{run, run_tapped};
pub use records::Records;
pub use scenario::{Core, Flow, Scenario, Site, UeGroup};
pub use table::{Column, NOTHING, Table};

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

// The derived code of `columns` names this crate as others do.
extern crate self as airwnd_lab;

pub mod arrivals;
mod build;
mod catalogue;
pub mod columns;
mod csv;
mod detour;
mod devices;
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
pub use catalogue::{TableInfo, catalogue, schema, tables};
pub use links::{Link, LinkSettings, Sharing};
pub use outcome::{
    CellRow, CompletionTimes, Conservation, Contention, Drops, FlowRow, GroupRow, Limited, LinkDrops,
    LinkRow, Outcome, Percentiles, Queued, RunRow, Totals, UeRow,
};
pub use path::{run, run_tapped};
pub use records::Records;
pub use scenario::{Core, Flow, Scenario, Site, UeGroup};
pub use table::{Column, NOTHING, Table};

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

mod catalogue;
mod results;
mod scenario;
mod simulation;

pub use airwnd_cell::RadioMap;
pub use catalogue::{
    CompatInfo, LIMIT_TOPICS, Limit, PresetInfo, PresetValue, StackInfo, TableInfo, catalogue, compats,
    controls_of_marks, limits, presets, schema, sections, stacks, tables, udp_traffic,
};
pub use results::{
    BearerDrops, BearerRow, CellRow, Column, CompletionTimes, ConnectionRow, Conservation, Contention, Drops,
    FlowRow, GroupRow, Limited, LinkDrops, LinkRow, NOTHING, Outcome, Percentiles, Queued, Records, RunRow,
    Table, Totals, UeRow, columns, radio, tap,
};
pub use scenario::{
    Compat, Core, DedicatedBearer, Flow, Link, LinkSettings, PacketFilter, Plugins, Preset, Protocol,
    QuirkInfo, ReadPipe, Reroute, Scenario, Shaper, Sharing, Signature, Site, UeGroup, arrivals, link_traces,
    placement, size, traffic,
};
pub use simulation::{
    CellView, Exit, Fate, FlowView, Frame, Live, RealUe, Session, Socket, UeView, resource_grid, run,
    run_tapped,
};

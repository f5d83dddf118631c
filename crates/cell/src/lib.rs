//! The LTE site: everything between the core network and the terminal's IP stack.
//!
//! In path order, downlink: [`rlc`] queues and segments, [`mac`] schedules and retransmits, [`phy`] decides
//! what arrives, [`rlc`] reassembles. [`Network`] is the whole of it, advanced TTI by TTI.

pub mod mac;
mod network;
pub mod phy;
mod radio;
pub mod rlc;
mod settings;

pub use network::{Arrival, CellFigures, CellId, Direction, Dropped, Network, UeFigures, UeId};
pub use settings::{Bearer, Carrier, CellSite, Mac, Radio as RadioSettings, Rlc, Setup, UeSite};

//! The LTE site: everything between the core network and the terminal's IP stack.
//!
//! In path order, downlink: [`rlc`] queues and segments, [`mac`] schedules and retransmits, [`phy`] decides
//! what arrives, [`rlc`] reassembles. [`Network`] is the whole of it, advanced TTI by TTI.

mod identity;
pub mod mac;
mod network;
pub mod phy;
mod qci;
mod radio;
pub mod rlc;
mod settings;
mod terminal;

pub use identity::{CellId, Direction, UeId};
pub use network::{Arrival, CellFigures, Network, UeFigures, Unbuildable};
pub use qci::Qci;
pub use settings::{Bearer, Carrier, CellSite, Mac, Radio as RadioSettings, Rlc, RlcMode, Setup, UeSite};
pub use terminal::Dropped;

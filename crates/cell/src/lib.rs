//! The LTE radio access network: everything between the core network and the UE's IP stack.
//!
//! In path order, downlink: [`airwnd_rlc`] queues and segments, [`mac`] schedules and retransmits, [`airwnd_phy`] determines
//! what is decoded, [`airwnd_rlc`] reassembles. [`Ran`] combines them into the radio access network, advanced one TTI at a
//! time.

mod agenda;
mod bearer;
mod crew;
mod enb;
pub mod handover;
mod identity;
pub mod mac;
pub mod mobility;
mod qci;
mod radio;
mod ran;
mod reach;
mod region;
pub mod replay;
pub mod rrc;
mod settings;
pub mod trace;
mod ue;

pub use agenda::Notice;
pub use airwnd_phy::{Bandwidth, Carrier, ComponentCarrier, MAX_CARRIERS, SecondaryCarrier};
pub use airwnd_rlc::{DiscardTimer, Rlc, RlcMode};
pub use bearer::Bearer;
pub use crew::{Crew, ThreadsUnavailable};
pub use enb::Allocation;
pub use identity::{BearerId, CarrierId, CellId, UeId, UeSlot};
pub use mac::uplink_adaptation::UplinkAdaptation;
pub use mac::{BlockFigures, Reception};
pub use qci::Qci;
pub use radio::{Listener, RadioMap};
pub use ran::{CellFigures, Forward, Ran, UeFigures, Unbuildable};
pub use reach::{LinkBudget, Reach, UplinkBudget};
pub use settings::{
    BearerSetup, BufferReports, CellSite, Mac, Radio as RadioSettings, RanSetup, RequestPeriod, UeSite,
};
pub use ue::{Arrival, Dropped};

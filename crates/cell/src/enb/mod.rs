//! The eNB (gNB in NR): cells with their MAC. It sees a UE through [`MacSide`](crate::ue::MacSide) alone.

mod backlog;
mod belief;
mod cell;
mod compat;
mod confined;
mod csi;
mod downlink;
mod known_channels;
mod log;
mod pipeline;
mod uplink;
mod uplink_channel;
mod versions;
mod views;

pub(crate) use cell::{Cell, CellPlan, FREE_SLOT};
pub(crate) use downlink::Downlink;
pub use log::Allocation;
pub(crate) use versions::ReportTiming;

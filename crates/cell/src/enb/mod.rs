//! The eNB (gNB in NR): the MAC of a cell.

pub(crate) mod channel_reports;
pub(crate) mod confined;
pub(crate) mod downlink;
mod known_channels;
pub(crate) mod log;
mod pipeline;
pub(crate) mod uplink;
mod views;

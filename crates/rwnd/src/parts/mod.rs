//! Building blocks shared by controllers.

pub mod base_rtt;
pub mod beside;
pub mod competition;
pub mod downlink;
pub mod round;
pub mod small_windows;

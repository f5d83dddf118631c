//! What several controllers are made of; no algorithm by itself.

pub mod base_rtt;
pub mod round;
pub mod small_windows;

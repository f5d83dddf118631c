//! What several disciplines are made of; no discipline by itself.

pub mod control_law;
pub mod early;
pub mod flows;
pub mod limit;
pub mod pace;
pub mod ticks;

//! What several disciplines are made of; no discipline by itself.

pub mod control_law;
pub mod flows;
pub mod limit;
pub mod ticks;

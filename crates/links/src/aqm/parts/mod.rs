//! Building blocks shared by disciplines.

pub mod control_law;
pub mod early;
pub mod flows;
pub mod limit;
pub mod pace;
pub mod ticks;

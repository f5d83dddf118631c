//! What several controllers are made of; no algorithm by itself.

pub mod bandwidth;
pub mod policer;
pub mod quantum;
pub mod restraint;
pub mod rounds;
pub mod window;
pub mod windowed_max;

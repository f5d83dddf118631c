//! What several controllers are made of; no algorithm by itself.

pub mod bandwidth;
pub mod queueing_delay;
pub mod rounds;
pub mod window;

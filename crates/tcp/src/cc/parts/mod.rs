//! What several controllers are made of; no algorithm by itself.

pub mod bandwidth;
pub mod rounds;
pub mod window;

//! What several controllers are made of; no algorithm by itself.

pub mod bandwidth;
pub mod extreme;
pub mod forecaster;
pub mod marking;
pub mod profile;
pub mod rounds;
pub mod window;

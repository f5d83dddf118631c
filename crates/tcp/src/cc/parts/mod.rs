//! Components shared by several controllers.

pub mod bandwidth;
pub mod extreme;
pub mod forecaster;
pub mod marking;
pub mod policer;
pub mod profile;
pub mod quantum;
pub mod restraint;
pub mod rounds;
pub mod window;
pub mod windowed_max;

//! The engine as pages use it, in a browser (`crates/web`) and behind `airwnd play` (`crates/py`).
//!
//! * [`Checked`]: a scenario that was read and checked, with errors as on the command line.
//! * [`Session`]: a simulation that advances in steps.
//! * [`describe`]: an algorithm with its parameters, as `airwnd explain` has it.

mod describe;
mod packets;
mod session;

pub use describe::describe;
pub use session::{Checked, Session};

//! The engine for web pages: scenarios and simulations whose values JavaScript can read.
//!
//! * [`Checked`]: a scenario that was read and checked, with errors as on the command line.
//! * [`Session`]: a simulation that advances in steps.
//! * [`describe`]: an algorithm with its parameters, as `airwnd explain` has it.
//!
//! On `wasm32` the module `bindings` has a JavaScript class for each. Everything else also compiles, and is tested, for
//! the machine that builds it.

#[cfg(target_arch = "wasm32")]
mod bindings;
mod describe;
mod packets;
mod session;

pub use describe::describe;
pub use session::{Checked, Session};

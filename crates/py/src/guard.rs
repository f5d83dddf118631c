//! The receive-window control of this machine.

use pyo3::prelude::*;

/// Runs `airwnd guard` with these arguments; returns the exit code. Blocks until SIGINT or SIGTERM.
#[pyfunction]
pub fn guard(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| airwnd_guard::main("airwnd guard", arguments.into_iter().map(Into::into)))
}

/// Describes the command line of `airwnd guard` as JSON.
#[pyfunction]
pub fn guard_commands() -> String {
    airwnd_guard::commands().to_string()
}

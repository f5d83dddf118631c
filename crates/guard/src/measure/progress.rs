//! The progress of a test on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

/// A line on standard error that is overwritten, and removed with the value; nothing unless it is a terminal.
pub(super) struct Progress {
    total: Duration,
    is_shown: bool,
}

impl Progress {
    pub fn new(total: Duration) -> Progress {
        Progress { total, is_shown: io::stderr().is_terminal() }
    }

    /// Shows the phase and the time.
    pub fn show(&self, phase: &str, elapsed: Duration) {
        if self.is_shown {
            let (elapsed, total) = (elapsed.as_secs(), self.total.as_secs());
            self.write(&format!("{elapsed} of {total} s: {phase}"));
        }
    }

    fn write(&self, text: &str) {
        // To the start of the line, and erase to its end (ECMA-48, EL).
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            self.write("");
        }
    }
}

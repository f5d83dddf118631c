//! A user's mistake, in one line.

use crate::Node;
use std::fmt::{self, Write as _};

/// What is wrong with an input, where, and what is allowed.
///
/// Prints as `file:line: key: message`; the line is missing where the input has none (`--set`, Python).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    source: String,
    line: Option<usize>,
    key: String,
    message: String,
}

impl Error {
    /// An error about an input as a whole.
    pub fn new(source: &str, line: Option<usize>, message: impl Into<String>) -> Error {
        Error { source: source.into(), line, key: String::new(), message: message.into() }
    }

    /// The line of the input that is to blame, if it has lines.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The same error with the place in `node` at which its key was written, if it is one of the scenario `name`, which was
    /// read from `node`.
    pub fn located(self, name: &str, node: &Node) -> Error {
        if self.line.is_some() || self.source != name {
            return self;
        }
        let at = node.nearest(&self.key);
        let line = at.line().filter(|_| !self.key.is_empty());
        Error { source: at.origin().into(), line, ..self }
    }

    /// The same error, known to have happened under `key`.
    pub fn within(mut self, key: &str) -> Error {
        self.key = joined(key, &self.key);
        self
    }
}

/// The path of what is at `inner` within the value of `key`.
pub(crate) fn joined(key: &str, inner: &str) -> String {
    match inner {
        "" => key.to_string(),
        place if place.starts_with('[') => format!("{key}{place}"),
        name => format!("{key}.{name}"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            f.write_str(": ")?;
            write_line(f, &self.key)?;
        }
        f.write_str(": ")?;
        write_line(f, &self.message)
    }
}

/// What a user wrote may hold line breaks; an error stays on its line.
fn write_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_control() {
            write!(f, "{}", c.escape_default())?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}

impl std::error::Error for Error {}

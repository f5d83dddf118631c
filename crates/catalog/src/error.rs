//! Input errors as one-line messages.

use crate::Node;
use std::fmt::{self, Write as _};

/// An error in an input: the place, the problem, and what is allowed.
///
/// Prints as `file:line: key: message`; without the line if the input has none (`--set`, Python).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    source: String,
    line: Option<usize>,
    key: String,
    message: String,
}

impl Error {
    /// Creates an error about an input as a whole.
    pub fn new(source: &str, line: Option<usize>, message: impl Into<String>) -> Error {
        Error { source: source.into(), line, key: String::new(), message: message.into() }
    }

    /// Line of the error, if the input has lines.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Adds the place of the key in `node`, if this is an error of the scenario `name`, which was read from `node`.
    pub fn located(self, name: &str, node: &Node) -> Error {
        if self.line.is_some() || self.source != name {
            return self;
        }
        let at = node.nearest(&self.key);
        let line = at.line().filter(|_| !self.key.is_empty());
        Error { source: at.origin().into(), line, ..self }
    }

    /// Prefixes the path of the error with `key`.
    pub fn within(mut self, key: &str) -> Error {
        self.key = joined(key, &self.key);
        self
    }
}

/// Joins `key` and the path `inner` within its value.
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
        write_message(f, &self.message)
    }
}

/// Longest word of a message, in characters.
const LONGEST_WORD: usize = 200;

/// Writes a message, its long words cut: a value that the user wrote may have any length.
fn write_message(f: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    for (index, word) in message.split(' ').enumerate() {
        if index > 0 {
            f.write_char(' ')?;
        }
        match word.char_indices().nth(LONGEST_WORD) {
            Some((end, _)) => {
                write_line(f, &word[..end])?;
                f.write_char('…')?;
            }
            None => write_line(f, word)?,
        }
    }
    Ok(())
}

/// Escapes control characters: user input may contain line breaks, but an error is one line.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut() {
        let message = format!("`{}` is not a unit;  allowed: m", "é".repeat(100_000));
        let shown = format!("s.toml:1: `{}… is not a unit;  allowed: m", "é".repeat(LONGEST_WORD - 1));
        assert_eq!(Error::new("s.toml", Some(1), message).to_string(), shown);
        let path = "é".repeat(LONGEST_WORD);
        assert_eq!(Error::new("s.toml", None, path.as_str()).to_string(), format!("s.toml: {path}"));
    }
}

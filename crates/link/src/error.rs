//! Errors of a session.

use std::fmt;

/// Why a session cannot be run, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An error in the scenario or of its simulation.
    Scenario(airwnd_catalog::Error),
    /// Refusal by this machine, or a command that cannot be started.
    System(String),
}

impl Error {
    /// An error of a file.
    pub(crate) fn of_file(path: &std::path::Path, error: &std::io::Error) -> Error {
        let reason = match error.raw_os_error() {
            Some(number) => nix::errno::Errno::from_raw(number).desc().to_string(),
            None => error.to_string(),
        };
        Error::System(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Scenario(error) => error.fmt(f),
            Error::System(message) => f.write_str(message),
        }
    }
}

impl From<airwnd_catalog::Error> for Error {
    fn from(error: airwnd_catalog::Error) -> Error {
        Error::Scenario(error)
    }
}

impl From<airwnd_netns::Error> for Error {
    fn from(error: airwnd_netns::Error) -> Error {
        Error::System(error.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::System(error.to_string())
    }
}

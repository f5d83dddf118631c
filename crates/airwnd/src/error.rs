//! Errors of the owner of a path.

use airwnd_catalog::Error;
use std::fmt;
use std::time::Duration;

/// A call that a [`Path`](crate::Path) rejects, or a simulation that has failed.
///
/// A rejected call changes nothing, and the path can be used further. After [`PathError::Failed`] every call that
/// advances time returns the same error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// A time before the present of the path.
    TimeWentBack {
        /// Time of the call.
        to: Duration,
        /// Present of the path.
        now: Duration,
    },
    /// A time beyond [`Path::MAX_TIME`](crate::Path::MAX_TIME).
    TimeTooLarge(Duration),
    /// A UE that the scenario does not have.
    UnknownUe {
        /// Name or number in the call.
        ue: String,
        /// Names of the scenario's UEs, abridged.
        known: String,
    },
    /// A flow that was opened on no path, or on another one with more flows.
    UnknownFlow(usize),
    /// A flow after [`Path::close`](crate::Path::close).
    ClosedFlow(usize),
    /// A differentiated services code point above 63.
    UnknownCodePoint(u8),
    /// More flows than [`Path::MAX_FLOWS`](crate::Path::MAX_FLOWS).
    TooManyFlows,
    /// A packet without a byte.
    EmptyPacket,
    /// A datagram that does not fit into an IP packet.
    Oversized {
        /// Size of the datagram in bytes.
        size: usize,
        /// Maximum size of a datagram of this flow in bytes.
        max: usize,
    },
    /// An endpoint in [`Path::run`](crate::Path::run) that acts without end at one instant.
    Stuck {
        /// The instant.
        at: Duration,
        /// Behaviour of the endpoint, as the end of a sentence.
        what: &'static str,
    },
    /// The simulation has failed: a memory limit, or a simulated flow whose external congestion control has failed.
    Failed(Error),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::TimeWentBack { to, now } => {
                write!(f, "time {to:?} is before the path's present, {now:?}")
            }
            PathError::TimeTooLarge(to) => {
                write!(f, "time {to:?} is too large; a path ends at {:?}", crate::Path::MAX_TIME)
            }
            PathError::UnknownUe { ue, known } => write!(f, "there is no UE `{ue}`; UEs: {known}"),
            PathError::UnknownFlow(flow) => write!(f, "flow {flow} was not opened on this path"),
            PathError::ClosedFlow(flow) => write!(f, "flow {flow} is closed"),
            PathError::UnknownCodePoint(dscp) => {
                write!(f, "dscp: expected a number from 0 to 63, found {dscp}")
            }
            PathError::TooManyFlows => write!(f, "a path has at most {} flows", crate::Path::MAX_FLOWS),
            PathError::EmptyPacket => write!(f, "a packet needs at least one byte"),
            PathError::Oversized { size, max } => {
                write!(f, "a datagram of {size} bytes is too large; maximum: {max}")
            }
            PathError::Stuck { at, what } => write!(f, "at {at:?} an endpoint {what}"),
            PathError::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PathError {}

impl From<Error> for PathError {
    fn from(error: Error) -> PathError {
        PathError::Failed(error)
    }
}

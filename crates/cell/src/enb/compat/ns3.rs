//! Belief of a cell in ns-3 LENA.

use super::super::belief::{Belief, BufferNews};
use airwnd_units::Bytes;

/// Ideal reports are all that a cell has; blocks say nothing, and lost grants are not noticed.
pub(super) struct Told;

impl Belief for Told {
    fn notices_lost_grants(&self) -> bool {
        false
    }

    fn of_given_up_block(&self) -> Option<BufferNews> {
        None
    }

    fn of_block(&self, _reported: Option<Bytes>, _granted: u64) -> Option<BufferNews> {
        None
    }
}

//! Medium access control: scheduling, HARQ, buffer status, power control.

mod block;
pub mod configured_grant;
pub(crate) mod control_elements;
pub mod drx;
pub mod outer_loop;
pub mod pdcch;
pub mod power_control;
pub(crate) mod prioritization;
pub mod scell;
pub mod sched;
pub(crate) mod slots;
pub mod uplink_adaptation;
pub mod uplink_sched;

pub(crate) use block::{Block, Content};
pub use block::{BlockFigures, Reception};

/// Reserves capacity for this many entries in total.
pub(crate) fn make_room<T>(list: &mut Vec<T>, max: usize) {
    list.reserve(max.saturating_sub(list.len()));
}

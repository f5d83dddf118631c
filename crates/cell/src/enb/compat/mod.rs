//! Beliefs of cells in their UEs' backlogs in other simulators, for comparisons.

mod lena;
mod ns3;

use super::belief::{Belief, Standard};
use crate::settings::BufferReports;

/// The rules of a network's cells.
pub(super) fn belief(reports: BufferReports) -> &'static dyn Belief {
    match reports {
        BufferReports::Requested => &Standard,
        BufferReports::Ideal => &ns3::Told,
        BufferReports::Lena => &lena::Newest,
    }
}

//! The MAC of UEs in other simulators, for comparisons.

mod lena;
mod ns3;

use super::report_rules::{ReportRules, Standard};
use crate::settings::BufferReports;

/// The rules of a network's UEs.
pub(super) fn report_rules(reports: BufferReports) -> &'static dyn ReportRules {
    match reports {
        BufferReports::Requested => &Standard,
        BufferReports::Ideal => &ns3::Ideal,
        BufferReports::Lena => &lena::EachBlock,
    }
}

//! What can be chosen, and how a scenario is written.

use crate::{Scenario, arrivals, placement, size, traffic};
use airwnd_catalog::{FamilyInfo, Param};
use airwnd_cell::{handover, mac, mobility, phy};
use airwnd_links::{aqm, link, loss};
use airwnd_rwnd as rwnd;
use airwnd_tcp::cc;

/// Every family with its algorithms and their parameters.
pub fn catalogue() -> Vec<FamilyInfo> {
    vec![
        cc::Spec::catalogue(),
        cc::slow_start::Spec::catalogue(),
        rwnd::Spec::catalogue(),
        aqm::Spec::catalogue(),
        mac::sched::Spec::catalogue(),
        mac::uplink_sched::Spec::catalogue(),
        handover::Spec::catalogue(),
        phy::amc::Spec::catalogue(),
        phy::error_model::Spec::catalogue(),
        phy::propagation::Spec::catalogue(),
        phy::fading::Spec::catalogue(),
        phy::antenna::Spec::catalogue(),
        link::Spec::catalogue(),
        loss::Spec::catalogue(),
        traffic::Spec::catalogue(),
        arrivals::Spec::catalogue(),
        size::Spec::catalogue(),
        placement::Spec::catalogue(),
        mobility::Spec::catalogue(),
    ]
}

/// The JSON Schema of a scenario, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = Scenario::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "airwnd scenario".into();
    schema
}

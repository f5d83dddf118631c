//! Catalogue of algorithms, scenario sections, TCP stacks and result tables.

mod limits;
mod preset_values;
mod quirks;

pub use limits::{LIMIT_TOPICS, Limit, limits};
pub use preset_values::{PresetInfo, PresetValue, presets};
pub use quirks::{CompatInfo, compats};

use crate::results::columns::{ColumnInfo, Row};
use crate::results::incidents::Event;
use crate::results::outcome::{
    BearerRow, CellRow, CompletionRow, ConnectionRow, Conservation, FlowRow, GroupRow, LinkRow, RunRow,
    Totals, UeRow,
};
use crate::results::radio::{BlockRow, ControlRow, DrxRow, GrantRow, PduRow, RrcRow, SduRow};
use crate::results::records::AllocationRow;
use crate::results::series::Sample;
use crate::scenario::compat::QuirkInfo;
use crate::scenario::{arrivals, placement, size, traffic};
use crate::simulation::SocketRow;
use crate::{
    Core, DedicatedBearer, Flow, LinkSettings, PacketFilter, Reroute, Scenario, Shaper, Site, UeGroup,
};
use airwnd_catalog::{FamilyInfo, Node, Param, ParamSet, SectionInfo};
use airwnd_cell::{Carrier, Mac, RadioSettings, Rlc, SecondaryCarrier, handover, mac, mobility, replay, rrc};
use airwnd_links::link::{self, Duplicate, Jitter, Police, Reorder, Tbf};
use airwnd_links::{aqm, loss};
use airwnd_phy::{self as phy, access, amc};
use airwnd_rlc as rlc;
use airwnd_rwnd as rwnd;
use airwnd_shape as shape;
use airwnd_tcp::{OtherQuirks, Overrides, Settings, Stack, cc};
use serde_json::json;

/// All families with their algorithms and parameters.
pub fn catalogue() -> Vec<FamilyInfo> {
    vec![
        cc::Spec::catalogue(),
        cc::slow_start::Spec::catalogue(),
        rwnd::Spec::catalogue(),
        aqm::Spec::catalogue(),
        mac::sched::Spec::catalogue(),
        mac::uplink_sched::Spec::catalogue(),
        handover::Spec::catalogue(),
        access::Spec::catalogue(),
        amc::Spec::catalogue(),
        phy::error_model::Spec::catalogue(),
        phy::propagation::Spec::catalogue(),
        phy::fading::Spec::catalogue(),
        phy::antenna::Spec::catalogue(),
        link::Spec::catalogue(),
        loss::Spec::catalogue(),
        shape::Spec::catalogue(),
        traffic::Spec::catalogue(),
        arrivals::Spec::catalogue(),
        size::Spec::catalogue(),
        placement::Spec::catalogue(),
        mobility::Spec::catalogue(),
    ]
}

/// JSON Schema of a scenario, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = Scenario::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "airwnd scenario".into();
    schema
}

/// Sections of a scenario, each with its keys.
pub fn sections() -> Vec<SectionInfo> {
    vec![
        SectionInfo::of::<Scenario>(""),
        SectionInfo::of::<Settings>("[tcp]"),
        SectionInfo::of::<Core>("[core]"),
        SectionInfo::of::<Carrier>("[carrier]"),
        SectionInfo::of::<SecondaryCarrier>("[[carrier.secondary]]"),
        SectionInfo::of::<RadioSettings>("[radio]"),
        SectionInfo::of::<phy::shadowing::Params>("[radio.shadowing]"),
        SectionInfo::of::<phy::blockage::Params>("[radio.blockage]"),
        SectionInfo::of::<Mac>("[mac]"),
        SectionInfo::of::<mac::outer_loop::Params>("[mac.olla]"),
        SectionInfo::of::<mac::power_control::Params>("[mac.power_control]"),
        SectionInfo::of::<mac::pdcch::Params>("[mac.pdcch]"),
        SectionInfo::of::<mac::drx::Params>("[mac.drx]"),
        SectionInfo::of::<mac::scell::Params>("[mac.scell]"),
        SectionInfo::of::<Rlc>("[rlc]"),
        SectionInfo::of::<rlc::um::Params>("[rlc.um]"),
        SectionInfo::of::<rlc::am::Params>("[rlc.am]"),
        SectionInfo::of::<rrc::Params>("[rrc]"),
        SectionInfo::of::<handover::Settings>("[handover]"),
        SectionInfo::of::<handover::LinkFailure>("[handover.link_failure]"),
        SectionInfo::of::<LinkSettings>("[[link]]"),
        SectionInfo::of::<Reroute>("[[link.reroute]]"),
        SectionInfo::of::<Jitter>("[link.jitter]"),
        SectionInfo::of::<Jitter>("[link.jitter_up]"),
        SectionInfo::of::<Reorder>("[link.reorder]"),
        SectionInfo::of::<Reorder>("[link.reorder_up]"),
        SectionInfo::of::<Duplicate>("[link.duplicate]"),
        SectionInfo::of::<Duplicate>("[link.duplicate_up]"),
        SectionInfo::of::<Police>("[link.police]"),
        SectionInfo::of::<Police>("[link.police_up]"),
        SectionInfo::of::<Tbf>("[link.tbf]"),
        SectionInfo::of::<Tbf>("[link.tbf_up]"),
        SectionInfo::of::<Site>("[[site]]"),
        SectionInfo::of::<UeGroup>("[[ue]]"),
        SectionInfo::of::<Shaper>("[ue.shaper]"),
        SectionInfo::of::<replay::Params>("[ue.replay]"),
        SectionInfo::of::<mac::configured_grant::Params>("[ue.configured_grant]"),
        SectionInfo::of::<DedicatedBearer>("[[ue.bearer]]"),
        SectionInfo::of::<PacketFilter>("[[ue.bearer.filter]]"),
        SectionInfo::of::<Flow>("[[flow]]"),
        SectionInfo::of::<Overrides>("[flow.tcp]"),
    ]
}

/// A TCP stack, selected by `tcp.stack`.
#[derive(Clone, Debug, PartialEq)]
pub struct StackInfo {
    /// Name that selects it.
    pub name: &'static str,
    /// Values of all other keys of `[tcp]` for this stack.
    pub values: Vec<(&'static str, serde_json::Value)>,
    /// Its quirks.
    pub quirks: Vec<QuirkInfo>,
}

/// All TCP stacks.
pub fn stacks() -> Vec<StackInfo> {
    let without = Stack::Linux.config().quirks.entries();
    let quirks = |stack: &Stack| {
        let mut quirks = Vec::new();
        let values = stack.config().quirks.entries();
        for (((name, value), (_, default)), info) in
            values.into_iter().zip(&without).zip(OtherQuirks::infos())
        {
            if value != *default {
                quirks.push(QuirkInfo {
                    section: "tcp".into(),
                    name: name.into(),
                    meaning: info.meaning,
                    value,
                    default: default.clone(),
                    source: info.source.into(),
                });
            }
        }
        quirks
    };
    let info = |stack: &Stack| StackInfo {
        name: stack.word(),
        values: stack.config().entries(),
        quirks: quirks(stack),
    };
    Stack::ALL.iter().map(info).collect()
}

/// Names of the congestion controls that need ECN, and so a queue that marks.
pub fn controls_of_marks() -> Vec<String> {
    kinds_that(cc::Spec::kinds(), |spec: cc::Spec| spec.needed_ecn().is_some())
}

/// Kinds of traffic over UDP; sources from outside declare their transport.
pub fn udp_traffic() -> Vec<String> {
    kinds_that(traffic::Spec::kinds(), |spec: traffic::Spec| spec.transport() == traffic::Transport::Udp)
}

/// Kinds whose default values satisfy a condition. A member without defaults comes from outside, and is none of them.
fn kinds_that<S: Param>(kinds: Vec<String>, holds: impl Fn(S) -> bool) -> Vec<String> {
    let spec = |kind: &String| {
        Node::from_json(&json!(kind).to_string(), "catalogue").and_then(|node| S::read(&node))
    };
    kinds.into_iter().filter(|kind| spec(kind).is_ok_and(&holds)).collect()
}

/// A table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Name in JSON, Python and measures.
    pub name: &'static str,
    /// Meaning of a row.
    pub meaning: &'static str,
    /// Columns, in order.
    pub columns: &'static [ColumnInfo],
}

/// Tables of a run: those with one row, then those of figures, then the long ones, which are stored by columns.
pub fn tables() -> Vec<TableInfo> {
    fn of<R: Row>(name: &'static str) -> TableInfo {
        TableInfo { name, meaning: R::MEANING, columns: R::columns() }
    }
    vec![
        of::<RunRow>("run"),
        of::<Totals>("totals"),
        of::<Conservation>("conservation"),
        of::<FlowRow>("flows"),
        of::<GroupRow>("groups"),
        of::<CellRow>("cells"),
        of::<LinkRow>("links"),
        of::<UeRow>("ues"),
        of::<BearerRow>("bearers"),
        of::<ConnectionRow>("connections"),
        of::<Sample>("series"),
        of::<Event>("events"),
        of::<AllocationRow>("allocations"),
        of::<CompletionRow>("completions"),
        of::<SocketRow>("sockets"),
        of::<GrantRow>("radio_grants"),
        of::<BlockRow>("radio_blocks"),
        of::<ControlRow>("radio_control"),
        of::<DrxRow>("radio_drx"),
        of::<PduRow>("radio_pdus"),
        of::<SduRow>("radio_sdus"),
        of::<RrcRow>("radio_rrc"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The unit is part of the name, because users of JSON see the name only.
    #[test]
    fn names_end_with_their_units() {
        let suffixes = [
            ("_s", "s"),
            ("_ms", "ms"),
            ("_kbps", "kbit/s"),
            ("_percent", "%"),
            ("_bytes", "bytes"),
            ("_packets", "packets"),
            ("_db", "dB"),
            ("_dbm", "dBm"),
            ("_m", "m"),
            ("_prbs", "PRB"),
        ];
        for table in tables() {
            for column in table.columns {
                let ends = |name: &str| suffixes.iter().find(|(suffix, _)| name.ends_with(suffix));
                let parts = column.name.match_indices('_').map(|(at, _)| &column.name[..at]);
                let unit = parts.chain([column.name.as_str()]).filter_map(ends).next();
                let named = match (unit, column.name.as_str()) {
                    (Some((_, unit)), _) => unit,
                    (None, "bytes") => "bytes",
                    (None, "spectral_efficiency") => "bit/s/Hz",
                    (None, _) => "1",
                };
                assert_eq!(column.unit, named, "{}.{}", table.name, column.name);
            }
        }
    }

    #[test]
    fn each_column_is_declared_once_with_a_sentence() {
        for table in tables() {
            let mut seen = BTreeSet::new();
            for column in table.columns {
                assert!(seen.insert(&column.name), "{}.{} is duplicated", table.name, column.name);
                assert!(column.meaning.ends_with('.'), "{}.{}", table.name, column.name);
                let explained = |word: &&str| column.meaning.contains(&format!("`{word}`"));
                // Causes are explained in the totals.
                let is_explained = column.name == "cause" || column.kind.words().iter().all(explained);
                assert!(is_explained, "{}.{} does not explain its words", table.name, column.name);
            }
        }
    }
}

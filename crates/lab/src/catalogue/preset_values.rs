//! Values of presets, for the reference, `airwnd list` and `airwnd explain`.

use crate::Scenario;
use crate::catalogue::catalogue;
use crate::scenario::preset::{Preset, entries};
use airwnd_catalog::{Node, Value};
use airwnd_tcp::Settings;
use serde_json::Value as Json;

/// A preset and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetInfo {
    /// Name that selects it.
    pub name: &'static str,
    /// Summary: the comment at the beginning of its file.
    pub summary: String,
    /// Values, in the order of the file.
    pub values: Vec<PresetValue>,
}

/// A value of a preset.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetValue {
    /// Section, such as `tcp` or `ue`, or family member, such as `aqm/codel`.
    pub section: String,
    /// Key in the section.
    pub key: String,
    /// Value.
    pub value: Json,
    /// Default of airwnd; null: no value.
    pub default: Json,
    /// Source of the value.
    pub source: String,
}

/// All presets with their values, next to the defaults of airwnd.
pub fn presets() -> Vec<PresetInfo> {
    Preset::ALL.into_iter().map(info).collect()
}

fn info(preset: Preset) -> PresetInfo {
    let head = preset.text().lines().map_while(|line| line.strip_prefix("# "));
    let mut listing =
        Listing { lines: preset.text().lines().collect(), own: own_defaults(), values: Vec::new() };
    let defaults = preset.defaults();
    listing.sections("", defaults.sections());
    listing.members(defaults.families());
    PresetInfo { name: preset.word(), summary: head.collect::<Vec<_>>().join(" "), values: listing.values }
}

/// Lists a preset's values.
struct Listing {
    lines: Vec<&'static str>,
    /// Defaults of airwnd in the structure of a scenario.
    own: Json,
    values: Vec<PresetValue>,
}

impl Listing {
    fn sections(&mut self, section: &str, node: &Node) {
        for (key, value) in entries(node) {
            let inner = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
            match &value.value {
                Value::Table(_) if value.entry("kind").is_none() => self.sections(&inner, value),
                Value::List(items) if items.first().is_some_and(|item| !entries(item).is_empty()) => {
                    self.sections(&inner, &items[0]);
                }
                _ => {
                    let path = format!("/{}", inner.replace('.', "/"));
                    let default = self.own.pointer(&path).cloned().unwrap_or_default();
                    self.push(section, key, value, default);
                }
            }
        }
    }

    fn members(&mut self, families: &Node) {
        let catalogue = catalogue();
        for (name, family) in entries(families) {
            for (kind, member) in entries(family) {
                let known = catalogue.iter().find(|family| family.name == name);
                let known = known.and_then(|family| family.members.iter().find(|known| known.name == *kind));
                for (key, value) in entries(member) {
                    let param = known.and_then(|known| known.params.iter().find(|param| param.name == key));
                    let default = param.and_then(|param| param.default.clone()).unwrap_or_default();
                    self.push(&format!("{name}/{kind}"), key, value, default);
                }
            }
        }
    }

    fn push(&mut self, section: &str, key: &str, value: &Node, default: Json) {
        let line = value.line().and_then(|line| self.lines.get(line - 1));
        let source = line.and_then(|line| line.rsplit_once(" # ")).map_or("", |(_, source)| source);
        let value = value.to_json().unwrap_or_else(|error| panic!("{error}"));
        let (section, key, source) = (section.into(), key.into(), source.into());
        self.values.push(PresetValue { section, key, value, default, source });
    }
}

/// Resolves a scenario without a preset; each repeated section is replaced by its first entry.
fn own_defaults() -> Json {
    let text = "duration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[site]]\n[[ue]]\n[[flow]]\n";
    let scenario = Node::from_toml(text, "defaults").and_then(|node| Scenario::from_node(&node));
    let mut json = scenario.unwrap_or_else(|error| panic!("{error}")).to_json();
    for section in ["link", "site", "ue", "flow"] {
        json[section] = json[section][0].take();
    }
    let Settings { stack, .. } = Settings::default();
    for (key, value) in stack.config().entries() {
        json["tcp"][key] = value;
    }
    json
}

#[cfg(test)]
pub(crate) mod tests_support {
    /// Returns a scenario that selects a family member, and the JSON pointer to its parameters in the resolved
    /// scenario.
    pub(crate) fn choosing(preset: &str, family: &str, kind: &str) -> (String, String) {
        let (place, path) = match family {
            "cc" => (format!("flow.cc = \"{kind}\""), "/flow/0/cc".to_string()),
            "slow-start" => (
                format!("flow.cc = {{kind = \"newreno\", slow_start = \"{kind}\"}}"),
                "/flow/0/cc/slow_start".into(),
            ),
            "rwnd" => (format!("flow.rwnd = \"{kind}\""), "/flow/0/rwnd".into()),
            "aqm" => (format!("core.server_aqm = \"{kind}\""), "/core/server_aqm".into()),
            "sched" => (format!("mac.scheduler = \"{kind}\""), "/mac/scheduler".into()),
            "uplink-sched" => (format!("mac.uplink_scheduler = \"{kind}\""), "/mac/uplink_scheduler".into()),
            "handover" => (format!("handover.algorithm = \"{kind}\""), "/handover/algorithm".into()),
            "antenna" => (format!("site.antenna = \"{kind}\""), "/site/0/antenna".into()),
            "error-model" => (format!("radio.error_model = \"{kind}\""), "/radio/error_model".into()),
            "link" => ("link.rate = \"1Mbps\"".into(), "/link/0".into()),
            "traffic" => (format!("flow.traffic = \"{kind}\""), "/flow/0/traffic".into()),
            "access" | "amc" | "propagation" | "fading" => {
                (format!("radio.{family} = \"{kind}\""), format!("/radio/{family}"))
            }
            other => panic!("no scenario selects a member of {other}"),
        };
        let (mut flow, mut site, mut top) = (String::new(), String::new(), String::new());
        match place.split_once('.') {
            Some(("flow", rest)) => flow = rest.into(),
            Some(("site", rest)) => site = rest.into(),
            Some(("link", rest)) => top = format!("[[link]]\n{rest}"),
            _ => top = place,
        }
        let text = format!(
            "preset = \"{preset}\"\nduration = \"1s\"\n{top}\n[[site]]\n{site}\n[[ue]]\n[[flow]]\n{flow}\n"
        );
        (text, path)
    }
}

#[cfg(test)]
mod tests {
    use super::tests_support::choosing;
    use super::*;

    fn scenario(toml: &str) -> Result<Scenario, String> {
        let node = Node::from_toml(toml, "s.toml").map_err(|error| error.to_string())?;
        Scenario::from_node(&node).map_err(|error| error.to_string())
    }

    /// Returns whether a resolved value equals a preset's: a member by its `kind`, `none` as a missing value.
    fn agrees(resolved: &Json, value: &Json) -> bool {
        let is_none = resolved.is_null() && value == "none";
        is_none || resolved == value || resolved.get("kind").is_some_and(|kind| kind == value)
    }

    #[test]
    fn every_value_of_a_preset_takes_effect_and_has_a_source() {
        for PresetInfo { name, summary, values } in presets() {
            assert!(summary.ends_with('.'), "{name}: {summary}");
            for PresetValue { section, key, value, source, .. } in values {
                assert!(
                    !source.is_empty(),
                    "{name}: {section}.{key}: the source must follow the value, as in `1 # Class::Attribute`"
                );
                let (text, path) = match section.split_once('/') {
                    Some((family, kind)) => choosing(name, family, kind),
                    None => {
                        let text = format!(
                            "preset = \"{name}\"\nduration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\n[[site]]\n[[ue]]\n[[flow]]\n"
                        );
                        let [first, rest] = match section.split_once('.') {
                            Some((first, rest)) => [first, rest],
                            None => [&section, ""],
                        };
                        let index = if ["link", "site", "ue", "flow"].contains(&first) { "/0" } else { "" };
                        let rest = if rest.is_empty() {
                            String::new()
                        } else {
                            format!("/{}", rest.replace('.', "/"))
                        };
                        (
                            text,
                            if first.is_empty() { String::new() } else { format!("/{first}{index}{rest}") },
                        )
                    }
                };
                let resolved = scenario(&text).unwrap_or_else(|error| panic!("{error}")).to_json();
                let arrived = resolved.pointer(&format!("{path}/{key}")).unwrap_or(&Json::Null);
                assert!(agrees(arrived, &value), "{name}: {section}.{key}: {value}, resolved {arrived}");
            }
        }
    }

    #[test]
    fn a_resolved_preset_reads_back_without_the_preset() {
        for PresetInfo { name, .. } in presets() {
            let text = format!(
                "preset = \"{name}\"\nduration = \"1s\"\n[[link]]\nrate = \"1Mbps\"\naqm = \"codel\"\n\
                 [[site]]\n[[ue]]\n[[flow]]\ncc = \"cubic\"\n"
            );
            let named = scenario(&text).unwrap().to_json();
            let mut written = named.clone();
            written["preset"] = "none".into();
            let node = Node::from_json(&written.to_string(), "s.json").unwrap();
            assert_eq!(Scenario::from_node(&node).unwrap().to_json(), written, "{name}");
        }
    }

    #[test]
    fn keys_of_the_scenario_take_precedence() {
        let text = "preset = \"ns3.44\"\nduration = \"1s\"\nrlc.am = {poll_pdu = 7}\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n\
                    [[ue]]\nname = \"b\"\nnoise_figure = \"7dB\"\n[[flow]]\ncc = {kind = \"cubic\", beta = 0.5}\n\
                    [[flow]]\nid = \"b\"\ncc = {kind = \"cubic\", slow_start = \"standard\"}\n";
        let resolved = scenario(text).unwrap().to_json();
        assert_eq!(resolved["rlc"]["am"]["poll_pdu"], 7);
        assert_eq!(resolved["rlc"]["am"]["poll_byte"], "50B");
        assert_eq!([&resolved["ue"][0]["noise_figure"], &resolved["ue"][1]["noise_figure"]], ["9dB", "7dB"]);
        let [first, second] = [&resolved["flow"][0]["cc"], &resolved["flow"][1]["cc"]];
        assert_eq!((&first["beta"], &first["variant"]), (&0.5.into(), &"linux".into()));
        assert_eq!(
            (&first["slow_start"]["kind"], &first["slow_start"]["delay_max"]),
            (&"hystart".into(), &"1s".into())
        );
        assert_eq!(second["slow_start"]["kind"], "standard");
        assert_eq!(resolved["compat"], "ns3.44");
    }

    /// The values of ns-3's TCP do not apply to another stack.
    #[test]
    fn another_stack_is_not_affected_by_the_preset() {
        let text = "preset = \"ns3.44\"\nduration = \"1s\"\ntcp.stack = \"linux\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]\n";
        assert_eq!(scenario(text).unwrap().to_json()["tcp"], serde_json::json!({"stack": "linux"}));
    }

    #[test]
    fn an_unknown_preset_is_rejected_with_the_known_ones() {
        let text = "duration = \"1s\"\npreset = \"ns3.45\"\n[[link]]\nrate = \"1Mbps\"\n[[ue]]\n[[flow]]\n";
        assert_eq!(
            scenario(text).unwrap_err(),
            "s.toml:2: preset: unknown word `ns3.45`; did you mean `ns3.44`?; allowed: `none`, `airwnd-0.1`, `ns3.26`, `ns3.44`"
        );
    }
}

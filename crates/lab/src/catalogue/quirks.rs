//! Simulators with their quirks, for the reference, `airwnd list` and `airwnd explain`.

use crate::catalogue::{catalogue, sections};
use crate::scenario::compat::{Compat, QuirkInfo};
use crate::scenario::preset::entries;
use airwnd_catalog::{Defaults, Node, ParamInfo};

/// Quirks of a simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct CompatInfo {
    /// Name that selects it.
    pub name: &'static str,
    /// Summary: the comment at the beginning of its file.
    pub summary: String,
    /// Its quirks, in the order of the file.
    pub quirks: Vec<QuirkInfo>,
}

/// All simulators with their quirks.
pub fn compats() -> Vec<CompatInfo> {
    Compat::ALL.into_iter().map(info).collect()
}

fn info(compat: Compat) -> CompatInfo {
    let text = compat.text();
    let head = text.lines().map_while(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join(" ");
    let (table, lines) = (compat.table(), text.lines().collect::<Vec<_>>());
    let mut quirks = Vec::new();
    for (section, node, infos) in parts(&table) {
        for (name, value) in entries(node) {
            let Some(info) = infos.iter().find(|info| info.name == name) else { continue };
            let line = value.line().and_then(|line| lines.get(line - 1));
            let source = line.and_then(|line| line.rsplit_once(" # ")).map_or("", |(_, source)| source);
            quirks.push(QuirkInfo {
                section: section.clone(),
                name: name.clone(),
                meaning: info.meaning.clone(),
                value: value.to_json().unwrap_or_else(|error| panic!("{error}")),
                default: info.default.clone().unwrap_or_default(),
                source: source.into(),
            });
        }
    }
    CompatInfo { name: compat.word(), summary: head, quirks }
}

/// The parts of a table: each section and family member with its values and the quirks that it has.
fn parts(table: &Defaults) -> Vec<(String, &Node, Vec<ParamInfo>)> {
    let mut parts = Vec::new();
    for section in sections() {
        let path = section.heading.trim_matches(['[', ']']);
        let node = path.split('.').try_fold(table.sections(), |node, key| node.entry(key));
        parts.extend(node.map(|node| (path.to_string(), node, section.quirks)));
    }
    for family in catalogue() {
        for member in family.members {
            let node = table.member(family.name, &member.name);
            parts.extend(node.map(|node| (format!("{}/{}", family.name, member.name), node, member.quirks)));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::catalogue::preset_values::tests_support::choosing;
    use crate::scenario::compat::names;

    fn scenario(toml: &str) -> Result<Scenario, String> {
        let node = Node::from_toml(toml, "s.toml").map_err(|error| error.to_string())?;
        Scenario::from_node(&node).map_err(|error| error.to_string())
    }

    const REST: &str = "[[link]]\nrate = \"1Mbps\"\n[[site]]\n[[ue]]\n[[flow]]\n";

    #[test]
    fn every_quirk_takes_effect_and_has_a_source() {
        for compat in Compat::ALL {
            let CompatInfo { name, summary, quirks } = info(compat);
            assert!(summary.ends_with('.'), "{name}: {summary}");
            assert_eq!(quirks.len(), names(&compat.table()).len(), "{name}: a value of no quirk");
            for QuirkInfo { section, name: quirk, source, meaning, .. } in quirks {
                assert!(!source.is_empty() && !meaning.is_empty(), "{name}: {section}.{quirk}");
                let mut text = match section.split_once('/') {
                    Some((family, kind)) => choosing("none", family, kind).0,
                    None => format!("duration = \"1s\"\ntcp.stack = \"ns3.44\"\n{REST}"),
                };
                // A stack of airwnd 0.1 probed small windows, too.
                if quirk == "probe_small_windows" {
                    text = text.replace("ns3.44", "ns3.26");
                }
                let all = scenario(&format!("compat = \"{name}\"\n{text}")).unwrap();
                let others =
                    scenario(&format!("compat = \"{name}\"\ncompat_without = [\"{quirk}\"]\n{text}"))
                        .unwrap();
                let same_names = Scenario { compat_without: Vec::new(), ..others };
                // Without a quirk of TCP the stack's own does not apply either.
                assert!(all != same_names || section == "tcp", "{name}: {section}.{quirk}");
                assert_ne!(all, Scenario { compat, ..scenario(&text).unwrap() }, "{name}: {section}.{quirk}");
            }
        }
    }

    #[test]
    fn a_resolved_scenario_keeps_its_quirks() {
        let text = format!(
            "duration = \"1s\"\npreset = \"ns3.44\"\ncompat_without = [\"sixteen_bits\", \"prr_wraps\"]\n{REST}"
        );
        let resolved = scenario(&text).unwrap();
        assert!(!resolved.tcp.config().quirks.prr_wraps && resolved.tcp.config().quirks.recount_at_exit);
        let node = Node::from_json(&resolved.to_json().to_string(), "s.json").unwrap();
        assert_eq!(Scenario::from_node(&node).unwrap(), resolved);
    }

    #[test]
    fn a_quirk_is_no_key() {
        let refused = |top: &str, rest: &str| {
            scenario(&format!("duration = \"1s\"\n{top}\n{rest}\n{REST}")).unwrap_err()
        };
        assert_eq!(
            refused("rlc.am.conduct = \"ns-3\"", ""),
            "s.toml:2: rlc.am: `conduct` is a quirk of another simulator (ns-3 LteRlcAm: ns-3) and no key; `compat` \
             at the top of the scenario selects the quirks of one"
        );
        for key in ["tcp.prr_wraps = true", "core.server_aqm = {kind = \"red\", min_queue = 2}"] {
            let message = refused(key, "");
            assert!(message.contains("is a quirk") && message.contains("`compat`"), "{message}");
        }
        assert_eq!(
            refused("compat = \"ns2\"\ncompat_without = [\"min_queu\"]", ""),
            "s.toml:3: compat_without[0]: unknown quirk `min_queu`; did you mean `min_queue`?; allowed: \
             `count_sacked_retransmissions`, `grow_at_exit`, `min_queue`, `presumes_beyond`, \
             `probe_small_windows`, `prr_duplicate_credit`, `prr_wraps`, `recount_at_exit`, `sack_from_list`"
        );
    }
}

//! Rules that select the controller of a flow.

use crate::error::Error;
use crate::observation::Observation;
use crate::paths;
use airwnd_catalog::{Fault, Node, Param, Params, Value};
use airwnd_rwnd::{Spec, drwa, standing};
use airwnd_units::Span;
use std::collections::HashSet;
use std::net::IpAddr;

/// lambda of `drwa` for flows without timestamps: the queue is a quarter of that with the default of 3, and a download
/// has three quarters or more of its throughput on every link that was measured (experiments/guard/RESULTS.md).
const LAMBDA_WITHOUT_TIMESTAMPS: f64 = 1.5;

/// A rules file.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd guard")]
struct Document {
    /// Rules in the order in which they are tried.
    #[param(unit = "rules", source = "the rules file")]
    rule: Vec<Entry>,
    /// Least RTTs of paths.
    #[param(default = PathRules::default(), unit = "table", source = "the rules file")]
    paths: PathRules,
}

/// How minimum RTTs of paths are kept.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd guard")]
struct PathRules {
    /// Time without an RTT near the minimum, after which it is measured again with a small window.
    #[param(default = paths::CONFIRM, range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "Linux tcp_min_rtt_wlen")]
    confirm: Span,
}

/// Flows and their controller.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd guard", check)]
struct Entry {
    /// Port of the sender; `none`: any.
    #[param(default = None, range = 1..=65_535, unit = "1", source = "the rules file")]
    port: Option<u64>,
    /// Network of the sender, as in 192.0.2.0/24 or 2001:db8::/32; `none`: any.
    #[param(default = None, unit = "prefix", source = "the rules file")]
    peer: Option<String>,
    /// Interface that receives the data; `none`: any.
    #[param(default = None, unit = "name", source = "the rules file")]
    interface: Option<String>,
    /// Folder of the cgroup of the socket, or of one above it; `none`: any. On a router no flow has a cgroup.
    #[param(default = None, unit = "path", source = "the rules file")]
    cgroup: Option<String>,
    /// Whether the flow has TCP timestamps; `none`: either.
    #[param(default = None, unit = "1", source = "RFC 7323")]
    timestamps: Option<bool>,
    /// Receive-window control, as in scenarios; `none`: the receiver's own windows.
    #[param(unit = "rwnd", source = "the rules file")]
    rwnd: Option<Spec>,
}

impl Entry {
    fn check(&self) -> Result<(), Fault> {
        if let Some(Err(why)) = self.peer.as_deref().map(prefix) {
            return Err(Fault::new("peer", why));
        }
        let refusal = self.rwnd.as_ref().and_then(|spec| can_run(spec).err());
        refusal.map_or(Ok(()), |why| Err(Fault::new("rwnd", why)))
    }
}

/// Names of this machine, for what observations contain.
pub trait Names {
    /// Returns the index of an interface.
    ///
    /// # Errors
    /// Why there is none.
    fn interface(&self, name: &str) -> Result<u32, String>;
    /// Returns the identifiers of a cgroup and of those below.
    ///
    /// # Errors
    /// Why there are none.
    fn cgroups(&self, path: &str) -> Result<HashSet<u64>, String>;
}

/// Rules in their order; the first that applies to a flow counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Time after which the minimum RTT of a path is measured again.
    pub(crate) confirm: Span,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    port: Option<u16>,
    peer: Option<(IpAddr, u8)>,
    interface: Option<u32>,
    cgroups: Option<HashSet<u64>>,
    timestamps: Option<bool>,
    spec: Option<Spec>,
}

/// `standing` for flows with timestamps. It measures one-way delay, and restricts nothing without; so others have `drwa`
/// with the window that holds the RTT at one and a half times its minimum.
impl Default for Rules {
    fn default() -> Rules {
        let drwa = drwa::Params { lambda: LAMBDA_WITHOUT_TIMESTAMPS, ..drwa::Params::default() };
        let with_timestamps =
            Rule { timestamps: Some(true), ..Rule::all(Spec::Standing(standing::Params::default())) };
        Rules { rules: vec![with_timestamps, Rule::all(Spec::Drwa(drwa))], confirm: paths::CONFIRM }
    }
}

impl Rules {
    /// One rule for all flows.
    pub fn all(spec: Spec) -> Rules {
        Rules { rules: vec![Rule::all(spec)], confirm: paths::CONFIRM }
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// One line that names the file, the line and the key.
    pub fn read(text: &str, name: &str, names: &dyn Names) -> Result<Rules, Error> {
        let node = Node::from_toml(text, name)?;
        let leaves = node.leaves();
        let names_of_controls =
            leaves.iter().filter(|(key, _)| key.ends_with(".rwnd") || key.ends_with(".rwnd.kind"));
        for (key, leaf) in names_of_controls {
            check_name(leaf).map_err(|why| Error::from(leaf.error(why).within(key)))?;
        }
        let document = Document::read(&node)?;
        document.check_values().map_err(|fault| fault.at(&node))?;
        let rules = document.rule.into_iter().enumerate().map(|(index, entry)| {
            resolve(entry, names)
                .map_err(|fault| fault.within(&format!("[{index}]")).within("rule").at(&node))
        });
        Ok(Rules { rules: rules.collect::<Result<_, _>>()?, confirm: document.paths.confirm })
    }

    /// Returns the controller of a flow, with or without timestamps; `None`: its own windows.
    pub(crate) fn choose(&self, seen: &Observation, has_timestamps: bool) -> Option<&Spec> {
        self.rules.iter().find(|rule| rule.applies(seen, has_timestamps)).and_then(|rule| rule.spec.as_ref())
    }
}

impl Rule {
    fn all(spec: Spec) -> Rule {
        Rule {
            port: None,
            peer: None,
            interface: None,
            cgroups: None,
            timestamps: None,
            spec: Some(spec.for_real_links()),
        }
    }

    fn applies(&self, seen: &Observation, has_timestamps: bool) -> bool {
        self.port.is_none_or(|port| port == seen.remote.port())
            && self.peer.is_none_or(|(network, bits)| contains(network, bits, seen.remote.ip()))
            && self.interface.is_none_or(|interface| interface == seen.interface)
            && self.cgroups.as_ref().is_none_or(|cgroups| cgroups.contains(&seen.cgroup))
            && self.timestamps.is_none_or(|timestamps| timestamps == has_timestamps)
    }
}

fn resolve(entry: Entry, names: &dyn Names) -> Result<Rule, Fault> {
    let fault = |key: &'static str| move |why: String| Fault::new(key, why);
    Ok(Rule {
        port: entry.port.map(|port| port as u16),
        peer: entry.peer.as_deref().map(prefix).transpose().map_err(fault("peer"))?,
        interface: entry
            .interface
            .map(|name| names.interface(&name))
            .transpose()
            .map_err(fault("interface"))?,
        cgroups: entry.cgroup.map(|path| names.cgroups(&path)).transpose().map_err(fault("cgroup"))?,
        timestamps: entry.timestamps,
        spec: entry.rwnd.map(Spec::for_real_links),
    })
}

/// Reads `address/bits`, or an address alone.
fn prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let refused = || format!("`{text}` is not a network; write it as in 192.0.2.0/24 or 2001:db8::/32");
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().map_err(|_| refused())?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(longest), |bits| bits.parse().map_err(|_| refused()))?;
    if bits > longest { Err(refused()) } else { Ok((address, bits)) }
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            u32::from(network).checked_shr(32 - u32::from(bits)).unwrap_or(0)
                == u32::from(address).checked_shr(32 - u32::from(bits)).unwrap_or(0)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            u128::from(network).checked_shr(128 - u32::from(bits)).unwrap_or(0)
                == u128::from(address).checked_shr(128 - u32::from(bits)).unwrap_or(0)
        }
        _ => false,
    }
}

/// Names of the controllers that the guard offers.
pub(crate) const OFFERED: [&str; 5] = ["standing", "drwa", "rledbat", "fixed", "none"];

/// Refuses a word that is the name of no controller; the message lists those that the guard offers, not all.
pub(crate) fn check_name(node: &Node) -> Result<(), String> {
    match &node.value {
        Value::Text(name) if !OFFERED.contains(&name.as_str()) && Spec::read(node).is_err() => {
            Err(airwnd_catalog::unknown_word("rwnd", name, &OFFERED))
        }
        _ => Ok(()),
    }
}

/// Whether the guard offers the controller. The feature `study` adds those of experiments/guard.
pub(crate) fn can_run(spec: &Spec) -> Result<(), String> {
    let is_offered = matches!(spec, Spec::Standing(_) | Spec::Drwa(_) | Spec::Rledbat(_) | Spec::Fixed(_));
    let is_studied = cfg!(feature = "study") && matches!(spec, Spec::Dfcsd(_) | Spec::Rtac(_));
    if is_offered || is_studied {
        return Ok(());
    }
    let allowed = OFFERED.map(|name| format!("`{name}`")).join(", ");
    Err(format!("`{}` is available in `airwnd run` only; allowed: {allowed}", spec.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::observation;
    use proptest::prelude::*;

    struct Machine;

    impl Names for Machine {
        fn interface(&self, name: &str) -> Result<u32, String> {
            if name == "wan" { Ok(2) } else { Err(format!("no interface is named `{name}`")) }
        }
        fn cgroups(&self, path: &str) -> Result<HashSet<u64>, String> {
            if path == "/a" { Ok(HashSet::from([1, 5])) } else { Err(format!("no cgroup {path}")) }
        }
    }

    fn read(text: &str) -> Result<Rules, String> {
        Rules::read(text, "rules.toml", &Machine).map_err(|error| error.to_string())
    }

    fn kind(rules: &str) -> Option<&'static str> {
        let rules = read(rules).unwrap();
        // From 198.51.100.1, port 443, over interface 2, for a socket of cgroup 1.
        rules.choose(&observation(Span::from_millis(20)), true).map(|spec| match spec {
            Spec::Drwa(_) => "drwa",
            Spec::Rledbat(_) => "rledbat",
            _ => "other",
        })
    }

    #[test]
    fn the_first_rule_that_applies_counts() {
        let last = "\n[[rule]]\nrwnd = \"rledbat\"";
        for (scope, applies) in [
            ("", true),
            ("port = 443", true),
            ("port = 80", false),
            ("peer = \"198.51.100.0/24\"", true),
            ("peer = \"198.51.100.2\"", false),
            ("peer = \"0.0.0.0/0\"", true),
            ("peer = \"::/0\"", false),
            ("interface = \"wan\"", true),
            ("cgroup = \"/a\"\nport = 443", true),
            ("cgroup = \"/a\"\nport = 80", false),
            ("timestamps = true", true),
            ("timestamps = false", false),
        ] {
            let rules = format!("[[rule]]\n{scope}\nrwnd = \"drwa\"{last}");
            assert_eq!(kind(&rules), Some(if applies { "drwa" } else { "rledbat" }), "{scope}");
        }
        assert_eq!(kind(&format!("[[rule]]\nport = 443\nrwnd = \"none\"{last}")), None);
        assert_eq!(kind("[[rule]]\nport = 80\nrwnd = \"drwa\""), None);
    }

    #[test]
    fn without_rules_standing_controls_what_it_can_measure_and_drwa_the_rest() {
        let (rules, seen) = (Rules::default(), observation(Span::from_millis(20)));
        assert!(matches!(rules.choose(&seen, true), Some(Spec::Standing(_))));
        let Some(Spec::Drwa(drwa)) = rules.choose(&seen, false) else { panic!("another controller") };
        assert_eq!(drwa.lambda, LAMBDA_WITHOUT_TIMESTAMPS);
    }

    #[test]
    fn errors_name_file_line_and_key() {
        for (rules, error) in [
            (
                "[[rule]]\npeer = \"1.2.3.4/33\"\nrwnd = \"drwa\"",
                "rules.toml:2: rule[0].peer: `1.2.3.4/33` is not a network; \
                 write it as in 192.0.2.0/24 or 2001:db8::/32",
            ),
            (
                "[[rule]]\nrwnd = \"drwa\"\n[[rule]]\ninterface = \"lan\"\nrwnd = \"drwa\"",
                "rules.toml:4: rule[1].interface: no interface is named `lan`",
            ),
            (
                "[[rule]]\nrwnd = \"oracle\"",
                "rules.toml:2: rule[0].rwnd: `oracle` is available in `airwnd run` only; allowed: `standing`, \
                 `drwa`, `rledbat`, `fixed`, `none`",
            ),
            (
                "[[rule]]\nrwnd = \"drwaa\"",
                "rules.toml:2: rule[0].rwnd: unknown rwnd `drwaa`; did you mean `drwa`?; allowed: `standing`, `drwa`, \
                 `rledbat`, `fixed`, `none`",
            ),
            (
                "[[rule]]\nrwnd = {kind = \"foo\"}",
                "rules.toml:2: rule[0].rwnd.kind: unknown rwnd `foo`; allowed: `standing`, `drwa`, `rledbat`, `fixed`, \
                 `none`",
            ),
            ("[[rule]]\nport = 0\nrwnd = \"drwa\"", "rules.toml:2: rule[0].port: 0 is outside 1..65535"),
            (
                "[[rule]]\nrwnd = \"drwa\"\n[paths]\nconfirm = \"1ms\"",
                "rules.toml:4: paths.confirm: 1ms is outside 1s..24h",
            ),
        ] {
            assert_eq!(read(rules), Err(error.to_string()));
        }
        assert!(
            read("[[rule]]\nports = 1\nrwnd = \"drwa\"").unwrap_err().starts_with("rules.toml:2: rule[0]")
        );
    }

    proptest! {
        /// Any text is a set of rules, or refused in one line that names the file.
        #[test]
        fn any_text_is_read_or_refused_in_one_line(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "[[rule]]\n", "port = ", "peer = ", "interface = ", "cgroup = ", "rwnd = ", "443\n", "-1\n",
                    "1e9\n",
                    "\"wan\"\n", "\"/a\"\n", "\"drwa\"\n", "\"none\"\n", "{ kind = \"drwa\", lambda = 1.5 }\n",
                    "\"10.0.0.0/8\"\n", "\"::/129\"\n", "\"/\"\n", "[rule]\n", "\n", "\"", "=", "\u{1f4f1}", "\r\u{0}",
                ]),
                0..24,
            ),
        ) {
            if let Err(error) = read(&parts.concat()) {
                prop_assert!(error.starts_with("rules.toml"), "{error}");
                prop_assert!(!error.contains('\n'), "{error}");
            }
        }
    }
}

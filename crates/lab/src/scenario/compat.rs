//! Compat: behaviour that exists only because another simulator, or an earlier version, has it.
//!
//! The crates that own a behaviour declare its quirks. A file in `compat/` has the values of one simulator, each with its
//! source in a comment. The quirks of TCP belong to its stacks.

use crate::scenario::preset::entries;
use airwnd_catalog::{Choice, Defaults, Error, Node, Param, unknown_word};
use airwnd_tcp::Stack;
use serde_json::Value as Json;

/// The simulator whose behaviour applies where it differs from that of a real network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Compat {
    /// No simulator: the behaviour of a real network.
    #[word = "none"]
    None,
    /// airwnd 0.1.
    #[word = "airwnd-0.1"]
    Airwnd0v1,
    /// ns-2.
    #[word = "ns2"]
    Ns2,
    /// ns-3 3.26.
    #[word = "ns3.26"]
    Ns3v26,
    /// ns-3 3.44.
    #[word = "ns3.44"]
    Ns3v44,
    /// 5G-LENA over ns-3 3.44.
    #[word = "5g-lena"]
    Lena,
}

/// A quirk of a simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct QuirkInfo {
    /// Section, such as `rlc`, or family member, such as `aqm/codel`.
    pub section: String,
    /// Name.
    pub name: String,
    /// Meaning.
    pub meaning: String,
    /// Value.
    pub value: Json,
    /// Value without `compat`.
    pub default: Json,
    /// Source of the value.
    pub source: String,
}

impl Compat {
    /// All simulators.
    pub(crate) const ALL: [Compat; 5] =
        [Compat::Airwnd0v1, Compat::Ns2, Compat::Ns3v26, Compat::Ns3v44, Compat::Lena];

    /// Text of its file.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Compat::None => "",
            Compat::Airwnd0v1 => include_str!("compat/airwnd-0.1.toml"),
            Compat::Ns2 => include_str!("compat/ns2.toml"),
            Compat::Ns3v26 => include_str!("compat/ns3.26.toml"),
            Compat::Ns3v44 => include_str!("compat/ns3.44.toml"),
            Compat::Lena => include_str!("compat/5g-lena.toml"),
        }
    }

    /// Parses its values. Messages about a value name the simulator and the line in its file.
    pub(crate) fn table(self) -> Defaults {
        Defaults::from_toml(self.text(), &format!("compat {}", self.word()))
            .unwrap_or_else(|error| panic!("quirks are valid TOML: {error}"))
    }

    /// Tables that apply, one after the other.
    fn tables(self) -> Vec<Defaults> {
        match self {
            Compat::None => Vec::new(),
            Compat::Lena => vec![Compat::Ns3v44.table(), self.table()],
            _ => vec![self.table()],
        }
    }
}

/// Sets the quirks of a simulator in a scenario, without some. `node` is the scenario's.
///
/// # Errors
/// A name in `without` that is no quirk of the simulator or of a TCP stack.
pub(crate) fn adopt<T: Param>(
    scenario: &mut T,
    compat: Compat,
    without: &[String],
    node: &Node,
) -> Result<(), Error> {
    let tables = compat.tables();
    let mut known: Vec<&str> = tables.iter().flat_map(names).collect();
    let none_of_tcp = Stack::Linux.config().quirks.entries();
    known.extend(none_of_tcp.iter().map(|(name, _)| *name));
    known.sort_unstable();
    known.dedup();
    for (place, name) in without.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let key = format!("compat_without[{place}]");
            return Err(node.nearest(&key).error(unknown_word("quirk", name, &known)).within(&key));
        }
    }
    for table in &tables {
        set(scenario, &table.without(without))?;
    }
    let of_tcp = none_of_tcp.iter().filter(|(name, _)| without.iter().any(|other| other == name));
    let of_tcp: String = of_tcp.map(|(name, value)| format!("{name} = {value}\n")).collect();
    set(scenario, &Defaults::from_toml(&format!("[tcp]\n{of_tcp}"), "compat_without")?)
}

/// Sets the quirks in a table.
///
/// # Errors
/// An invalid value.
pub(crate) fn set<T: Param>(scenario: &mut T, table: &Defaults) -> Result<(), Error> {
    scenario.adopt(Some(table.sections()), table)
}

/// Names of the quirks in a table.
pub(crate) fn names(table: &Defaults) -> Vec<&str> {
    fn add<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
        for (key, value) in entries(node) {
            if entries(value).is_empty() {
                names.push(key);
            } else {
                add(value, names);
            }
        }
    }
    let mut names = Vec::new();
    add(table.sections(), &mut names);
    add(table.families(), &mut names);
    names
}

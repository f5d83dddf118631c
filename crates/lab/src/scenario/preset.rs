//! Presets: defaults of another simulator or of an earlier version for keys that a scenario omits.
//!
//! A preset is a file in `presets/`. Each line sets a value and names its source in a comment; another value needs only
//! another line. Keys that a scenario sets take precedence.

use airwnd_catalog::{Choice, Defaults, Error, Node, Param, Value};
use serde_json::Value as Json;

/// Set of defaults for keys that a scenario omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Preset {
    /// Defaults of airwnd.
    #[word = "none"]
    None,
    /// Defaults of airwnd 0.1.
    #[word = "airwnd-0.1"]
    Airwnd0v1,
    /// Defaults of ns-3 3.26.
    #[word = "ns3.26"]
    Ns3v26,
    /// Defaults of ns-3 3.44.
    #[word = "ns3.44"]
    Ns3v44,
}

impl Preset {
    /// All presets except `none`.
    pub(crate) const ALL: [Preset; 3] = [Preset::Airwnd0v1, Preset::Ns3v26, Preset::Ns3v44];

    /// Text of its file.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Preset::None => "",
            Preset::Airwnd0v1 => include_str!("presets/airwnd-0.1.toml"),
            Preset::Ns3v26 => include_str!("presets/ns3.26.toml"),
            Preset::Ns3v44 => include_str!("presets/ns3.44.toml"),
        }
    }

    /// Parses its values. Messages about a value name the preset and the line in its file.
    pub(crate) fn defaults(self) -> Defaults {
        Defaults::from_toml(self.text(), &format!("preset {}", self.word()))
            .unwrap_or_else(|error| panic!("a preset is valid TOML: {error}"))
    }

    /// Completes a scenario by the values of the preset that it names.
    ///
    /// # Errors
    /// An unknown preset.
    pub(crate) fn complete<T: Param>(written: &Node) -> Result<Node, Error> {
        let Some(name) = written.entry("preset") else { return Ok(written.clone()) };
        match Preset::read(name).map_err(|error| error.within("preset"))? {
            Preset::None => Ok(written.clone()),
            preset => Ok(T::completed(written, &preset.defaults())),
        }
    }
    /// Adds `none` to a resolved scenario for each value that the preset sets and the scenario lacks. Otherwise the
    /// preset would set the value when the resolved scenario is read again.
    pub(crate) fn without<T: Param>(self, mut written: Json) -> Json {
        if let Preset::None = self {
            return written;
        }
        let node = Node::from_json(&written.to_string(), "").expect("a resolved scenario is valid JSON");
        let completed = T::completed(&node, &self.defaults());
        add_none(&mut written, &completed.to_json().expect("numbers of a preset are finite"));
        written
    }
}

/// Entries of a table; none of another value.
pub(crate) fn entries(node: &Node) -> &[(String, Node)] {
    match &node.value {
        Value::Table(entries) => entries,
        _ => &[],
    }
}

/// Adds `none` for each missing key of `completed`.
fn add_none(written: &mut Json, completed: &Json) {
    match (written, completed) {
        (Json::Object(entries), Json::Object(more)) => {
            for (key, value) in more {
                match entries.get_mut(key) {
                    Some(entry) => add_none(entry, value),
                    None if value == "none" => {}
                    None => drop(entries.insert(key.clone(), "none".into())),
                }
            }
        }
        (Json::Array(items), Json::Array(more)) => {
            items.iter_mut().zip(more).for_each(|(item, value)| add_none(item, value));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use airwnd_catalog::Node;

    #[test]
    fn a_resolved_scenario_contains_the_values_of_its_preset() {
        let read = |node: Result<Node, _>| Scenario::from_node(&node.unwrap()).unwrap();
        let text =
            "duration = '1s'\npreset = 'ns3.44'\nhandover.link_failure = 'none'\n[[site]]\n[[ue]]\n[[flow]]";
        let scenario = read(Node::from_toml(text, "x"));
        assert_eq!(scenario.to_json()["handover"]["link_failure"], "none");
        assert_eq!(read(Node::from_json(&scenario.to_json().to_string(), "x")), scenario);
        // Keys that the preset does not set either are omitted.
        assert!(scenario.to_json()["flow"][0].get("stop").is_none());
    }
}

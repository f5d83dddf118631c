//! Presets: values of another simulator or of an earlier version for what a scenario does not write.
//!
//! A preset is a file of `presets/`: what it sets, and behind each value its source, in one comment. A line there is all
//! that a further value needs; keys that a scenario writes win.

use airwnd_catalog::{Choice, Defaults, Error, Node, Param};
use serde_json::Value as Json;

/// Whose values hold where a scenario says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Preset {
    /// airwnd's own defaults.
    #[word = "none"]
    None,
    /// The defaults of airwnd 0.1.
    #[word = "airwnd-0.1"]
    Airwnd0v1,
    /// ns-3 3.26.
    #[word = "ns3.26"]
    Ns3v26,
    /// ns-3 3.44.
    #[word = "ns3.44"]
    Ns3v44,
}

impl Preset {
    /// Every preset that sets something.
    pub(crate) const ALL: [Preset; 3] = [Preset::Airwnd0v1, Preset::Ns3v26, Preset::Ns3v44];

    /// The text of its file.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Preset::None => "",
            Preset::Airwnd0v1 => include_str!("presets/airwnd-0.1.toml"),
            Preset::Ns3v26 => include_str!("presets/ns3.26.toml"),
            Preset::Ns3v44 => include_str!("presets/ns3.44.toml"),
        }
    }

    /// What it sets. Messages about a value name the preset and the line of its file.
    pub(crate) fn defaults(self) -> Defaults {
        Defaults::from_toml(self.text(), &format!("preset {}", self.word()))
            .unwrap_or_else(|error| panic!("a preset is valid TOML: {error}"))
    }

    /// A scenario as written, with the values of the preset that it names.
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
    /// A scenario as it is written out, with `none` for each value that the preset has and the scenario does not: read
    /// again, it would have it.
    pub(crate) fn without<T: Param>(self, mut written: Json) -> Json {
        if let Preset::None = self {
            return written;
        }
        let node = Node::from_json(&written.to_string(), "").expect("what is written out is valid JSON");
        let completed = T::completed(&node, &self.defaults());
        deny(&mut written, &completed.to_json().expect("a preset has values that JSON has"));
        written
    }
}

/// Adds `none` for each key of `completed` that is missing.
fn deny(written: &mut Json, completed: &Json) {
    match (written, completed) {
        (Json::Object(entries), Json::Object(more)) => {
            for (key, value) in more {
                match entries.get_mut(key) {
                    Some(entry) => deny(entry, value),
                    None if value == "none" => {}
                    None => drop(entries.insert(key.clone(), "none".into())),
                }
            }
        }
        (Json::Array(items), Json::Array(more)) => {
            items.iter_mut().zip(more).for_each(|(item, value)| deny(item, value));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use airwnd_catalog::Node;

    #[test]
    fn what_a_scenario_takes_from_its_preset_is_written_out() {
        let read = |node: Result<Node, _>| Scenario::from_node(&node.unwrap()).unwrap();
        let text =
            "duration = '1s'\npreset = 'ns3.44'\ntcp.recount_at_exit = 'none'\n[[site]]\n[[ue]]\n[[flow]]";
        let scenario = read(Node::from_toml(text, "x"));
        assert_eq!(scenario.to_json()["tcp"]["recount_at_exit"], "none");
        assert_eq!(read(Node::from_json(&scenario.to_json().to_string(), "x")), scenario);
        // What the preset does not have either is not written.
        assert!(scenario.to_json()["flow"][0].get("stop").is_none());
    }
}

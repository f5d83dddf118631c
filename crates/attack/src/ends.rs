//! Ends of the range of every parameter of every member.

use crate::legal::needed;
use crate::shape::{Entry, SCENARIO, Shape, Table};
use crate::value::Range;
use serde_json::{Map, Value as Json, json};
use std::collections::HashSet;

/// A scenario with one parameter at, or just beyond, an end of its range.
#[derive(Clone, Debug)]
pub struct End {
    /// Parameter, with its member.
    pub parameter: String,
    /// Key.
    pub key: String,
    /// Value.
    pub value: Json,
    /// Set if the range of the parameter contains the value.
    pub is_within: bool,
    /// Scenario.
    pub scenario: Json,
}

/// Places at which a parameter is tested if it occurs at several places of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// The first place.
    First,
    /// All places.
    All,
}

/// Keys that a kind refuses with any value: stations that share a medium have a drop-tail queue each.
const REFUSED: [(&str, &str); 2] = [("wifi", "aqm"), ("wifi", "aqm_up")];

/// Returns the scenarios for all ends of all ranges.
pub fn all(places: Places) -> Vec<End> {
    let mut walk = Walk { places, seen: HashSet::new(), ends: Vec::new() };
    walk.table("", &SCENARIO, &|value| merged(base(), value));
    walk.ends
}

/// The base scenario: a cell behind a wire.
fn base() -> Json {
    json!({
        "duration": "20ms",
        "warmup": "1ms",
        "core": {"server_delay": "1ms"},
        "link": [{"name": "l", "rate": "20Mbps", "delay": "1ms"}],
        "site": [{}],
        "ue": [{"name": "g", "count": 2}],
        "flow": [{"id": "down"}, {"id": "up", "direction": "up"}],
    })
}

/// Overlays `value` on `base`; a list of one table is overlaid on the first item of a list.
fn merged(base: Json, value: Json) -> Json {
    match (base, value) {
        // Another member replaces the whole table: the keys of the previous member do not apply to it.
        (Json::Object(_), Json::Object(value)) if value.contains_key("kind") => value.into(),
        (Json::Object(mut base), Json::Object(value)) => {
            for (key, value) in value {
                let old = base.remove(&key).unwrap_or(Json::Null);
                base.insert(key, merged(old, value));
            }
            base.into()
        }
        (Json::Array(mut base), Json::Array(mut value)) if value.len() == 1 && value[0].is_object() => {
            let first = base.first_mut().map(Json::take).unwrap_or(Json::Null);
            base.splice(..base.len().min(1), [merged(first, value.remove(0))]);
            base.into()
        }
        (_, value) => value,
    }
}

struct Walk {
    places: Places,
    /// Parameters tested so far.
    seen: HashSet<String>,
    ends: Vec<End>,
}

/// Inserts a value at a place of the scenario.
type Put<'a> = &'a dyn Fn(Json) -> Json;

impl Walk {
    fn table(&mut self, path: &str, table: &Table, put: Put<'_>) {
        let kind = table.kind.as_deref();
        let is_refused = |entry: &&Entry| REFUSED.contains(&(kind.unwrap_or_default(), &entry.key));
        for Entry { key, shape, .. } in table.entries.iter().filter(|entry| !is_refused(entry)) {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let put = |value: Json| put(around(path, table, key, value));
            let parameter = kind.map_or(inner.clone(), |kind| format!("{inner} of {kind}"));
            let keys: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
            let member = kind.map(|kind| format!("{key} of {kind} {keys:?}"));
            self.value(&Place { path: &inner, key, parameter: &parameter, member }, shape, &put);
        }
    }

    fn value(&mut self, place: &Place<'_>, shape: &Shape, put: Put<'_>) {
        match shape {
            Shape::Table(table) => self.table(place.path, table, put),
            Shape::OneOf(branches) => {
                let has_none =
                    branches.iter().any(|branch| matches!(branch, Shape::Words(words) if words == &["none"]));
                for branch in branches {
                    self.value(place, branch, put);
                }
                if has_none {
                    self.end(place, "none".into(), true, put);
                }
            }
            Shape::List(item, min, max) if *min > 0 && Some(*min) == *max => {
                let length = *min;
                self.value(place, item, &|value| put(vec![value; length].into()));
            }
            Shape::List(item, ..) => self.value(place, item, &|value| put(vec![value].into())),
            Shape::Value(range) => self.range(place, range, put),
            Shape::Words(words) => {
                for word in words {
                    self.end(place, word.clone().into(), true, put);
                }
            }
            Shape::Flag | Shape::Text => {}
        }
    }

    fn range(&mut self, place: &Place<'_>, range: &Range, put: Put<'_>) {
        let is_known = place.member.clone().is_some_and(|member| !self.seen.insert(member));
        if is_known && self.places == Places::First {
            return;
        }
        for end in &range.ends {
            self.end(place, end.clone(), true, put);
        }
        self.end(place, range.zero(), range.contains(0.0), put);
        for value in range.outside() {
            self.end(place, value, false, put);
        }
    }

    fn end(&mut self, place: &Place<'_>, value: Json, is_within: bool, put: Put<'_>) {
        let (parameter, key) = (place.parameter.to_string(), place.key.to_string());
        let scenario = put(value.clone());
        self.ends.push(End { parameter, key, value, is_within, scenario });
    }
}

struct Place<'a> {
    path: &'a str,
    key: &'a str,
    parameter: &'a str,
    /// Parameter and member, independent of the member's place in the scenario.
    member: Option<String>,
}

/// Returns a table with this value and the required keys.
fn around(path: &str, table: &Table, key: &str, value: Json) -> Json {
    let mut entries = Map::new();
    if let Some(kind) = &table.kind {
        entries.insert("kind".into(), kind.clone().into());
    }
    for entry in &table.entries {
        let kind = table.kind.as_deref();
        let needed = needed(path, kind, &entry.key).or_else(|| match &entry.shape {
            Shape::Value(range) if entry.is_required && !path.is_empty() => Some(range.middle()),
            _ => None,
        });
        if let Some(needed) = needed {
            entries.insert(entry.key.clone(), needed);
        }
    }
    entries.insert(key.into(), value);
    entries.into()
}

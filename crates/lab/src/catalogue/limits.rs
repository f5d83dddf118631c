//! Limits of the models, from `crates/lab/src/exceptions.toml`: the source of the reference page and of `airwnd explain
//! --limits`.

use airwnd_catalog::{Node, Param, Params};

const FILE: &str = "crates/lab/src/exceptions.toml";
const TEXT: &str = include_str!("../exceptions.toml");

/// A difference from a standard, a paper or a reference program, or a feature that is not modelled.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "crates/lab/src/exceptions.toml")]
pub struct Limit {
    /// Identifier, as in its mark in the code.
    #[param(unit = "text", source = "airwnd")]
    pub id: String,
    /// Topic, one of [`LIMIT_TOPICS`].
    #[param(unit = "text", source = "airwnd")]
    pub topic: String,
    /// Importance: 1 highest, 3 lowest.
    #[param(range = 1..=3, unit = "1", source = "airwnd")]
    pub importance: u32,
    /// Standard, paper or program with which it disagrees.
    #[param(unit = "text", source = "airwnd")]
    pub source: String,
    /// The difference.
    #[param(unit = "text", source = "airwnd")]
    pub differs: String,
    /// The reason.
    #[param(unit = "text", source = "airwnd")]
    pub why: String,
    /// Affected scenarios, UEs or results.
    #[param(unit = "text", source = "airwnd")]
    pub affects: String,
    /// Size of the effect.
    #[param(unit = "text", source = "airwnd")]
    pub effect: String,
}

/// `crates/lab/src/exceptions.toml`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "crates/lab/src/exceptions.toml", check)]
struct Limits {
    /// The entries.
    #[param(unit = "1", source = "airwnd")]
    exception: Vec<Limit>,
}

impl Limits {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let known = |limit: &Limit| LIMIT_TOPICS.iter().any(|(topic, _)| *topic == limit.topic);
        match self.exception.iter().find(|limit| !known(limit)) {
            Some(Limit { id, topic, .. }) => Err(("exception", format!("{id}: unknown topic `{topic}`"))),
            None => Ok(()),
        }
    }
}

/// Topics of limits in the order of the page, with their headings.
pub const LIMIT_TOPICS: [(&str, &str); 8] = [
    ("scope", "Not modelled"),
    ("radio", "Radio"),
    ("mac", "Scheduling, HARQ, uplink"),
    ("rlc", "RLC and PDCP"),
    ("core", "Core network and traffic"),
    ("tcp", "TCP"),
    ("rwnd", "Receive-window control"),
    ("engine", "Random streams and Wi-Fi"),
];

/// Returns all limits, the most important first.
///
/// # Panics
/// On a mistake in `crates/lab/src/exceptions.toml`, which is a part of the program.
pub fn limits() -> Vec<Limit> {
    let node = Node::from_toml(TEXT, FILE).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits::read(&node).unwrap_or_else(|error| panic!("{error}"));
    limits.check_values().unwrap_or_else(|fault| panic!("{}", fault.at(&node)));
    let mut limits = limits.exception;
    limits.sort_by_key(|limit| limit.importance);
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_important_limits_come_first() {
        let limits = limits();
        assert_eq!(limits[0].importance, 1);
        assert!(limits.is_sorted_by_key(|limit| limit.importance));
    }

    #[test]
    fn a_topic_without_a_heading_is_a_mistake() {
        let limit = Limit { topic: "radoi".into(), ..limits().swap_remove(0) };
        let id = limit.id.clone();
        let (_, message) = Limits { exception: vec![limit] }.check().unwrap_err();
        assert_eq!(message, format!("{id}: unknown topic `radoi`"));
    }
}

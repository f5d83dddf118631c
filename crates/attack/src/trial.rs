//! Bounded runs of scenarios, with all checks.

use crate::figures;
use airwnd_catalog::{Error, Node};
use airwnd_lab::tap::Node as At;
use airwnd_lab::{Outcome, Records, Scenario, run_tapped};
use airwnd_units::{Span, Time};
use serde_json::Value as Json;

/// Origin of all scenarios, in a folder that does not exist, so that no file is read.
pub const ORIGIN: &str = "/nowhere/attack.toml";

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The scenario ran to its end.
    Ran,
    /// The run was stopped at the bound.
    Stopped,
    /// The scenario was rejected with a message of one line.
    Refused,
}

/// Reads a scenario. `None`: it was rejected with a valid message.
///
/// # Errors
/// An invalid message.
pub fn read(node: Result<Node, Error>) -> Result<Option<Scenario>, String> {
    match node.and_then(|node| Scenario::from_node(&node)) {
        Ok(scenario) => Ok(Some(scenario)),
        Err(error) => check_message(&error).map(|()| None),
    }
}

/// Checks that a message is one line with a place and a problem.
pub(crate) fn check_message(error: &Error) -> Result<(), String> {
    let message = error.to_string();
    if message.contains(char::is_control) || !message.contains(": ") {
        return Err(format!("the message {message:?} is not a single line, or has no place"));
    }
    Ok(())
}

/// Runs a scenario for at most this many calls of `progress`: one per 100 ms or 65536 events.
///
/// # Errors
/// An impossible figure, or an error that `check` missed.
pub fn run(scenario: &Scenario, calls: u32) -> Result<Verdict, String> {
    let Some(outcome) = simulate(scenario, calls)? else { return Ok(Verdict::Stopped) };
    figures::check(scenario, &outcome)?;
    Ok(Verdict::Ran)
}

/// Returns the outcome, or `None` if `check` rejects the run or it was stopped at the bound.
fn simulate(scenario: &Scenario, calls: u32) -> Result<Option<Outcome>, String> {
    let cells = scenario.nodes().iter().any(|node| matches!(node, At::Enb(_)));
    let window = Span::ZERO..Span::from_millis(5);
    let records = Records {
        series: Some(Span::from_millis(7)),
        allocations: cells.then_some(window),
        ..Records::default()
    };
    if scenario.check_run(scenario.seed, &records).is_err() {
        return Ok(None);
    }
    let (mut left, mut last) = (calls, Time::ZERO);
    let mut progress = |now: Time| {
        last = now;
        left = left.saturating_sub(1);
        left > 0
    };
    match run_tapped(scenario, scenario.seed, &records, None, &mut progress) {
        Ok(outcome) => Ok(Some(outcome)),
        Err(error) if left == 0 && error.to_string().ends_with(&format!("stopped at {last}")) => Ok(None),
        Err(error) => Err(format!("`check` accepts a scenario that `run` rejects: {error}")),
    }
}

/// Checks that a second run, and a run of the resolved scenario, give the same results.
///
/// # Errors
/// The difference.
pub fn repeat(scenario: &Scenario, calls: u32) -> Result<(), String> {
    let written = scenario.to_json();
    let again = Node::from_json(&written.to_string(), ORIGIN).and_then(|node| Scenario::from_node(&node));
    let again = again.map_err(|error| format!("the resolved scenario is rejected: {error}"))?;
    if again.to_json() != written {
        return Err("resolving the resolved scenario changes it".into());
    }
    let bytes = |scenario: &Scenario| {
        let outcome = simulate(scenario, calls)?;
        Ok(outcome.map(|outcome| (outcome.to_json().to_string(), format!("{:?}", outcome.into_tables()))))
    };
    let first: Result<Option<(String, String)>, String> = bytes(scenario);
    if first != bytes(scenario) {
        return Err("a second run gives different bytes".into());
    }
    if first != bytes(&again) {
        return Err("the resolved scenario gives different bytes".into());
    }
    Ok(())
}

/// Reads and runs a scenario.
///
/// # Errors
/// As [`read`] and [`run`].
pub fn scenario(scenario: &Json, calls: u32) -> Result<Verdict, String> {
    match read(Node::from_json(&scenario.to_string(), ORIGIN))? {
        Some(scenario) => run(&scenario, calls),
        None => Ok(Verdict::Refused),
    }
}

/// Removes contradictions from a scenario: the keys named by messages are removed.
///
/// # Errors
/// As [`read`].
pub fn settled(mut scenario: Json) -> Result<Json, String> {
    loop {
        let node = Node::from_json(&scenario.to_string(), ORIGIN);
        let Err(error) = node.and_then(|node| Scenario::from_node(&node)) else { return Ok(scenario) };
        check_message(&error)?;
        let message = error.to_string();
        let key = message
            .strip_prefix(ORIGIN)
            .and_then(|rest| rest.strip_prefix(": "))
            .and_then(|rest| rest.split(": ").next());
        let Some(key) = key else { return Ok(scenario) };
        let place = format!("/{}", key.replace(']', "").replace(['.', '['], "/"));
        // If the key has its default, the other keys of its table are at fault.
        let table = place.rsplit_once('/').map_or("", |(table, _)| table);
        if ![place.as_str(), table].into_iter().any(|place| !is_item(place) && remove(&mut scenario, place)) {
            return Ok(scenario);
        }
    }
}

/// Returns whether a JSON pointer refers to an item of a list.
fn is_item(place: &str) -> bool {
    place.rsplit('/').next().is_some_and(|last| last.parse::<usize>().is_ok())
}

/// Reduces a failing scenario: removes keys and items as long as it still fails.
pub fn reduce(scenario: &Json, fails: &mut dyn FnMut(&Json) -> bool) -> Json {
    let mut smallest = scenario.clone();
    loop {
        let before = smallest.clone();
        for place in places(&before, "") {
            let mut candidate = smallest.clone();
            if remove(&mut candidate, &place) && fails(&candidate) {
                smallest = candidate;
            }
        }
        if smallest == before {
            return smallest;
        }
    }
}

/// Returns JSON pointers of all keys and items, whole tables and last items first.
fn places(value: &Json, at: &str) -> Vec<String> {
    let inner: Vec<(String, &Json)> = match value {
        Json::Object(entries) => entries.iter().map(|(key, value)| (format!("{at}/{key}"), value)).collect(),
        Json::Array(items) => {
            items.iter().enumerate().rev().map(|(place, item)| (format!("{at}/{place}"), item)).collect()
        }
        _ => Vec::new(),
    };
    inner.into_iter().flat_map(|(at, value)| [vec![at.clone()], places(value, &at)].concat()).collect()
}

fn remove(value: &mut Json, place: &str) -> bool {
    let Some((parent, last)) = place.rsplit_once('/') else { return false };
    match value.pointer_mut(parent) {
        Some(Json::Object(entries)) => entries.shift_remove(last).is_some(),
        Some(Json::Array(items)) => match last.parse::<usize>() {
            Ok(place) if place < items.len() => {
                items.remove(place);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn irrelevant_keys_are_removed() {
        let scenario = json!({"a": 1, "b": [{"c": 2, "d": 3}, 4], "e": {"f": 5}});
        let mut tries = 0;
        let smallest = reduce(&scenario, &mut |candidate| {
            tries += 1;
            candidate.pointer("/b/0/d").is_some()
        });
        assert_eq!((smallest, tries > 5), (json!({"b": [{"d": 3}]}), true));
    }
}

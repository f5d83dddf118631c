//! Every citation `//= DOCUMENT PLACE: ...` in the code names a document and a place of `specs/sources.toml`, and every
//! document and place listed there is cited.

use crate::support::reference::marks;
use airwnd_catalog::Node;
use serde_json::Value as Json;
use std::collections::BTreeSet;

const SOURCES: &str = include_str!("../../../../specs/sources.toml");

/// A document of `specs/sources.toml`.
struct Source {
    id: String,
    places: Vec<Place>,
}

/// A section, table, figure, equation or function of a document.
struct Place {
    at: String,
    /// Set if its number and title were checked against a text.
    checked: bool,
}

/// The text of a required key.
fn text(table: &Json, key: &str) -> String {
    table[key].as_str().filter(|text| !text.is_empty()).unwrap_or_else(|| panic!("no {key}: {table}")).into()
}

fn check_keys(table: &Json, known: &[&str]) {
    let unknown = table.as_object().unwrap().keys().find(|key| !known.contains(&key.as_str()));
    assert!(unknown.is_none(), "unknown key {unknown:?}: {table}");
}

fn read_sources(text_of_file: &str) -> Vec<Source> {
    let node = Node::from_toml(text_of_file, "specs/sources.toml").unwrap_or_else(|error| panic!("{error}"));
    let root = node.to_json().unwrap_or_else(|error| panic!("{error}"));
    let place = |place: &Json| {
        check_keys(place, &["at", "title", "checked"]);
        Place { at: text(place, "at"), checked: place["checked"].as_bool().unwrap_or(true) }
    };
    let source = |source: &Json| {
        check_keys(source, &["id", "title", "edition", "consulted", "places"]);
        text(source, "title");
        let places = source["places"].as_array().into_iter().flatten().map(place).collect();
        Source { id: text(source, "id"), places }
    };
    root["source"].as_array().expect("a list of sources").iter().map(source).collect()
}

/// Returns whether `text` is `word`, or begins with it, followed by a space or comma.
fn begins_with(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
}

/// Documents and places of a citation. The place is empty for a document that lists none.
fn resolve<'a>(citation: &str, sources: &'a [Source]) -> Result<Vec<(&'a str, &'a str)>, String> {
    let (cited, _) = citation.split_once(": ").unwrap_or((citation, ""));
    let mut found = Vec::new();
    for document in cited.split("; ") {
        let candidates = sources.iter().filter(|source| begins_with(document, &source.id));
        let source = candidates
            .max_by_key(|source| source.id.len())
            .ok_or_else(|| format!("`{document}` is not a document of specs/sources.toml"))?;
        let rest = document[source.id.len()..].trim_start_matches([',', ' ']);
        if rest.is_empty() && source.places.is_empty() {
            found.push((source.id.as_str(), ""));
            continue;
        }
        for place in rest.split(", ") {
            let candidates = source.places.iter().filter(|known| begins_with(place, &known.at));
            let known = candidates.max_by_key(|known| known.at.len()).ok_or_else(|| {
                format!("`{place}` is not a place of `{}` in specs/sources.toml", source.id)
            })?;
            found.push((source.id.as_str(), known.at.as_str()));
        }
    }
    Ok(found)
}

#[test]
fn every_citation_resolves_and_every_source_is_cited() {
    let sources = read_sources(SOURCES);
    let marks = marks::marks();
    let citations = marks.iter().filter(|mark| !mark.text.starts_with("exception "));
    let (mut cited, mut broken, mut count) = (BTreeSet::new(), Vec::new(), 0);
    for mark in citations {
        count += 1;
        match resolve(&mark.text, &sources) {
            Ok(found) => cited.extend(found),
            Err(error) => broken.push(format!("{}:{}: {error}", mark.file, mark.line)),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));

    let (mut listed, mut unchecked) = (BTreeSet::new(), 0);
    for source in &sources {
        let places = source.places.iter().map(|place| place.at.as_str());
        let places: Vec<&str> = if source.places.is_empty() { vec![""] } else { places.collect() };
        for place in places {
            assert!(listed.insert((source.id.as_str(), place)), "listed twice: {} {place}", source.id);
        }
        unchecked += source.places.iter().filter(|place| !place.checked).count();
    }
    let unused: Vec<_> = listed.difference(&cited).collect();
    assert!(unused.is_empty(), "entries of specs/sources.toml that are not cited: {unused:?}");
    let places = listed.len();
    println!("{count} citations of {places} places, of which {unchecked} are not checked against a text");
}

#[test]
fn unknown_documents_and_places_are_found() {
    let sources = read_sources(
        r#"
        [[source]]
        id = "RFC 1"
        title = "Host Software"
        places = [{ at = "§3.1", title = "A" }, { at = "§3.10", title = "B", checked = false }]
        [[source]]
        id = "RFC 12"
        title = "IMP-Host Interface"
        "#,
    );
    assert_eq!(resolve("RFC 1 §3.1 step 2: why", &sources), Ok(vec![("RFC 1", "§3.1")]));
    let both = Ok(vec![("RFC 1", "§3.1"), ("RFC 1", "§3.10"), ("RFC 12", "")]);
    assert_eq!(resolve("RFC 1 §3.1, §3.10 (b); RFC 12", &sources), both);
    for broken in ["RFC 2 §3.1", "RFC 1 §3", "RFC 1 §3.11", "RFC 1", "RFC 12 §1", "RFC 1 §3.1 and more; x"]
    {
        assert!(resolve(broken, &sources).is_err(), "{broken}");
    }
}

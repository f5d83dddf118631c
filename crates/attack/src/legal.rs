//! Generator of valid scenarios, drawn from bytes according to the schema.
//!
//! Sections, members and values come from the schema, so a new member is covered once it is declared in its family.
//! This module adds what the schema does not state: references between sites, links, groups and flows, the rows of
//! files, and limits on values that only prolong a run. Contradicting parameters are also drawn: such a scenario must
//! be rejected with a message of one line.

use crate::shape::{Entry, SCENARIO, Shape, Table};
use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value as Json, json};

/// Members with external code (plug-ins).
const OUTSIDE: [&str; 2] = ["plugin", "python"];

/// Keys of one direction that a shared medium does not have, without `_up`.
const BEHIND_A_QUEUE: [&str; 5] = ["jitter", "reorder", "duplicate", "police", "tbf"];

/// Limits on values that make a run large: the end of a key's path, and the maximum drawn.
const MAX: [(&str, f64); 9] = [
    ("site.rings", 1.0),
    ("site.sectors", 3.0),
    ("ue.count", 4.0),
    ("flow.count", 3.0),
    ("arrivals.rate", 500.0),
    ("mobility.pause", 1e9),
    ("start", 2e8),
    ("stagger", 1e7),
    ("warmup", 5e7),
];

/// A scenario of at most 300 ms with few UEs and flows.
///
/// # Errors
/// As [`Unstructured`].
pub fn scenario(u: &mut Unstructured<'_>) -> Result<Json> {
    // Percentage of optional keys that are written.
    let density = *u.choose(&[2, 8, 8, 25])?;
    let mut draw = Draw { u, density };
    let mut scenario = draw.table("", &SCENARIO, &["duration", "link", "site", "ue", "flow"])?;
    draw.separate_carriers(&mut scenario)?;
    let sites = draw.u.int_in_range(0..=2)?;
    let links = draw.u.int_in_range(usize::from(sites == 0)..=3)?;
    let groups = draw.u.int_in_range(1..=3)?;
    let flows = draw.u.int_in_range(1..=4)?;
    scenario.insert("duration".into(), format!("{}ms", draw.u.int_in_range(1..=300)?).into());
    if sites > 0 {
        scenario.insert("site".into(), draw.several("site", sites, Draw::site)?);
    }
    if links > 0 {
        scenario.insert("link".into(), draw.several("link", links, Draw::link)?);
    }
    let ue = draw.several("ue", groups, |draw, number, group| draw.group(number, group, sites, links))?;
    let count = |group: &Json| group["bearer"].as_array().map_or(0, Vec::len);
    let bearers: Vec<usize> = ue.as_array().into_iter().flatten().map(count).collect();
    scenario.insert("ue".into(), ue);
    scenario.insert(
        "flow".into(),
        draw.several("flow", flows, |draw, number, flow| draw.flow(number, flow, &bearers))?,
    );
    Ok(scenario.into())
}

/// Returns a fixed value for a key without a default, or with constraints beyond its own range.
///
/// `None`: any value of its shape is valid.
pub fn needed(path: &str, kind: Option<&str>, key: &str) -> Option<Json> {
    let value = match (path, kind.unwrap_or_default(), key) {
        ("link", "wire", "rate") => json!("20Mbps"),
        ("link", "trace", "down") => json!("norway-bus-1"),
        ("link", "trace", "format") => json!("rate"),
        ("link", "trace", "opportunity") => json!("1500B"),
        ("ue.placement", "list", "points") => {
            json!([["200m", "30m"], ["50m", "-300m"], ["1km", "0m"], ["90m", "5m"]])
        }
        ("ue.placement", "file", "rows") => {
            json!([[200, 30, -1, -1], [50, -300, -1, -1], [1000, 0, -1, -1], [90, 5, -1, -1]])
        }
        ("ue.mobility", "path", "rows") => json!([[0, 100, 50], [0.1, 103, 50], [0.5, 103, 43.5]]),
        ("ue.replay", "", "path") => json!("rows.csv"),
        ("ue.replay", "", "quantity") => json!("sinr"),
        ("ue.replay", "", "rows") => json!([[0, 20], [0.1, 5.5], [0.5, -3]]),
        ("flow.arrivals", "schedule", "times") => json!(["0ms"]),
        ("flow.arrivals", "file", "rows") => json!([[0, -1], [0.0005, -1]]),
        (_, "empirical", "rows") => json!([[100, 0.25], [3000, 0.5], [40000, 1]]),
        (_, "file" | "path" | "empirical", "path") => json!("rows.csv"),
        _ => return None,
    };
    Some(value)
}

/// Returns whether a value of this shape can be a text. Names and file names are set explicitly.
fn is_text(shape: &Shape) -> bool {
    match shape {
        Shape::Text => true,
        Shape::List(item, ..) => is_text(item),
        Shape::OneOf(branches) => branches.iter().any(is_text),
        _ => false,
    }
}

struct Draw<'u, 'b> {
    u: &'u mut Unstructured<'b>,
    /// Percentage of optional keys that are written.
    density: u8,
}

impl Draw<'_, '_> {
    fn chance(&mut self, percent: u8) -> Result<bool> {
        // When the bytes are exhausted the minimum is drawn, so that no more keys are written.
        Ok(self.u.int_in_range(0..=99)? >= 100 - percent)
    }

    /// Draws the keys of a table, except `others`.
    fn table(&mut self, path: &str, table: &Table, others: &[&str]) -> Result<Map<String, Json>> {
        let kind = table.kind.as_deref();
        let mut drawn = Map::new();
        if let Some(kind) = kind {
            drawn.insert("kind".into(), kind.into());
        }
        for Entry { key, shape, is_required, default } in &table.entries {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if others.contains(&key.as_str()) {
                continue;
            }
            if let Some(needed) = needed(path, kind, key) {
                drawn.insert(key.clone(), needed);
                continue;
            }
            // A section is always present; its keys are drawn.
            let is_section = matches!(shape, Shape::Table(_));
            let is_written = *is_required || is_section || (!is_text(shape) && self.chance(self.density)?);
            if is_written {
                let value = self.value(&inner, shape, default.as_ref())?;
                drawn.insert(key.clone(), value);
            }
        }
        Ok(drawn)
    }

    fn value(&mut self, path: &str, shape: &Shape, default: Option<&Json>) -> Result<Json> {
        Ok(match shape {
            Shape::Table(table) => self.table(path, table, &[])?.into(),
            Shape::OneOf(branches) => {
                let inside = |branch: &&Shape| match branch {
                    Shape::Table(table) => !OUTSIDE.contains(&table.kind.as_deref().unwrap_or_default()),
                    // Members are drawn as tables; a bare word equals a table without parameters.
                    Shape::Words(words) => words.len() == 1,
                    _ => true,
                };
                let branches: Vec<&Shape> = branches.iter().filter(inside).collect();
                let branch = *self.u.choose(&branches)?;
                self.value(path, branch, default)?
            }
            Shape::Words(words) => self.u.choose(words)?.clone().into(),
            Shape::Flag => self.u.arbitrary::<bool>()?.into(),
            Shape::Value(range) => {
                let max =
                    MAX.iter().find(|(end, _)| path.ends_with(end)).map_or(f64::INFINITY, |(_, max)| *max);
                range.draw(self.u, default, max)?
            }
            Shape::Text => json!("text"),
            Shape::List(item, min, max) => {
                let length = self.u.int_in_range(*min..=max.unwrap_or(4))?;
                let defaults = default.and_then(Json::as_array);
                let items = (0..length)
                    .map(|place| self.value(path, item, defaults.and_then(|defaults| defaults.get(place))))
                    .collect::<Result<Vec<Json>>>()?;
                items.into()
            }
        })
    }

    /// Draws secondary carriers for most scenarios without them, and moves carriers apart, which may still be more than a
    /// UE aggregates.
    fn separate_carriers(&mut self, scenario: &mut Map<String, Json>) -> Result<()> {
        let Some(Json::Object(carrier)) = scenario.get_mut("carrier") else { return Ok(()) };
        let mut secondary = match carrier.remove("secondary") {
            Some(Json::Array(drawn)) => drawn,
            _ => vec![json!({}); self.u.int_in_range(0..=3)?],
        };
        for (number, carrier) in secondary.iter_mut().enumerate() {
            carrier["downlink_frequency"] = format!("{}MHz", 700 + 300 * number).into();
        }
        carrier.insert("secondary".into(), secondary.into());
        Ok(())
    }

    fn several(
        &mut self,
        key: &str,
        count: usize,
        mut each: impl FnMut(&mut Self, usize, &Shape) -> Result<Map<String, Json>>,
    ) -> Result<Json> {
        let Shape::List(item, ..) = &SCENARIO.entry(key).shape else { unreachable!("`{key}` is a list") };
        (0..count).map(|number| each(self, number, item).map(Json::from)).collect()
    }

    fn object(&mut self, path: &str, shape: &Shape) -> Result<Map<String, Json>> {
        match self.value(path, shape, None)? {
            Json::Object(object) => Ok(object),
            other => unreachable!("{path} is a table, not {other}"),
        }
    }

    fn site(&mut self, number: usize, shape: &Shape) -> Result<Map<String, Json>> {
        let mut site = self.object("site", shape)?;
        if number > 0 {
            site.insert("position".into(), json!([format!("{}m", 700 * number), "40m"]));
        }
        Ok(site)
    }

    fn link(&mut self, number: usize, shape: &Shape) -> Result<Map<String, Json>> {
        let mut link = self.object("link", shape)?;
        link.insert("name".into(), format!("l{number}").into());
        // Towards the server a queue is described by limits or by a discipline; that of a medium is not separate.
        let is_medium = link.get("kind").is_some_and(|kind| kind == "wifi");
        if is_medium {
            link.remove("aqm_up");
            link.remove("reroute");
            link.retain(|key, _| {
                !BEHIND_A_QUEUE.iter().any(|of_wire| key.trim_end_matches("_up") == *of_wire)
            });
        }
        // The limit of a shaper replaces the others of its queue.
        for (shaper, others) in
            [("tbf", ["queue", "queue_bytes", "aqm"]), ("tbf_up", ["queue_up", "queue_bytes_up", "aqm_up"])]
        {
            if link.get(shaper).is_some_and(|tbf| tbf.get("limit").is_some_and(|limit| *limit != "none")) {
                others.iter().for_each(|other| drop(link.remove(*other)));
            }
        }
        if is_medium || link.contains_key("aqm_up") {
            link.remove("queue_up");
            link.remove("queue_bytes_up");
        }
        Ok(link)
    }

    /// Draws a group. The first group passes all links, so that each link is used.
    fn group(
        &mut self,
        number: usize,
        shape: &Shape,
        sites: usize,
        links: usize,
    ) -> Result<Map<String, Json>> {
        let mut group = self.object("ue", shape)?;
        group.insert("name".into(), format!("g{number}").into());
        group.remove("bearer");
        if self.chance(30)? {
            let bearers = self.u.int_in_range(1..=3)?;
            group.insert("bearer".into(), self.bearers(bearers, shape)?);
        }
        if number > 0 && links > 0 && self.chance(50)? {
            let min = usize::from(sites == 0);
            let (first, count) = (self.u.int_in_range(0..=links - 1)?, self.u.int_in_range(min..=links)?);
            let via: Vec<String> = (0..count).map(|place| format!("l{}", (first + place) % links)).collect();
            group.insert("via".into(), via.into());
        }
        Ok(group)
    }

    /// Draws dedicated bearers of a group.
    fn bearers(&mut self, count: usize, group: &Shape) -> Result<Json> {
        let Shape::Table(group) = group else { unreachable!("a group is a table") };
        let Shape::List(item, ..) = &group.entry("bearer").shape else { unreachable!("bearers are a list") };
        let bearer = |number| {
            let mut bearer = self.object("ue.bearer", item)?;
            bearer.insert("name".into(), format!("b{number}").into());
            Ok(Json::from(bearer))
        };
        (0..count).map(bearer).collect()
    }

    /// Draws a flow; `bearers` are the numbers of dedicated bearers of the groups.
    fn flow(&mut self, number: usize, shape: &Shape, bearers: &[usize]) -> Result<Map<String, Json>> {
        let mut flow = self.object("flow", shape)?;
        flow.insert("id".into(), format!("f{number}").into());
        let mut common = bearers.iter().copied().min().unwrap_or(0);
        if self.chance(50)? {
            let group = self.u.int_in_range(0..=bearers.len() - 1)?;
            flow.insert("ue".into(), format!("g{group}").into());
            common = bearers[group];
        }
        if common > 0 && self.chance(70)? {
            flow.insert("bearer".into(), format!("b{}", self.u.int_in_range(0..=common - 1)?).into());
        }
        Ok(flow)
    }
}

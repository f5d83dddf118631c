//! Support for the code that the macros generate.

use crate::{AlgorithmInfo, Defaults, Error, Node, Param, ParamInfo, ParamSet, Value, split_doc};
use serde_json::{Map, Value as Json, json};

/// Keys of a struct's table, in the order of its fields.
#[derive(Default)]
pub struct Keys {
    /// Keys that a scenario may set.
    pub known: Vec<&'static str>,
    /// Names of quirks, each with its source.
    pub quirks: Vec<(&'static str, &'static str)>,
}

impl Keys {
    /// Adds a parameter.
    pub fn own(mut self, key: &'static str) -> Keys {
        self.known.push(key);
        self
    }

    /// Adds the parameters of a block.
    pub fn block<P: ParamSet>(mut self) -> Keys {
        self.known.extend(P::infos().iter().map(|info| info.name));
        self.quirks(&P::quirks())
    }

    /// Adds quirks.
    pub fn quirks(mut self, infos: &[ParamInfo]) -> Keys {
        self.quirks.extend(infos.iter().map(|info| (info.name, info.source)));
        self
    }
}

/// Parameters of a struct, in the order of its fields.
#[derive(Default)]
pub struct Infos {
    pub all: Vec<ParamInfo>,
}

impl Infos {
    /// Adds a parameter.
    pub fn own(mut self, info: ParamInfo) -> Infos {
        self.all.push(info);
        self
    }

    /// Adds the parameters of a block.
    pub fn block<P: ParamSet>(mut self) -> Infos {
        self.all.extend(P::infos());
        self
    }
}

/// Reads a block from the table of the enclosing struct.
///
/// # Errors
/// As [`Param::read`].
pub fn read_block<P: Param + ParamSet>(node: &Node) -> Result<P, Error> {
    let infos = P::infos();
    P::read(&node.entries(|key| infos.iter().any(|info| info.name == key)))
}

/// Sets the quirks of which the table `own` has values.
///
/// # Errors
/// As [`Param::read`].
pub fn adopt_quirks<P: Param + ParamSet>(quirks: &mut P, own: &Node) -> Result<(), Error> {
    let infos = P::infos();
    let mut table = own.entries(|key| infos.iter().any(|info| info.name == key));
    table.underlay(&Node::from_json_value(quirks.to_json(), "")?);
    *quirks = P::read(&table)?;
    Ok(())
}

/// Completes the value of a parameter; if the value is missing, completes the declared default.
pub fn complete_entry<T: Param>(node: &mut Node, key: &str, default: Option<T>, defaults: &Defaults) {
    let Value::Table(entries) = &mut node.value else { return };
    if let Some((_, written)) = entries.iter_mut().find(|(name, _)| name == key) {
        T::complete(written, defaults);
        return;
    }
    let Some(declared) = default.and_then(|default| Node::from_json_value(default.to_json(), "").ok()) else {
        return;
    };
    // Start with the choice of the declared default only, so that `defaults` override its values.
    let chosen = declared.entries(|key| key == "kind");
    let mut completed = chosen.clone();
    T::complete(&mut completed, defaults);
    if completed != chosen {
        completed.underlay(&declared);
        entries.push((key.into(), completed));
    }
}

/// Completes a family member; `parameters` completes the parameters of the member of the given kind.
pub fn complete_member(
    node: &mut Node,
    family: &str,
    defaults: &Defaults,
    parameters: impl Fn(&str, &mut Node, &Defaults),
) {
    let written = node.clone();
    node.tabulate();
    let Some(kind) = node.word("kind").map(str::to_string) else { return };
    let bare = node.clone();
    if let Some(member) = defaults.member(family, &kind) {
        node.underlay(member);
    }
    parameters(&kind, node, defaults);
    if *node == bare {
        *node = written;
    }
}

/// A set of parameters in written form. A parameter without a value is omitted, or `none` if its default is a value.
#[derive(Default)]
pub struct Object {
    entries: Map<String, Json>,
}

impl Object {
    /// Adds a parameter; `has_default` says whether its default is a value.
    pub fn own(mut self, key: &str, value: Json, has_default: impl FnOnce() -> bool) -> Object {
        if !value.is_null() {
            self.entries.insert(key.into(), value);
        } else if has_default() {
            self.entries.insert(key.into(), "none".into());
        }
        self
    }

    /// Adds the parameters of a block.
    pub fn block(mut self, block: Json) -> Object {
        extend(&mut self.entries, block);
        self
    }

    /// Returns the finished object.
    pub fn json(self) -> Json {
        self.entries.into()
    }
}

/// JSON Schema of a set of parameters.
pub struct Schema<'a> {
    infos: &'a [ParamInfo],
    properties: Map<String, Json>,
}

impl<'a> Schema<'a> {
    /// A schema without properties yet; `infos` describes all parameters.
    pub fn new(infos: &'a [ParamInfo]) -> Schema<'a> {
        Schema { infos, properties: Map::new() }
    }

    /// Adds a parameter with the schema of its type.
    pub fn own(mut self, key: &str, schema: Json) -> Schema<'a> {
        let info = self.infos.iter().find(|info| info.name == key).expect("all parameters are declared");
        self.properties.insert(key.into(), described(schema, info));
        self
    }

    /// Adds the parameters of a block.
    pub fn block(mut self, mut block: Json) -> Schema<'a> {
        extend(&mut self.properties, block["properties"].take());
        self
    }

    /// Returns the finished object, with the basic properties first.
    pub fn json(mut self) -> Json {
        let level = |key: &str| self.infos.iter().find(|info| info.name == key).map(|info| info.level);
        let mut properties: Vec<_> = std::mem::take(&mut self.properties).into_iter().collect();
        properties.sort_by_key(|(key, _)| level(key));
        self.properties = properties.into_iter().collect();
        let required: Vec<&str> =
            self.infos.iter().filter(|info| info.default.is_none()).map(|info| info.name).collect();
        json!({
            "type": "object", "additionalProperties": false,
            "properties": self.properties, "required": required,
        })
    }
}

fn extend(object: &mut Map<String, Json>, more: Json) {
    if let Json::Object(more) = more {
        object.extend(more);
    }
}

/// Adds meaning, default and source of a parameter to the schema of its type.
fn described(mut schema: Json, info: &ParamInfo) -> Json {
    let range = info.range.as_ref().map(|(low, high)| format!(" Range {low} to {high}.")).unwrap_or_default();
    if let Some((low, high)) = &info.range {
        bound(&mut schema, low, high);
    }
    let unit = if info.unit == "1" { String::new() } else { format!(" [{}]", info.unit) };
    schema["description"] = format!("{}{unit}{range} Source: {}.", info.meaning, info.source).into();
    schema["x-level"] = info.level.word().into();
    if let Some(default) = info.default.as_ref().filter(|default| !default.is_null()) {
        schema["default"] = default.clone();
    }
    schema
}

/// Adds a range: for numbers by the keywords of JSON Schema, for quantities (strings) by `x-range`.
fn bound(schema: &mut Json, low: &str, high: &str) {
    if let Some(branches) = schema.get_mut("anyOf").and_then(Json::as_array_mut) {
        return branches.iter_mut().for_each(|branch| bound(branch, low, high));
    }
    let number = |end: &str| end.parse::<Json>().expect("the ends of a number's range are numbers");
    match schema["type"].as_str() {
        Some("integer" | "number") => {
            schema["minimum"] = number(low);
            schema["maximum"] = number(high);
        }
        Some("string") => schema["x-range"] = json!([low, high]),
        Some("array") => bound(&mut schema["items"], low, high),
        _ => {}
    }
}

/// JSON Schema of a closed set of words. `enumDescriptions` is an extension that editors show.
pub fn words(words: &[(&str, &str)]) -> Json {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let meanings: Vec<String> = words.iter().map(|(_, doc)| split_doc(doc).0).collect();
    json!({"enum": names, "enumDescriptions": meanings})
}

/// Returns a family member with its parameters in written form.
pub fn with_kind(kind: String, params: Json) -> Json {
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    extend(&mut object, params);
    object.into()
}

/// Returns the names of the parameters of a member.
pub fn keys<P: ParamSet>() -> Vec<&'static str> {
    P::infos().iter().map(|info| info.name).collect()
}

/// Returns the description of a member for `airwnd list` and `airwnd explain`.
pub fn member<P: ParamSet>(kind: &str) -> AlgorithmInfo {
    AlgorithmInfo {
        name: kind.into(),
        summary: P::summary(),
        details: P::details(),
        source: P::SOURCE,
        params: P::infos(),
        quirks: P::quirks(),
    }
}

/// JSON Schema of a member as a table.
pub fn member_schema<P: ParamSet + Param>(kind: &str) -> Json {
    let mut schema = P::schema();
    schema["properties"]["kind"] = json!({"const": kind});
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("kind".into());
    }
    schema["description"] = P::summary().into();
    schema
}

/// JSON Schema of a family: a bare word, or one of the tables.
pub fn any_of<const N: usize>(members: [(&str, Json); N]) -> Json {
    let kinds: Vec<&str> = members.iter().map(|(kind, _)| *kind).collect();
    let words = json!({"enum": kinds});
    let tables = members.into_iter().map(|(_, schema)| schema);
    json!({"anyOf": std::iter::once(words).chain(tables).collect::<Vec<_>>()})
}

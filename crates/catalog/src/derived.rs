//! What the code that the macros generate calls.

use crate::{AlgorithmInfo, Error, Node, Param, ParamInfo, ParamSet};
use serde_json::{Map, Value as Json, json};

/// The keys of a struct's table: its own, and those of the blocks that it takes in.
pub fn keys(own: &[&'static str], blocks: &[Vec<ParamInfo>]) -> Vec<&'static str> {
    own.iter().copied().chain(blocks.iter().flatten().map(|info| info.name)).collect()
}

/// Reads a block from the table of the struct that takes it in.
///
/// # Errors
/// As [`Param::read`].
pub fn read_block<P: Param + ParamSet>(node: &Node) -> Result<P, Error> {
    let infos = P::infos();
    P::read(&node.entries(|key| infos.iter().any(|info| info.name == key)))
}

/// A set of parameters as it would be written, those of blocks last; without those that have no value.
pub fn object<const N: usize, const B: usize>(entries: [(&str, Json); N], blocks: [Json; B]) -> Json {
    let written = entries.into_iter().filter(|(_, value)| !value.is_null());
    let mut object: Map<_, _> = written.map(|(key, value)| (key.to_string(), value)).collect();
    for block in blocks {
        extend(&mut object, block);
    }
    object.into()
}

/// The schema of a set of parameters from those of their types and of the blocks behind them.
pub fn schema<const N: usize, const B: usize>(
    infos: &[ParamInfo],
    types: [Json; N],
    blocks: [Json; B],
) -> Json {
    let required: Vec<&str> =
        infos.iter().filter(|info| info.default.is_none()).map(|info| info.name).collect();
    let property = |(info, schema): (&ParamInfo, Json)| (info.name.to_string(), described(schema, info));
    let mut properties: Map<_, _> = infos.iter().zip(types).map(property).collect();
    for mut block in blocks {
        extend(&mut properties, block["properties"].take());
    }
    json!({
        "type": "object", "additionalProperties": false,
        "properties": properties, "required": required,
    })
}

fn extend(object: &mut Map<String, Json>, more: Json) {
    if let Json::Object(more) = more {
        object.extend(more);
    }
}

/// The schema of a parameter's type with its meaning, default and source.
fn described(mut schema: Json, info: &ParamInfo) -> Json {
    let range = info.range.as_ref().map(|(low, high)| format!(" Range {low} to {high}.")).unwrap_or_default();
    let unit = if info.unit == "1" { String::new() } else { format!(" [{}]", info.unit) };
    schema["description"] = format!("{}{unit}{range} Source: {}.", info.meaning, info.source).into();
    if let Some(default) = info.default.as_ref().filter(|default| !default.is_null()) {
        schema["default"] = default.clone();
    }
    schema
}

/// A member of a family with its parameters, as it would be written.
pub fn with_kind(kind: String, params: Json) -> Json {
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    extend(&mut object, params);
    object.into()
}

/// What `airwnd list` and `airwnd explain` show of a member.
pub fn member<P: ParamSet>(kind: &str) -> AlgorithmInfo {
    AlgorithmInfo {
        name: kind.into(),
        summary: P::summary(),
        details: P::details(),
        source: P::SOURCE,
        params: P::infos(),
    }
}

/// The schema of a member as a table.
pub fn member_schema<P: ParamSet + Param>(kind: &str) -> Json {
    let mut schema = P::schema();
    schema["properties"]["kind"] = json!({"const": kind});
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("kind".into());
    }
    schema["description"] = P::summary().into();
    schema
}

/// The schema of a family: a bare word, or one of the tables.
pub fn any_of<const N: usize>(members: [(&str, Json); N]) -> Json {
    let kinds: Vec<&str> = members.iter().map(|(kind, _)| *kind).collect();
    let words = json!({"enum": kinds});
    let tables = members.into_iter().map(|(_, schema)| schema);
    json!({"anyOf": std::iter::once(words).chain(tables).collect::<Vec<_>>()})
}

//! Structure of a scenario as declared by the schema.

use crate::value::Range;
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;

/// Allowed values at a place of a scenario.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A table of settings.
    Table(Table),
    /// One of several shapes.
    OneOf(Vec<Shape>),
    /// One of these words.
    Words(Vec<String>),
    /// True or false.
    Flag,
    /// A number or a quantity.
    Value(Range),
    /// Any text: a name or a path.
    Text,
    /// A list with a minimum and a maximum number of items.
    List(Box<Shape>, usize, Option<usize>),
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Word of the family member, if the table is one.
    pub kind: Option<String>,
    /// Keys except `kind`, in order of declaration.
    pub entries: Vec<Entry>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name.
    pub key: String,
    /// Allowed values.
    pub shape: Shape,
    /// Set if there is no default.
    pub is_required: bool,
    /// Default in written form.
    pub default: Option<Json>,
}

/// Shape of a scenario.
pub static SCENARIO: LazyLock<Table> = LazyLock::new(|| match Shape::of(&airwnd_lab::schema()) {
    Shape::Table(table) => table,
    other => unreachable!("a scenario is a table, not {other:?}"),
});

impl Shape {
    /// Reads the shape from a schema.
    ///
    /// # Panics
    /// If the schema contains something that no parameter declaration generates.
    pub fn of(schema: &Json) -> Shape {
        let properties = schema.get("properties").and_then(Json::as_object);
        let branches = schema.get("anyOf").and_then(Json::as_array);
        match (properties, branches) {
            (Some(shared), None) => Shape::Table(Table::of(shared, schema)),
            // A link: keys common to all kinds, and those of each kind.
            (Some(shared), Some(kinds)) => Shape::OneOf(
                kinds
                    .iter()
                    .map(|kind| {
                        let mut keys = shared.clone();
                        keys.extend(kind["properties"].as_object().cloned().unwrap_or_default());
                        Shape::Table(Table::of(&keys, kind))
                    })
                    .collect(),
            ),
            (None, Some(branches)) => Shape::OneOf(branches.iter().map(Shape::of).collect()),
            (None, None) => Shape::plain(schema),
        }
    }

    fn plain(schema: &Json) -> Shape {
        let texts = |words: &[Json]| words.iter().filter_map(Json::as_str).map(str::to_string).collect();
        if let Some(word) = schema.get("const") {
            return Shape::Words(texts(std::slice::from_ref(word)));
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            return Shape::Words(texts(words));
        }
        // A text of a certain form: the examples stand for all of them.
        if let (Some(_), Some(words)) = (schema.get("pattern"), schema["examples"].as_array()) {
            return Shape::Words(texts(words));
        }
        match schema["type"].as_str() {
            Some("boolean") => Shape::Flag,
            Some("array") => {
                let length = |key: &str| schema.get(key).and_then(Json::as_u64).map(|length| length as usize);
                let item = Shape::of(&schema["items"]);
                Shape::List(Box::new(item), length("minItems").unwrap_or(0), length("maxItems"))
            }
            Some("string") if schema.get("examples").is_none() => Shape::Text,
            Some("integer" | "number" | "string") => Shape::Value(Range::of(schema)),
            other => unreachable!("{other:?} in {schema}"),
        }
    }
}

impl Table {
    fn of(properties: &Map<String, Json>, schema: &Json) -> Table {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let entry = |(key, schema): (&String, &Json)| Entry {
            key: key.clone(),
            shape: Shape::of(schema),
            is_required: required.contains(&key.as_str()),
            default: schema.get("default").cloned(),
        };
        Table {
            kind: properties.get("kind").and_then(|kind| kind["const"].as_str()).map(str::to_string),
            entries: properties.iter().filter(|(key, _)| *key != "kind").map(entry).collect(),
        }
    }

    /// Returns the entry of a key.
    ///
    /// # Panics
    /// If the key does not exist.
    pub fn entry(&self, key: &str) -> &Entry {
        self.entries.iter().find(|entry| entry.key == key).unwrap_or_else(|| panic!("there is no `{key}`"))
    }
}

//! Reading values strictly.

use crate::{Defaults, Error, Fault, Files, Node, Value};
use airwnd_units::{BitRate, Bytes, Db, Dbm, Degrees, Hertz, Metres, Quantity, Span, Speed, Time};
use serde_json::{Value as Json, json};
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A type that a scenario can hold.
pub trait Param: Sized {
    /// From what the user wrote, or one message that says what is allowed.
    fn read(node: &Node) -> Result<Self, Error>;
    /// As it would be written, for the resolved scenario.
    fn to_json(&self) -> Json;
    /// The JSON Schema of what [`Param::read`] accepts.
    fn schema() -> Json;
    /// Adds, at all places inside, the defaults of the members that are chosen there.
    fn complete(_node: &mut Node, _defaults: &Defaults) {}
    /// What was written, with `defaults` for everything that was not. They keep their origin and line for messages.
    fn completed(written: &Node, defaults: &Defaults) -> Node {
        let mut node = written.clone();
        node.underlay(defaults.sections());
        Self::complete(&mut node, defaults);
        node
    }
    /// What no single value shows, here and in all values inside.
    ///
    /// # Errors
    /// Values that contradict each other.
    fn check_values(&self) -> Result<(), Fault> {
        Ok(())
    }
    /// Reads the files that values name, here and in all values inside.
    ///
    /// # Errors
    /// A file that cannot be read, or a mistake in one.
    fn read_files(&mut self, _files: &dyn Files) -> Result<(), Fault> {
        Ok(())
    }
}

/// A type whose values can lie outside a declared range.
pub trait Bounded {
    /// What the range is made of.
    type Scalar: PartialOrd + Param;
    /// The first value outside, if any.
    fn outside<'a>(&'a self, range: &RangeInclusive<Self::Scalar>) -> Option<&'a Self::Scalar>;
}

/// A range as it is shown, both ends included.
pub fn range_text<T: Param>(range: &RangeInclusive<T>) -> (String, String) {
    (plain(&range.start().to_json()), plain(&range.end().to_json()))
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A table being read.
pub struct Fields<'a> {
    node: &'a Node,
    entries: &'a [(String, Node)],
}

impl<'a> Fields<'a> {
    /// The table at `node`, which may have these keys and no others.
    pub fn of(node: &'a Node, known: &[&str]) -> Result<Fields<'a>, Error> {
        let Value::Table(entries) = &node.value else {
            return Err(node.error(format!("expected a table of settings, found {}", node.value.what())));
        };
        match entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, at)) => Err(at.error(unknown("key", key, known))),
            None => Ok(Fields { node, entries }),
        }
    }

    /// The value under `key`, or the default where the key is missing.
    pub fn take<T: Param>(&self, key: &'static str, default: Option<T>) -> Result<T, Error> {
        match (self.find(key), default) {
            (Some(node), _) => T::read(node).map_err(|error| error.within(key)),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.node.error(format!("`{key}` is missing"))),
        }
    }

    /// Like [`Fields::take`], and the value must lie within `range`.
    pub fn take_within<T: Param + Bounded>(
        &self,
        key: &'static str,
        default: Option<T>,
        range: RangeInclusive<T::Scalar>,
    ) -> Result<T, Error> {
        let (low, high) = range_text(&range);
        let node = self.find(key).unwrap_or(self.node);
        let complain = |what| Err(node.error(format!("{what} is outside {low}..{high}")).within(key));
        let value = match (self.take::<T>(key, default), &node.value) {
            // A whole number that its type cannot hold: the range says more than the type's limits.
            (Err(_), Value::Int(n)) if range.start().to_json().is_number() => return complain(n.to_string()),
            (value, _) => value?,
        };
        match value.outside(&range) {
            Some(outside) => complain(plain(&outside.to_json())),
            None => Ok(value),
        }
    }

    fn find(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }
}

/// The message for a word that is none of the allowed ones, with the nearest of them.
pub fn unknown_word(what: &str, word: &str, allowed: &[&str]) -> String {
    unknown(what, word, allowed)
}

fn unknown(what: &str, word: &str, allowed: &[impl AsRef<str>]) -> String {
    let near = allowed
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate.as_ref()), candidate.as_ref()))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default();
    format!("unknown {what} `{word}`{near}; {}", one_of(allowed))
}

fn one_of(allowed: &[impl AsRef<str>]) -> String {
    let list = allowed.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ");
    if list.is_empty() { "none is allowed here".into() } else { format!("allowed: {list}") }
}

/// Reads the `kind` of a family's member: from a bare word or from a table.
pub fn read_kind<'a>(node: &'a Node, family: &str, kinds: &[String]) -> Result<&'a str, Error> {
    let (kind, at, within) = match &node.value {
        Value::Text(word) => (word.as_str(), node, false),
        Value::Table(entries) => match entries.iter().find(|(key, _)| key == "kind") {
            Some((_, Node { value: Value::Text(word), .. })) => (word.as_str(), node, true),
            Some((_, other)) => {
                return Err(other
                    .error(format!("expected a word, found {}", other.value.what()))
                    .within("kind"));
            }
            None => return Err(node.error(format!("`kind` is missing: which {family}? {}", one_of(kinds)))),
        },
        other => {
            return Err(node.error(format!(
                "expected a {family}, as in \"{}\" or {{kind = \"{}\", ...}}, found {}",
                kinds[0],
                kinds[0],
                other.what()
            )));
        }
    };
    if kinds.iter().any(|known| known == kind) {
        return Ok(kind);
    }
    let error = at.error(unknown(family, kind, kinds));
    Err(if within { error.within("kind") } else { error })
}

/// The parameters of a family's member: its table without `kind`, or none beside a bare word.
pub fn without_kind(node: &Node) -> Node {
    node.entries(|key| key != "kind")
}

macro_rules! unsigned {
    ($($type:ident),*) => {$(
        impl Param for $type {
            fn read(node: &Node) -> Result<Self, Error> {
                match &node.value {
                    Value::Int(n) => $type::try_from(*n)
                        .map_err(|_| node.error(format!("{n} is outside {}..{}", $type::MIN, $type::MAX))),
                    other => Err(node.error(format!("expected a whole number, found {}", other.what()))),
                }
            }
            fn to_json(&self) -> Json { json!(self) }
            fn schema() -> Json { json!({"type": "integer", "minimum": 0}) }
        }
    )*};
}
unsigned!(u8, u16, u32, u64);

impl Param for f64 {
    fn read(node: &Node) -> Result<Self, Error> {
        match node.value {
            // -0.0 is 0.0 to a user.
            Value::Float(x) if x.is_finite() => Ok(x + 0.0),
            Value::Int(n) => Ok(n as f64),
            ref other => Err(node.error(format!("expected a finite number, found {}", other.what()))),
        }
    }
    fn to_json(&self) -> Json {
        json!(self)
    }
    fn schema() -> Json {
        json!({"type": "number"})
    }
}

impl Param for bool {
    fn read(node: &Node) -> Result<Self, Error> {
        match node.value {
            Value::Bool(flag) => Ok(flag),
            ref other => Err(node.error(format!("expected true or false, found {}", other.what()))),
        }
    }
    fn to_json(&self) -> Json {
        json!(self)
    }
    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

impl Param for String {
    fn read(node: &Node) -> Result<Self, Error> {
        match &node.value {
            // Names and paths come back in messages, tables and pages: no escape sequence may act there.
            Value::Text(text) if text.contains(char::is_control) => {
                Err(node.error(format!("a text has no control characters, found \"{text}\"")))
            }
            Value::Text(text) => Ok(text.clone()),
            other => Err(node.error(format!("expected a text, found {}", other.what()))),
        }
    }
    fn to_json(&self) -> Json {
        json!(self)
    }
    fn schema() -> Json {
        json!({"type": "string"})
    }
}

macro_rules! quantities {
    ($($type:ident),*) => {$(
        impl Param for $type {
            fn read(node: &Node) -> Result<Self, Error> {
                match &node.value {
                    Value::Text(text) => text.parse().map_err(|error: airwnd_units::UnitError| node.error(error.to_string())),
                    other => Err(node.error(format!(
                        "expected {} with its unit, as in \"{}\", found {}",
                        $type::WHAT, $type::EXAMPLE, other.what()
                    ))),
                }
            }
            fn to_json(&self) -> Json { json!(self.to_string()) }
            fn schema() -> Json {
                json!({"type": "string", "description": format!("{} with its unit", $type::WHAT), "examples": [$type::EXAMPLE]})
            }
        }
    )*};
}
quantities!(Span, Time, Bytes, BitRate, Db, Dbm, Hertz, Metres, Speed, Degrees);

macro_rules! bounded {
    ($($type:ident),*) => {$(
        impl Bounded for $type {
            type Scalar = $type;
            fn outside<'a>(&'a self, range: &RangeInclusive<$type>) -> Option<&'a $type> {
                (!range.contains(self)).then_some(self)
            }
        }
    )*};
}
bounded!(u8, u16, u32, u64, f64, Span, Time, Bytes, BitRate, Db, Dbm, Hertz, Metres, Speed, Degrees);

impl<T: Bounded> Bounded for Option<T> {
    type Scalar = T::Scalar;
    fn outside<'a>(&'a self, range: &RangeInclusive<T::Scalar>) -> Option<&'a T::Scalar> {
        self.as_ref().and_then(|value| value.outside(range))
    }
}

impl<T: Bounded> Bounded for Vec<T> {
    type Scalar = T::Scalar;
    fn outside<'a>(&'a self, range: &RangeInclusive<T::Scalar>) -> Option<&'a T::Scalar> {
        self.iter().find_map(|value| value.outside(range))
    }
}

impl<T: Bounded, const N: usize> Bounded for [T; N] {
    type Scalar = T::Scalar;
    fn outside<'a>(&'a self, range: &RangeInclusive<T::Scalar>) -> Option<&'a T::Scalar> {
        self.iter().find_map(|value| value.outside(range))
    }
}

/// The word for no value, unless it is a value of its own: a name, or the member `none` of a family.
const NONE: &str = "none";

impl<T: Param> Param for Option<T> {
    fn read(node: &Node) -> Result<Self, Error> {
        match T::read(node) {
            Err(_) if matches!(&node.value, Value::Text(word) if word == NONE) => Ok(None),
            value => value.map(Some),
        }
    }
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, Param::to_json)
    }
    fn schema() -> Json {
        or_none(T::schema())
    }
    fn complete(node: &mut Node, defaults: &Defaults) {
        T::complete(node, defaults);
    }
    fn check_values(&self) -> Result<(), Fault> {
        self.as_ref().map_or(Ok(()), Param::check_values)
    }
    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        self.as_mut().map_or(Ok(()), |value| value.read_files(files))
    }
}

/// The schema of what is a value of this one, or none.
fn or_none(mut value: Json) -> Json {
    if let Some(members) = value.get_mut("anyOf").and_then(Json::as_array_mut) {
        members.push(json!({"const": NONE}));
    } else if let Some(words) = value.get_mut("enum").and_then(Json::as_array_mut) {
        words.push(NONE.into());
        if let Some(meanings) = value.get_mut("enumDescriptions").and_then(Json::as_array_mut) {
            meanings.push("No value.".into());
        }
    } else if value != String::schema() {
        return json!({"anyOf": [value, {"const": NONE}]});
    }
    value
}

/// The first fault in a list, with its place.
fn each<T>(
    items: impl IntoIterator<Item = T>,
    mut find: impl FnMut(T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for (place, item) in items.into_iter().enumerate() {
        find(item).map_err(|fault| fault.within(&format!("[{place}]")))?;
    }
    Ok(())
}

impl<T: Param> Param for Vec<T> {
    fn read(node: &Node) -> Result<Self, Error> {
        match &node.value {
            Value::List(items) => {
                let item = |(i, item)| T::read(item).map_err(|error| error.within(&format!("[{i}]")));
                items.iter().enumerate().map(item).collect()
            }
            Value::Table(_) => {
                Err(node.error("expected a list, found a table; a list of tables is written [[...]]"))
            }
            other => Err(node.error(format!("expected a list, found {}", other.what()))),
        }
    }
    fn to_json(&self) -> Json {
        Json::Array(self.iter().map(Param::to_json).collect())
    }
    fn schema() -> Json {
        json!({"type": "array", "items": T::schema()})
    }
    fn complete(node: &mut Node, defaults: &Defaults) {
        if let Value::List(items) = &mut node.value {
            items.iter_mut().for_each(|item| T::complete(item, defaults));
        }
    }
    fn check_values(&self) -> Result<(), Fault> {
        each(self, |item| item.check_values())
    }
    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        each(self, |item| item.read_files(files))
    }
}

impl<T: Param + Debug, const N: usize> Param for [T; N] {
    fn read(node: &Node) -> Result<Self, Error> {
        let expected = |found: String| node.error(format!("expected a list of {N} values, found {found}"));
        if !matches!(node.value, Value::List(_)) {
            return Err(expected(node.value.what()));
        }
        let items = Vec::<T>::read(node)?;
        let length = items.len();
        items.try_into().map_err(|_| expected(length.to_string()))
    }
    fn to_json(&self) -> Json {
        Json::Array(self.iter().map(Param::to_json).collect())
    }
    fn schema() -> Json {
        json!({"type": "array", "items": T::schema(), "minItems": N, "maxItems": N})
    }
    fn complete(node: &mut Node, defaults: &Defaults) {
        Vec::<T>::complete(node, defaults);
    }
    fn check_values(&self) -> Result<(), Fault> {
        each(self, |item| item.check_values())
    }
    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        each(self, |item| item.read_files(files))
    }
}

//! Strict reading of values.

use crate::{Defaults, Error, Fault, Files, Node, Value};
use airwnd_units::{BitRate, Bytes, Db, Dbm, Degrees, Hertz, Metres, Quantity, Span, Speed, Time};
use serde_json::{Value as Json, json};
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A type of values in a scenario.
pub trait Param: Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// A value of the wrong type or outside the allowed values; the message names what is allowed.
    fn read(node: &Node) -> Result<Self, Error>;
    /// Returns the value in the form of the resolved scenario.
    fn to_json(&self) -> Json;
    /// JSON Schema of the values that [`Param::read`] accepts.
    fn schema() -> Json;
    /// Adds the defaults of the selected family members, at all depths.
    fn complete(_node: &mut Node, _defaults: &Defaults) {}
    /// Returns the written values, completed by `defaults`. Defaults keep their origin and line for messages.
    fn completed(written: &Node, defaults: &Defaults) -> Node {
        let mut node = written.clone();
        node.underlay(defaults.sections());
        Self::complete(&mut node, defaults);
        node
    }
    /// Sets quirks, at all depths. `own` is the part of the table `quirks` about this value, if it has one.
    ///
    /// # Errors
    /// An invalid value of a quirk.
    fn adopt(&mut self, _own: Option<&Node>, _quirks: &Defaults) -> Result<(), Error> {
        Ok(())
    }
    /// Checks values against each other, at all depths.
    ///
    /// # Errors
    /// Contradicting values.
    fn check_values(&self) -> Result<(), Fault> {
        Ok(())
    }
    /// Reads the files named by values, at all depths.
    ///
    /// # Errors
    /// A file that cannot be read, or an error in its contents.
    fn read_files(&mut self, _files: &dyn Files) -> Result<(), Fault> {
        Ok(())
    }
}

/// A type with values that a declared range can bound.
pub trait Bounded {
    /// Type of the ends of the range.
    type Scalar: PartialOrd + Param;
    /// Returns the first value outside the range, if any.
    fn outside<'a>(&'a self, range: &RangeInclusive<Self::Scalar>) -> Option<&'a Self::Scalar>;
}

/// Returns both ends of a range as text.
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
    /// Opens the table at `node`. `quirks` are names of quirks, each with its source.
    ///
    /// # Errors
    /// A value that is not a table, a key that is not in `known`, or a quirk.
    pub fn of(node: &'a Node, known: &[&str], quirks: &[(&str, &str)]) -> Result<Fields<'a>, Error> {
        let Value::Table(entries) = &node.value else {
            return Err(node.error(format!("expected a table of settings, found {}", node.value.what())));
        };
        match entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, at)) => Err(at.error(match quirks.iter().find(|(name, _)| name == key) {
                Some((_, source)) => format!(
                    "`{key}` is a quirk of another simulator ({source}) and no key; `compat` at the top of the \
                     scenario selects the quirks of one"
                ),
                None => unknown("key", key, known),
            })),
            None => Ok(Fields { node, entries }),
        }
    }

    /// Returns the value under `key`, or the default if the key is missing.
    pub fn take<T: Param>(&self, key: &'static str, default: Option<T>) -> Result<T, Error> {
        match (self.find(key), default) {
            (Some(node), _) => T::read(node).map_err(|error| error.within(key)),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.node.error(format!("`{key}` is missing"))),
        }
    }

    /// Returns the value as [`Fields::take`] does, and checks it against `range`.
    pub fn take_within<T: Param + Bounded>(
        &self,
        key: &'static str,
        default: Option<T>,
        range: RangeInclusive<T::Scalar>,
    ) -> Result<T, Error> {
        let (low, high) = range_text(&range);
        let node = self.find(key).unwrap_or(self.node);
        let fail = |what| Err(node.error(format!("{what} is outside {low}..{high}")).within(key));
        let value = match (self.take::<T>(key, default), &node.value) {
            // For an integer outside its type, the declared range is more useful than the limits of the type.
            (Err(_), Value::Int(n)) if range.start().to_json().is_number() => return fail(n.to_string()),
            (value, _) => value?,
        };
        match value.outside(&range) {
            Some(outside) => fail(plain(&outside.to_json())),
            None => Ok(value),
        }
    }

    fn find(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }
}

/// Returns the message for an unknown word: the most similar allowed word, and all allowed words.
pub fn unknown_word(what: &str, word: &str, allowed: &[&str]) -> String {
    unknown(what, word, allowed)
}

fn unknown(what: &str, word: &str, allowed: &[impl AsRef<str>]) -> String {
    // Until 0.2 minima and maxima had other names.
    let renamed = word.replace("least", "min").replace("most", "max");
    if renamed != word && allowed.iter().any(|name| name.as_ref() == renamed) {
        return format!("the {what} `{word}` is called `{renamed}`; {}", one_of(allowed));
    }
    let lower = word.to_lowercase();
    let near = allowed
        .iter()
        .map(AsRef::as_ref)
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default();
    format!("unknown {what} `{word}`{near}; {}", one_of(allowed))
}

fn one_of(allowed: &[impl AsRef<str>]) -> String {
    let list = allowed.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ");
    if list.is_empty() { "there are none".into() } else { format!("allowed: {list}") }
}

/// Reads the `kind` of a family member, from a bare word or from a table.
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
            None => return Err(node.error(format!("the `kind` of {family} is missing; {}", one_of(kinds)))),
        },
        other => {
            return Err(node.error(format!(
                "expected a kind of {family}, as in \"{}\" or {{kind = \"{}\", ...}}, found {}",
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

/// Returns the parameters of a family member: its table without `kind`; an empty table for a bare word.
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
            // Normalizes -0.0 to 0.0.
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
            // Names and paths are printed in messages, tables and pages: escape sequences must not reach a terminal.
            Value::Text(text) if text.contains(char::is_control) => {
                Err(node.error(format!("control characters are not allowed in a text, found \"{text}\"")))
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

/// The word for no value. Where `none` is itself a value (a name, or the member `none` of a family), it is read as
/// that.
const NONE: &str = "none";

impl<T: Param> Param for Option<T> {
    fn read(node: &Node) -> Result<Self, Error> {
        match T::read(node) {
            Err(_) if matches!(&node.value, Value::Text(word) if word == NONE) => Ok(None),
            value => value.map(Some),
        }
    }
    fn to_json(&self) -> Json {
        match self.as_ref().map(Param::to_json) {
            // Null would be read as a value that is not set, where `none` is set over another value.
            Some(Json::Null) => NONE.into(),
            value => value.unwrap_or(Json::Null),
        }
    }
    fn schema() -> Json {
        or_none(T::schema())
    }
    fn complete(node: &mut Node, defaults: &Defaults) {
        T::complete(node, defaults);
    }
    fn adopt(&mut self, own: Option<&Node>, quirks: &Defaults) -> Result<(), Error> {
        self.as_mut().map_or(Ok(()), |value| value.adopt(own, quirks))
    }
    fn check_values(&self) -> Result<(), Fault> {
        self.as_ref().map_or(Ok(()), Param::check_values)
    }
    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        self.as_mut().map_or(Ok(()), |value| value.read_files(files))
    }
}

/// Extends a schema by `none`.
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

/// Returns the first fault in a list, with its index.
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
    fn adopt(&mut self, own: Option<&Node>, quirks: &Defaults) -> Result<(), Error> {
        self.iter_mut().try_for_each(|item| item.adopt(own, quirks))
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
    fn adopt(&mut self, own: Option<&Node>, quirks: &Defaults) -> Result<(), Error> {
        self.iter_mut().try_for_each(|item| item.adopt(own, quirks))
    }
    fn check_values(&self) -> Result<(), Fault> {
        each(self, |item| item.check_values())
    }
    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        each(self, |item| item.read_files(files))
    }
}

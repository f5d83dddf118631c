//! Reads JSON into nodes and rejects duplicate keys: `serde_json::Value` would silently keep the last value.

use super::{Node, Value};
use crate::Error;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Converts a JSON text or value to a node.
///
/// # Errors
/// Invalid JSON, or a value that a scenario cannot hold, with its key and, for a text, its line.
pub(super) fn read<'de, D>(from: D, origin: &str) -> Result<Node, Error>
where
    D: Deserializer<'de, Error = serde_json::Error>,
{
    let fault = RefCell::new(None);
    let tree = Tree { origin: &origin.into(), fault: &fault, path: &Path::Root };
    tree.deserialize(from).map_err(|error| {
        let line = Some(error.line()).filter(|line| *line > 0);
        match fault.take() {
            Some((key, message)) => Error::new(origin, line, message).within(&key),
            None => Error::new(origin, line, error.to_string()),
        }
    })
}

/// Reads the value at a path.
#[derive(Clone, Copy)]
struct Tree<'a> {
    origin: &'a Arc<str>,
    /// Key of a rejected value and the reason: a serde error has only a text and a line.
    fault: &'a RefCell<Option<(String, &'static str)>>,
    path: &'a Path<'a>,
}

/// Path of a value, linked from the innermost step outwards.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => write!(f, "{key}"),
            Path::Key(above, key) => write!(f, "{above}.{key}"),
            Path::Index(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

impl Tree<'_> {
    fn node(&self, value: Value) -> Node {
        Node { value, origin: self.origin.clone(), line: None }
    }

    fn refuse<E: serde::de::Error>(&self, why: &'static str) -> E {
        *self.fault.borrow_mut() = Some((self.path.to_string(), why));
        E::custom(why)
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Node;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E: serde::de::Error>(self) -> Result<Node, E> {
        Err(self.refuse("null (None) is not a value; leave the key out"))
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(self.node(Value::Bool(flag)))
    }
    fn visit_i64<E>(self, whole: i64) -> Result<Node, E> {
        Ok(self.node(Value::Int(whole)))
    }
    fn visit_u64<E>(self, whole: u64) -> Result<Node, E> {
        Ok(self.node(i64::try_from(whole).map_or(Value::Float(whole as f64), Value::Int)))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(self.node(Value::Float(number)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(self.node(Value::Text(text.into())))
    }
    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(self.node(Value::Text(text)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        loop {
            let path = &Path::Index(self.path, items.len());
            match from.next_element_seed(Tree { path, ..self })? {
                Some(item) => items.push(item),
                None => return Ok(self.node(Value::List(items))),
            }
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let (mut entries, mut known) = (Vec::new(), HashSet::new());
        while let Some(key) = from.next_key::<String>()? {
            let tree = Tree { path: &Path::Key(self.path, &key), ..self };
            if !known.insert(key.clone()) {
                return Err(tree.refuse("the key is written twice"));
            }
            let value = from.next_value_seed(tree)?;
            entries.push((key, value));
        }
        Ok(self.node(Value::Table(entries)))
    }
}

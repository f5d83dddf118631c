//! A scenario as a tree before it is checked: each value with its file and line.

mod json;

use crate::Error;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its origin: file and line.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    origin: Arc<str>,
    line: Option<usize>,
}

/// A value in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text. Quantities are texts, too: `"20ms"`.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with values, in the order of the file.
    Table(Vec<(String, Node)>),
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl Value {
    /// The value as messages show it.
    pub fn what(&self) -> String {
        match self {
            Value::Bool(b) => format!("{b}"),
            Value::Int(n) => format!("{n}"),
            Value::Float(x) => format!("{x:?}"),
            Value::Text(text) => format!("\"{text}\""),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

impl Node {
    /// A node without a line.
    pub fn new(value: Value, origin: &str) -> Node {
        Node { value, origin: origin.into(), line: None }
    }

    /// Parses a TOML text; `origin` is the file name for messages.
    pub fn from_toml(text: &str, origin: &str) -> Result<Node, Error> {
        let origin: Arc<str> = origin.into();
        let text = without_mark(text);
        let lines = Lines::of(text);
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| lines.at(span.start));
            let place = match error.span().and_then(|span| text.get(span)?.lines().next()) {
                Some(place) => format!(" at `{place}`"),
                None => String::new(),
            };
            let why = error.message().replace('\n', "; ");
            Error::new(&origin, line, format!("not valid TOML{place}: {why}"))
        })?;
        let line = lines.at(table.span().start);
        convert_table(table.into_inner(), line, &origin, &lines)
    }

    /// Parses a JSON text, the form in which the Python interface passes a dictionary.
    pub fn from_json(text: &str, origin: &str) -> Result<Node, Error> {
        let mut reader = serde_json::Deserializer::from_str(without_mark(text));
        json::read(&mut reader, origin).and_then(|node| match reader.end() {
            Ok(()) => Ok(node),
            Err(error) => Err(Error::new(origin, Some(error.line()), error.to_string())),
        })
    }

    /// Converts a JSON value.
    pub(crate) fn from_json_value(value: serde_json::Value, origin: &str) -> Result<Node, Error> {
        json::read(value, origin)
    }

    /// Returns the value as JSON.
    ///
    /// # Errors
    /// A number that is not finite: JSON has no representation for it.
    pub fn to_json(&self) -> Result<serde_json::Value, Error> {
        Ok(match &self.value {
            Value::Bool(flag) => (*flag).into(),
            Value::Int(whole) => (*whole).into(),
            Value::Float(number) if number.is_finite() => (*number).into(),
            Value::Float(_) => {
                return Err(self.error(format!("expected a finite number, found {}", self.value.what())));
            }
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => {
                let item =
                    |(i, item): (usize, &Node)| item.to_json().map_err(|e| e.within(&format!("[{i}]")));
                items.iter().enumerate().map(item).collect::<Result<_, _>>()?
            }
            Value::Table(entries) => {
                let entry = |(key, node): &(String, Node)| {
                    Ok((key.clone(), node.to_json().map_err(|error| error.within(key))?))
                };
                entries.iter().map(entry).collect::<Result<serde_json::Map<_, _>, Error>>()?.into()
            }
        })
    }

    /// File that contains the value, as messages name it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Line of the value; `None`: the input has no lines.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns a node with another value and the same origin.
    pub fn replaced(&self, value: Value) -> Node {
        Node { value, ..self.clone() }
    }

    /// Returns a table of the entries whose keys satisfy `wanted`; an empty table if the value is not a table.
    pub fn entries(&self, wanted: impl Fn(&str) -> bool) -> Node {
        let entries = match &self.value {
            Value::Table(entries) => entries.iter().filter(|(key, _)| wanted(key)).cloned().collect(),
            _ => Vec::new(),
        };
        self.replaced(Value::Table(entries))
    }

    /// Returns the value at a path such as `ue[0].count`, or its nearest existing ancestor.
    pub fn nearest(&self, path: &str) -> &Node {
        let mut at = self;
        for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
            let next = match &at.value {
                Value::Table(entries) => entries.iter().find(|(name, _)| name == step).map(|(_, node)| node),
                Value::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// Returns the values below this node in the order of the file, each with its key, as in `flow[0].cc.kind`. A table
    /// and a list of tables are values of their own only if they are empty.
    pub fn leaves(&self) -> Vec<(String, &Node)> {
        let mut leaves = Vec::new();
        self.add_leaves(String::new(), &mut leaves);
        leaves
    }

    fn add_leaves<'a>(&'a self, key: String, leaves: &mut Vec<(String, &'a Node)>) {
        match &self.value {
            Value::Table(entries) if !entries.is_empty() => {
                for (name, inner) in entries {
                    let path = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                    inner.add_leaves(path, leaves);
                }
            }
            Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
                for (index, item) in items.iter().enumerate() {
                    item.add_leaves(format!("{key}[{index}]"), leaves);
                }
            }
            _ => leaves.push((key, self)),
        }
    }

    /// Returns an error that names the place of this value.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::new(&self.origin, self.line, message)
    }

    /// Sets the value at a path such as `rlc.buffer`, `ue[0].count` or `flow[download].cc`, as `--set` does. Missing
    /// tables along the path are created; list entries must exist. The text is parsed as a TOML value; if that fails,
    /// it is taken as bare text.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), Error> {
        let origin = format!("--set {path}={text}");
        let value = Node::from_toml(&format!("value = {text}"), &origin)
            .ok()
            .and_then(|node| match node.value {
                Value::Table(mut entries) if entries.len() == 1 => entries.pop().map(|(_, node)| node.value),
                _ => None,
            })
            .unwrap_or_else(|| Value::Text(text.into()));
        let mut node = self;
        for (at, step) in steps(path).map_err(|message| Error::new(&origin, None, message))? {
            if matches!(node.value, Value::List(_)) && !path[at..].starts_with('[') {
                let (list, rest) = (path[..at].trim_end_matches('.'), &path[at..]);
                let message = format!("`{list}` is a list; choose an entry, as in `{list}[0].{rest}`");
                return Err(Error::new(&origin, None, message));
            }
            node = node.step(step, &origin)?;
        }
        *node = Node::new(unlined(value, &origin), &origin);
        Ok(())
    }

    /// Text under the key `id` or `name` of a table.
    fn name(&self) -> Option<&str> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find_map(|(key, node)| match &node.value {
            Value::Text(text) if key == "id" || key == "name" => Some(text.as_str()),
            _ => None,
        })
    }

    fn step(&mut self, step: &str, origin: &str) -> Result<&mut Node, Error> {
        // A word such as "drwa" is shorthand for {kind = "drwa"}.
        if let Value::Text(word) = &self.value {
            let kind = self.replaced(Value::Text(word.clone()));
            self.value = Value::Table(vec![("kind".into(), kind)]);
        }
        match &mut self.value {
            Value::Table(entries) => {
                let index = entries.iter().position(|(key, _)| key == step).unwrap_or_else(|| {
                    entries.push((step.into(), Node::new(Value::Table(Vec::new()), origin)));
                    entries.len() - 1
                });
                Ok(&mut entries[index].1)
            }
            Value::List(items) => {
                let index = entry(items, step).map_err(|message| Error::new(origin, None, message))?;
                Ok(&mut items[index])
            }
            other => Err(Error::new(origin, None, format!("`{step}` cannot be set within {}", other.what()))),
        }
    }
}

/// Splits a path into steps, each with its place. A step in brackets may contain dots.
fn steps(path: &str) -> Result<Vec<(usize, &str)>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        let bracketed = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
        let (step, after) = bracketed.unwrap_or_else(|| {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            rest.split_at(end)
        });
        if step.is_empty() {
            return Err("the key is empty; write --set key=value".into());
        }
        steps.push((path.len() - rest.len(), step));
        rest = match after.strip_prefix('.') {
            Some(next) => next,
            None if after.is_empty() => return Ok(steps),
            None if after.starts_with('[') && after.contains(']') => after,
            None => return Err(format!("`{path}` is not a key; write it as in `ue[0].count`")),
        };
    }
}

/// Finds the list entry that a step selects by index, `id` or `name`.
fn entry(items: &[Node], step: &str) -> Result<usize, String> {
    let length = items.len();
    if let Ok(index) = step.parse::<usize>() {
        return if index < length {
            Ok(index)
        } else {
            Err(format!("`{step}` is not an index below {length}"))
        };
    }
    let names: Vec<(usize, &str)> =
        items.iter().enumerate().filter_map(|(index, item)| Some((index, item.name()?))).collect();
    let same: Vec<usize> = names.iter().filter(|(_, name)| *name == step).map(|(index, _)| *index).collect();
    match same[..] {
        [index] => Ok(index),
        [] if names.is_empty() => {
            Err(format!("`{step}` is not an index below {length}; no entry has an id or a name"))
        }
        [] => {
            let names: Vec<String> = names.iter().map(|(_, name)| format!("`{name}`")).collect();
            Err(format!(
                "no entry is named `{step}`; allowed: {}, or an index below {length}",
                names.join(", ")
            ))
        }
        _ => {
            let indices: Vec<String> = same.iter().map(|index| format!("`{index}`")).collect();
            Err(format!("{} entries are named `{step}`; use an index: {}", same.len(), indices.join(" or ")))
        }
    }
}

/// Strips the byte order mark that some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Removes line numbers: a value from `--set` has no line.
fn unlined(value: Value, origin: &str) -> Value {
    let strip = |node: Node| Node::new(unlined(node.value, origin), origin);
    match value {
        Value::List(items) => Value::List(items.into_iter().map(strip).collect()),
        Value::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, node)| (key, strip(node))).collect())
        }
        plain => plain,
    }
}

/// Byte offsets of the beginnings of lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

fn convert_table(table: DeTable<'_>, line: usize, origin: &Arc<str>, lines: &Lines) -> Result<Node, Error> {
    // The parser sorts by key. Errors are reported in the order of the file.
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries
        .into_iter()
        .map(|(key, value)| {
            let name = key.into_inner().into_owned();
            let node = convert(value, origin, lines).map_err(|error| error.within(&name))?;
            Ok((name, node))
        })
        .collect::<Result<_, Error>>()?;
    Ok(Node { value: Value::Table(entries), origin: origin.clone(), line: Some(line) })
}

fn convert(value: Spanned<DeValue<'_>>, origin: &Arc<str>, lines: &Lines) -> Result<Node, Error> {
    let line = lines.at(value.span().start);
    let error = |message: String| Error::new(origin, Some(line), message);
    let value = match value.into_inner() {
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Int(
            i64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| error(format!("{} is too large for a whole number", number.as_str())))?,
        ),
        DeValue::Float(number) => Value::Float(
            number.as_str().parse().map_err(|_| error(format!("{} is not a number", number.as_str())))?,
        ),
        DeValue::Datetime(date) => {
            return Err(error(format!("{date} is a date; a time is written as in \"20ms\"")));
        }
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .enumerate()
                .map(|(i, item)| convert(item, origin, lines).map_err(|e| e.within(&format!("[{i}]"))))
                .collect::<Result<_, Error>>()?,
        ),
        DeValue::Table(table) => return convert_table(table, line, origin, lines),
    };
    Ok(Node { value, origin: origin.clone(), line: Some(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line_of_the_value() {
        let node = Node::from_toml("[a]\nb = 1\n\n[[c]]\nd = [1,\n 2]\n", "x.toml").unwrap();
        let Value::Table(entries) = &node.value else { panic!() };
        let Value::Table(a) = &entries[0].1.value else { panic!() };
        assert_eq!(a[0].1.error("wrong").to_string(), "x.toml:2: wrong");
        let Value::List(c) = &entries[1].1.value else { panic!() };
        let Value::Table(c) = &c[0].value else { panic!() };
        let Value::List(d) = &c[0].1.value else { panic!() };
        assert_eq!(d[1].error("wrong").to_string(), "x.toml:6: wrong");
    }

    #[test]
    fn leaves_are_the_values_in_the_order_of_the_file() {
        let text = "seed = 1\nx = [1, 2]\n[[c]]\nd = {kind = \"e\"}\n[[c]]\n[[c]]\nf.g = 2\n";
        let node = Node::from_toml(text, "x.toml").unwrap();
        let leaves: Vec<_> = node.leaves().into_iter().map(|(key, node)| (key, node.line())).collect();
        let expected = [("seed", 1), ("x", 2), ("c[0].d.kind", 4), ("c[1]", 5), ("c[2].f.g", 7)];
        assert_eq!(leaves, expected.map(|(key, line)| (key.to_string(), Some(line))));
    }

    #[test]
    fn bad_toml_names_the_line() {
        let error = Node::from_toml("a = 1\nb = \n", "x.toml").unwrap_err().to_string();
        assert!(error.starts_with("x.toml:2: "), "{error}");
        let twice = Node::from_toml("a = 1\na = 2\n", "x.toml").unwrap_err().to_string();
        assert!(twice.starts_with("x.toml:2: "), "{twice}");
    }

    #[test]
    fn json_has_each_key_once() {
        let refusal = |text: &str| Node::from_json(text, "x.json").unwrap_err().to_string();
        assert_eq!(refusal("{\"a\": 1,\n\"a\": 2}"), "x.json:2: a: the key is written twice");
        assert_eq!(
            refusal("{\"b\": [{}, {\"c\": {\"d\": 1, \"e\": 2, \"d\": 3}}]}"),
            "x.json:1: b[1].c.d: the key is written twice"
        );
    }

    #[test]
    fn json_errors_name_line_and_key() {
        let refusal = |text: &str| Node::from_json(text, "x.json").unwrap_err().to_string();
        let null = "null (None) is not a value; leave the key out";
        assert_eq!(refusal("{\"a\": [1, null]}"), format!("x.json:1: a[1]: {null}"));
        assert_eq!(refusal("{}\n{}"), "x.json:2: trailing characters at line 2 column 1");
        assert!(refusal("{").starts_with("x.json:1: EOF while parsing"));
        let deep = "[".repeat(100_000);
        assert_eq!(refusal(&deep), "x.json:1: recursion limit exceeded at line 1 column 128");
    }

    #[test]
    fn a_byte_order_mark_is_ignored() {
        let expected = Node::from_toml("a = 1", "x").unwrap();
        assert_eq!(Node::from_toml("\u{feff}a = 1", "x").unwrap(), expected);
        assert_eq!(Node::from_json("\u{feff}{\"a\": 1}", "x").unwrap(), expected);
    }

    #[test]
    fn toml_nesting_is_limited() {
        let deep = format!("a = {}1", "[".repeat(100_000));
        let error = Node::from_toml(&deep, "x.toml").unwrap_err().to_string();
        assert!(error.starts_with("x.toml:1: not valid TOML"), "{error}");
    }

    #[test]
    fn a_tree_converts_to_json_unless_a_number_is_not_finite() {
        let node = Node::from_toml("a = [1, 2.5, true]\nb.c = \"x\"", "x.toml").unwrap();
        assert_eq!(node.to_json().unwrap(), serde_json::json!({"a": [1, 2.5, true], "b": {"c": "x"}}));
        let error = Node::from_toml("a = [0.5,\n inf]", "x.toml").unwrap().to_json().unwrap_err();
        assert_eq!(error.to_string(), "x.toml:2: a[1]: expected a finite number, found inf");
    }

    #[test]
    fn set_reaches_into_tables_and_lists() {
        let mut node = Node::from_toml("rwnd = \"drwa\"\n[[ue]]\ncount = 1", "x.toml").unwrap();
        node.set("ue[0].count", "5").unwrap();
        node.set("rwnd.lambda", "2.0").unwrap();
        node.set("rlc.buffer", "10KiB").unwrap();
        let expected = "rwnd = {kind = \"drwa\", lambda = 2.0}\nue = [{count = 5}]\nrlc.buffer = \"10KiB\"";
        assert_eq!(node, Node::from_toml(expected, "y.toml").unwrap());
        let error = node.set("ue[3].count", "5").unwrap_err().to_string();
        assert_eq!(error, "--set ue[3].count=5: `3` is not an index below 1");
    }

    #[test]
    fn set_finds_entries_by_id_or_name() {
        let text = "[[flow]]\nid = \"a.b\"\n[[flow]]\nid = \"up\"\n[[link]]\nname = \"x\"\n[[link]]\nname = \"x\"\n\
                    [[site]]\nrings = 1";
        let mut node = Node::from_toml(text, "x.toml").unwrap();
        node.set("flow[a.b].cc.kind", "cubic").unwrap();
        node.set("flow[1].id", "\"down\"").unwrap();
        node.set("flow[down].cc", "reno").unwrap();
        let Value::List(flows) = &node.nearest("flow").value else { panic!() };
        assert_eq!(flows[0].nearest("cc.kind").value, Value::Text("cubic".into()));
        assert_eq!(flows[1].nearest("cc").value, Value::Text("reno".into()));
        let mut refusal = |key: &str| {
            let error = node.set(key, "1").unwrap_err().to_string();
            error.strip_prefix(&format!("--set {key}=1: ")).unwrap().to_string()
        };
        assert_eq!(
            refusal("flow[up].cc"),
            "no entry is named `up`; allowed: `a.b`, `down`, or an index below 2"
        );
        assert_eq!(refusal("link[x].rate"), "2 entries are named `x`; use an index: `0` or `1`");
        assert_eq!(
            refusal("site[north].power"),
            "`north` is not an index below 1; no entry has an id or a name"
        );
        assert_eq!(refusal("flow[2].cc"), "`2` is not an index below 2");
        assert_eq!(refusal("flow.cc"), "`flow` is a list; choose an entry, as in `flow[0].cc`");
        assert_eq!(refusal("link.x.rate"), "`link` is a list; choose an entry, as in `link[0].x.rate`");
        assert_eq!(refusal("flow[0]cc"), "`flow[0]cc` is not a key; write it as in `ue[0].count`");
        assert_eq!(refusal("flow[0"), "`flow[0` is not a key; write it as in `ue[0].count`");
        assert_eq!(refusal("flow[].cc"), "the key is empty; write --set key=value");
    }
}

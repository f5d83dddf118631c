//! The option `--rwnd`.

use crate::Error;
use crate::rules::{self, Rules};
use airwnd_catalog::{Node, Param, Value};
use airwnd_rwnd::Spec;

/// Returns the rules of the option: its controller for all flows, without it the guard's own.
pub(crate) fn rules(rwnd: Option<&str>) -> Result<Rules, Error> {
    rwnd.map_or(Ok(Rules::default()), |spec| Ok(Rules::all(read(spec)?)))
}

/// Reads a controller that the guard offers, as a value of TOML or as a bare word.
pub(crate) fn read(text: &str) -> Result<Spec, Error> {
    let origin = "--rwnd";
    let node = match Node::from_toml(&format!("rwnd = {text}"), origin) {
        Ok(Node { value: Value::Table(mut entries), .. }) if entries.len() == 1 => {
            without_lines(entries.remove(0).1, origin)
        }
        Err(error) if text.contains(['{', '"']) => return Err(error.into()),
        _ => Node::new(Value::Text(text.into()), origin),
    };
    for (_, leaf) in node.leaves().into_iter().filter(|(key, _)| key.is_empty() || key == "kind") {
        rules::check_name(leaf).map_err(|why| Error::from(leaf.error(why)))?;
    }
    let spec = Spec::read(&node)?;
    rules::can_run(&spec).map_err(|why| Error::from(node.error(why)))?;
    spec.check_values().map_err(|fault| fault.at(&node))?;
    Ok(spec)
}

/// Removes line numbers: an option is one line.
fn without_lines(node: Node, origin: &str) -> Node {
    let value = match node.value {
        Value::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, node)| (key, without_lines(node, origin))).collect())
        }
        Value::List(items) => {
            Value::List(items.into_iter().map(|node| without_lines(node, origin)).collect())
        }
        plain => plain,
    };
    Node::new(value, origin)
}

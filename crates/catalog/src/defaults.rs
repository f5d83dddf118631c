//! Defaults that take the place of the declared ones: values beneath what was written.

use crate::{Error, Node, Value};

/// Tables that name different things by one of these keys share no values: the parameters of CoDel say nothing about
/// PIE, those of one TCP stack nothing about another.
const CHOICES: [&str; 2] = ["kind", "stack"];
/// The section with defaults of members, as `[family.aqm.codel]`.
const FAMILY: &str = "family";

/// Defaults of sections and of the members of families.
///
/// Shaped like what they complete. A repeated section (`[[ue]]`) stands there once, for each of its entries; where
/// none is written none is added. `[family.aqm.codel]` holds for `codel` of the family `aqm` wherever it is chosen,
/// also where a declared default chooses it.
#[derive(Clone, Debug)]
pub struct Defaults {
    sections: Node,
    families: Node,
}

impl Defaults {
    /// From a TOML text; `origin` is its name in messages.
    ///
    /// # Errors
    /// A text that is not valid TOML.
    pub fn from_toml(text: &str, origin: &str) -> Result<Defaults, Error> {
        let whole = Node::from_toml(text, origin)?;
        let families = whole.entry(FAMILY).cloned().unwrap_or_else(|| whole.entries(|_| false));
        Ok(Defaults { sections: whole.entries(|key| key != FAMILY), families })
    }

    /// The defaults of sections.
    pub fn sections(&self) -> &Node {
        &self.sections
    }

    /// The defaults of members: a table of families, each a table of members.
    pub fn families(&self) -> &Node {
        &self.families
    }

    pub(crate) fn member(&self, family: &str, kind: &str) -> Option<&Node> {
        self.families.entry(family)?.entry(kind)
    }
}

impl Node {
    /// The value under a key of a table.
    pub fn entry(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Adds the entries of `defaults` that are missing here.
    pub(crate) fn underlay(&mut self, defaults: &Node) {
        if CHOICES.iter().any(|key| self.differs(defaults, key)) {
            return;
        }
        match (&mut self.value, &defaults.value) {
            (Value::Text(word), Value::Table(_)) if defaults.word("kind") == Some(word) => {
                self.tabulate();
                self.underlay(defaults);
            }
            (Value::Table(entries), Value::Table(more)) => {
                for (key, default) in more {
                    match entries.iter_mut().find(|(name, _)| name == key) {
                        Some((_, node)) => node.underlay(default),
                        None if default.is_repeated() => {}
                        None => entries.push((key.clone(), default.clone())),
                    }
                }
            }
            (Value::List(items), Value::List(more)) if defaults.is_repeated() => {
                items.iter_mut().for_each(|item| item.underlay(&more[0]));
            }
            _ => {}
        }
    }

    /// A bare word becomes the table that it stands for: `"drwa"` is `{kind = "drwa"}`.
    pub(crate) fn tabulate(&mut self) {
        if let Value::Text(word) = &self.value {
            let kind = self.replaced(Value::Text(word.clone()));
            self.value = Value::Table(vec![("kind".into(), kind)]);
        }
    }

    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        match &self.entry(key)?.value {
            Value::Text(word) => Some(word),
            _ => None,
        }
    }

    fn differs(&self, other: &Node, key: &str) -> bool {
        matches!((self.word(key), other.word(key)), (Some(ours), Some(theirs)) if ours != theirs)
    }

    /// Whether it is a repeated section: a list of tables.
    fn is_repeated(&self) -> bool {
        matches!(&self.value, Value::List(items) if matches!(items.first(), Some(Node { value: Value::Table(_), .. })))
    }
}

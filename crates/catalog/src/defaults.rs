//! Defaults that replace the declared ones. Written values take precedence.

use crate::{Error, Node, Value};

/// Keys that select an alternative. Tables that differ in one of them share no values: the parameters of CoDel do not
/// apply to PIE, those of one TCP stack do not apply to another.
const CHOICES: [&str; 2] = ["kind", "stack"];
/// Section with the defaults of family members, as in `[family.aqm.codel]`.
const FAMILY: &str = "family";

/// Defaults of sections and of family members.
///
/// They have the structure of a scenario. A repeated section (`[[ue]]`) occurs once and applies to each of its entries;
/// no entry is added. `[family.aqm.codel]` applies to `codel` of the family `aqm` wherever it is selected, also by a
/// declared default.
#[derive(Clone, Debug)]
pub struct Defaults {
    sections: Node,
    families: Node,
}

impl Defaults {
    /// Parses a TOML text; `origin` is its name in messages.
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

    /// Returns the values whose keys are not in `keys`.
    pub fn without(&self, keys: &[String]) -> Defaults {
        Defaults { sections: self.sections.without(keys), families: self.families.without(keys) }
    }

    /// The values of a family's member.
    pub fn member(&self, family: &str, kind: &str) -> Option<&Node> {
        self.families.entry(family)?.entry(kind)
    }
}

impl Node {
    /// Value under a key of a table.
    pub fn entry(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    fn without(&self, keys: &[String]) -> Node {
        match &self.value {
            Value::Table(entries) => {
                let kept = entries.iter().filter(|(key, _)| !keys.contains(key));
                self.replaced(Value::Table(
                    kept.map(|(key, node)| (key.clone(), node.without(keys))).collect(),
                ))
            }
            _ => self.clone(),
        }
    }

    /// Adds the missing entries from `defaults`.
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

    /// Expands a bare word to a table: `"drwa"` becomes `{kind = "drwa"}`.
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

    /// Returns whether the value is a repeated section: a list of tables.
    fn is_repeated(&self) -> bool {
        matches!(&self.value, Value::List(items) if matches!(items.first(), Some(Node { value: Value::Table(_), .. })))
    }
}

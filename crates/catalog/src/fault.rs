//! What is wrong with values each of which is allowed, and the files that values name.

use crate::error::joined;
use crate::{Error, Node};
use std::borrow::Cow;

/// A contradiction between values, or a flaw of a file that one of them names, before it is known where the value was
/// written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the value at fault, relative to the set of parameters that was checked.
    key: String,
    message: String,
    /// The file at fault, in place of the value, and the line in it.
    file: Option<(String, usize)>,
}

impl Fault {
    /// A fault of the value under `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { key: key.into(), message: message.into(), file: None }
    }

    /// A fault in a line of the file that messages call `origin`.
    pub fn in_file(origin: &str, line: usize, message: impl Into<String>) -> Fault {
        Fault { key: String::new(), message: message.into(), file: Some((origin.into(), line)) }
    }

    /// The same fault of a set of parameters that is itself the value of `key`.
    pub fn within(mut self, key: &str) -> Fault {
        self.key = joined(key, &self.key);
        self
    }

    /// The fault as a user sees it: with the place at which `node`, which the parameters were read from, has the value
    /// at fault, or the nearest table that is there.
    pub fn at(self, node: &Node) -> Error {
        if let Some((origin, line)) = &self.file {
            return Error::new(origin, Some(*line), self.message);
        }
        let error = node.nearest(&self.key).error(self.message);
        if self.key.is_empty() { error } else { error.within(&self.key) }
    }
}

impl<K: Into<String>> From<(K, String)> for Fault {
    fn from((key, message): (K, String)) -> Fault {
        Fault::new(key, message)
    }
}

/// A file that a value names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What messages call it.
    pub origin: String,
    /// What is in it.
    pub text: Cow<'static, str>,
}

/// Access to the files that values name. The reader of scenarios implements it, since the engine does no I/O.
pub trait Files {
    /// The file of this name, relative to the scenario's folder.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, name: &str) -> Result<File, String>;

    /// The recording that is shipped under this name, or else the file of this name.
    ///
    /// # Errors
    /// Why it cannot be read, and which recordings are shipped.
    fn read_recording(&self, name: &str) -> Result<File, String>;
}

impl dyn Files + '_ {
    /// Fills `rows` with what the file of this name holds, unless they are there already: a resolved scenario has them.
    /// `key` is the parameter that names the file; `parse` finds a mistake with its line.
    ///
    /// # Errors
    /// A file that cannot be read, or a mistake in it.
    pub fn read_rows<R>(
        &self,
        key: &str,
        name: &str,
        rows: &mut Vec<R>,
        parse: impl FnOnce(&str) -> Result<Vec<R>, (usize, String)>,
    ) -> Result<(), Fault> {
        if rows.is_empty() {
            let file = self.read(name).map_err(|message| Fault::new(key, message))?;
            *rows = parse(&file.text).map_err(|(line, why)| Fault::in_file(&file.origin, line, why))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Files for One {
        fn read(&self, name: &str) -> Result<File, String> {
            match name {
                "a.csv" => Ok(File { origin: "in/a.csv".into(), text: "1".into() }),
                _ => Err(format!("{name} cannot be read")),
            }
        }
        fn read_recording(&self, name: &str) -> Result<File, String> {
            self.read(name)
        }
    }

    fn line(text: &str) -> Result<Vec<u8>, (usize, String)> {
        text.parse().map(|number| vec![number]).map_err(|_| (1, "not a number".into()))
    }

    #[test]
    fn a_fault_is_told_where_its_value_was_written() {
        let node = Node::from_toml("[[ue]]\ncount = 1\n[[ue]]\n", "s.toml").unwrap();
        let fault = |index: &str| Fault::new("count", "too few").within(index).within("ue");
        assert_eq!(fault("[0]").at(&node).to_string(), "s.toml:2: ue[0].count: too few");
        assert_eq!(fault("[1]").at(&node).to_string(), "s.toml:3: ue[1].count: too few");
        assert_eq!(Fault::new("", "nothing").at(&node).to_string(), "s.toml:1: nothing");
        let inside = Fault::in_file("a.csv", 7, "not a number").within("ue");
        assert_eq!(inside.at(&node).to_string(), "a.csv:7: not a number");
    }

    #[test]
    fn rows_are_read_once() {
        let files: &dyn Files = &One;
        let mut rows = Vec::new();
        files.read_rows("path", "a.csv", &mut rows, line).unwrap();
        files.read_rows("path", "b.csv", &mut rows, line).unwrap();
        assert_eq!(rows, [1]);
        let missing = files.read_rows("path", "b.csv", &mut Vec::new(), line);
        assert_eq!(missing, Err(Fault::new("path", "b.csv cannot be read")));
        let wrong = |_: &str| Err::<Vec<u8>, _>((3, "not a number".into()));
        let flaw = files.read_rows("path", "a.csv", &mut Vec::new(), wrong);
        assert_eq!(flaw, Err(Fault::in_file("in/a.csv", 3, "not a number")));
    }
}

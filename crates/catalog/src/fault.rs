//! Contradictions between values, and the files named by values.

use crate::error::joined;
use crate::{Error, Node};
use std::borrow::Cow;
use std::io::BufRead;

/// A contradiction between values, or an error in a file named by a value, before the place of the value is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the value at fault, relative to the checked set of parameters.
    key: String,
    message: String,
    /// File and line at fault, in place of the value.
    file: Option<(String, usize)>,
}

impl Fault {
    /// Creates a fault of the value under `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { key: key.into(), message: message.into(), file: None }
    }

    /// Creates a fault in a line of a file; `origin` is its name in messages.
    pub fn in_file(origin: &str, line: usize, message: impl Into<String>) -> Fault {
        Fault { key: String::new(), message: message.into(), file: Some((origin.into(), line)) }
    }

    /// Prefixes the path of the fault with `key`.
    pub fn within(mut self, key: &str) -> Fault {
        self.key = joined(key, &self.key);
        self
    }

    /// Converts the fault to an error with a place: that of the value in `node`, from which the parameters were read,
    /// or of its nearest existing ancestor.
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

/// A file named by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name of the file in messages.
    pub origin: String,
    /// Contents.
    pub text: Cow<'static, str>,
}

/// An opened file named by a value.
pub struct Opened {
    /// Name of the file in messages.
    pub origin: String,
    /// Contents.
    pub input: Box<dyn BufRead>,
}

/// Access to the files named by values. The scenario reader implements it; the engine does no I/O.
pub trait Files {
    /// Reads a file; the name is relative to the scenario's folder.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn read(&self, name: &str) -> Result<File, String>;

    /// Opens a file of any size, to be read once from its beginning; the name is relative to the scenario's folder.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn open(&self, name: &str) -> Result<Opened, String>;

    /// Returns the included link trace of this name; if there is none, reads the file of this name.
    ///
    /// # Errors
    /// The reason why the file cannot be read, and the names of the included link traces.
    fn read_trace(&self, name: &str) -> Result<File, String>;
}

impl dyn Files + '_ {
    /// Fills `rows` from the file of this name, unless they are present already, as in a resolved scenario. `key` is
    /// the parameter that names the file; `parse` reports an error with its line.
    ///
    /// # Errors
    /// A file that cannot be read, or an error in its contents.
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
        fn open(&self, name: &str) -> Result<Opened, String> {
            let file = self.read(name)?;
            Ok(Opened { origin: file.origin, input: Box::new(std::io::Cursor::new(file.text.into_owned())) })
        }
        fn read_trace(&self, name: &str) -> Result<File, String> {
            self.read(name)
        }
    }

    fn line(text: &str) -> Result<Vec<u8>, (usize, String)> {
        text.parse().map(|number| vec![number]).map_err(|_| (1, "not a number".into()))
    }

    #[test]
    fn a_fault_gets_the_place_of_its_value() {
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

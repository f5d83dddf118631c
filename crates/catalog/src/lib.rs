//! Declaration of parameters: meaning, unit, default, range and source, stated once.
//!
//! Everything that a user can set is declared as an ordinary Rust item with one of three macros. The strict reader with
//! its error messages, the resolved scenario, the JSON Schema, `airwnd list`, `airwnd explain` and the reference pages
//! are derived from the declaration.
//!
//! # A set of parameters: `#[derive(Params)]`
//!
//! A struct declares a section of a scenario or the parameters of an algorithm. Its doc comment is the description; the
//! doc comment of a field is the meaning of that parameter. `#[params(source = "...")]` and
//! `#[param(unit = "...", source = "...")]` are required. A field without `default` is required in a scenario; a struct
//! whose fields all have defaults implements `Default`. Both ends of a `range` are included. A field may have several
//! `#[param]` attributes: rustfmt formats only those with string literals alone, so `unit` and `source` are in a
//! separate attribute where one line is too short.
//!
//! ```
//! use airwnd_catalog::{Node, Param, ParamSet, Params};
//! use airwnd_units::Span;
//!
//! /// A toy controller.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "RFC 0000 §1")]
//! pub struct Params {
//!     /// Weight of the newest sample.
//!     #[param(default = 0.125, range = 0.0..=1.0, unit = "1", source = "RFC 0000 eq. 2")]
//!     pub alpha: f64,
//!     /// Update interval.
//!     #[param(default = Span::from_millis(30), unit = "time", source = "RFC 0000 §1.1")]
//!     pub period: Span,
//! }
//!
//! let node = Node::from_toml("alpha = 2.0", "toy.toml").unwrap();
//! let error = Params::read(&node).unwrap_err();
//! assert_eq!(error.to_string(), "toy.toml:1: alpha: 2.0 is outside 0.0..1.0");
//! assert_eq!(Params::default().period, Span::from_millis(30));
//! assert_eq!(Params::infos()[0].source, "RFC 0000 eq. 2");
//! ```
//!
//! A parameter has a [`Level`], which says who sets it. One with a default is `advanced` unless it is declared as
//! `#[param(basic, ...)]` or `#[param(expert, ...)]`; a required one is basic.
//!
//! A field without a unit or source does not compile:
//!
//! ```compile_fail
//! /// A toy controller.
//! #[derive(airwnd_catalog::Params)]
//! #[params(source = "RFC 0000 §1")]
//! pub struct Params {
//!     /// Weight of the newest sample.
//!     #[param(default = 0.125, unit = "1")]
//!     pub alpha: f64,
//! }
//! ```
//!
//! Parameters shared by several structs are declared once, in a separate struct (a block). Other structs include the
//! block with `#[param(flatten)]`: its keys take the place of the field, at the same level as their own keys.
//!
//! Behaviour that exists only because another simulator has it is a *quirk*: a parameter of a further struct, in a field
//! with `#[param(quirks)]`. A scenario cannot set it, and neither the resolved scenario nor the schema contains it;
//! [`Param::adopt`] sets the quirks of a whole tree of parameters from one table:
//!
//! ```
//! use airwnd_catalog::{Defaults, Node, Param, Params};
//!
//! /// Quirks of a toy queue.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "RFC 0000 §3")]
//! pub struct Quirks {
//!     /// Whether the last packet stays.
//!     #[param(default = true, unit = "1", source = "toysim Queue::Drop: false")]
//!     pub keep_last: bool,
//! }
//!
//! /// A toy queue.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "RFC 0000 §3")]
//! pub struct Queue {
//!     /// Quirks.
//!     #[param(quirks)]
//!     pub quirks: Quirks,
//! }
//!
//! let node = Node::from_toml("keep_last = false", "toy.toml").unwrap();
//! let error = Queue::read(&node).unwrap_err().to_string();
//! assert!(error.starts_with("toy.toml:1: `keep_last` is a quirk of another simulator (toysim Queue::Drop: false)"));
//! let mut queue = Queue::default();
//! let table = Defaults::from_toml("keep_last = false", "toysim").unwrap();
//! queue.adopt(Some(table.sections()), &table).unwrap();
//! assert!(!queue.quirks.keep_last);
//! ```
//!
//! Two hooks cover conditions that a single value cannot express. With `#[params(check)]` the struct's method `check`
//! compares values with each other: it returns the parameter at fault and a message, or a [`Fault`]. With
//! `#[params(files)]` its method `files` reads the files named by values. [`Param::check_values`] and
//! [`Param::read_files`] call the hooks of a whole tree of parameters; enclosing structs need no code for them:
//!
//! ```
//! use airwnd_catalog::{Fault, Files, Node, Param, Params};
//!
//! /// A toy band.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "RFC 0000 §2", check, files)]
//! pub struct Band {
//!     /// Lower end.
//!     #[param(default = 0.0, unit = "1", source = "RFC 0000 §2")]
//!     pub low: f64,
//!     /// Upper end.
//!     #[param(default = 1.0, unit = "1", source = "RFC 0000 §2")]
//!     pub high: f64,
//!     /// File with one weight per line; `none`: no file.
//!     #[param(default = None, unit = "path", source = "the scenario")]
//!     pub path: Option<String>,
//!     /// Weights; filled from the file when it is read.
//!     #[param(default = Vec::new(), unit = "1", source = "the file")]
//!     pub weights: Vec<f64>,
//! }
//!
//! impl Band {
//!     fn check(&self) -> Result<(), (&'static str, String)> {
//!         if self.low > self.high {
//!             return Err(("low", format!("{} exceeds high, {}", self.low, self.high)));
//!         }
//!         Ok(())
//!     }
//!
//!     fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
//!         let Some(path) = &self.path else { return Ok(()) };
//!         files.read_rows("path", path, &mut self.weights, |text| {
//!             let weight = |(line, text): (usize, &str)| {
//!                 text.parse().map_err(|_| (line, format!("`{text}` is not a number")))
//!             };
//!             (1..).zip(text.lines()).map(weight).collect()
//!         })
//!     }
//! }
//!
//! /// Two bands.
//! #[derive(Clone, Debug, PartialEq, Params)]
//! #[params(source = "RFC 0000 §2")]
//! pub struct Bands {
//!     /// The bands.
//!     #[param(unit = "1", source = "the scenario")]
//!     pub band: Vec<Band>,
//! }
//!
//! let node = Node::from_toml("[[band]]\n[[band]]\nlow = 2.0", "toy.toml").unwrap();
//! let fault = Bands::read(&node).unwrap().check_values().unwrap_err();
//! assert_eq!(fault.at(&node).to_string(), "toy.toml:3: band[1].low: 2 exceeds high, 1");
//! ```
//!
//! # A closed set of words: `#[derive(Choice)]`
//!
//! ```
//! use airwnd_catalog::{Choice, Node, Param};
//!
//! /// Direction of movement.
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
//! pub enum Way {
//!     /// Up.
//!     #[word = "up"]
//!     Up,
//!     /// Down.
//!     #[word = "down"]
//!     Down,
//! }
//!
//! let node = Node::from_json("\"dwn\"", "x").unwrap();
//! let message = Way::read(&node).unwrap_err().to_string();
//! assert_eq!(message, "x: unknown word `dwn`; did you mean `down`?; allowed: `up`, `down`");
//! ```
//!
//! # The members of a family: `#[family]`
//!
//! ```ignore
//! /// Queue discipline of a bearer's buffer before RLC, or of a link.
//! #[family(name = "aqm", build = fn(ctx: &QueueContext) -> Box<dyn QueueDisc>)]
//! #[derive(Clone, Debug, PartialEq)]
//! pub enum Spec {
//!     DropTail(drop_tail::Params),
//!     Codel(codel::Params),
//! }
//! ```
//!
//! A variant is **the one line that a new algorithm adds**. `Codel(codel::Params)` declares the module `codel` (the
//! file `codel.rs`, which defines `Params` and `Codel`) and makes it selectable as `"codel"` (with `-` for `_`) or
//! `{kind = "codel", ...}`. The optional `build` declares the constructor, which passes a copy of the parameters and
//! its own arguments to `Codel::new` and boxes the result.

extern crate self as airwnd_catalog;

pub mod csv;
mod defaults;
#[doc(hidden)]
pub mod derived;
mod error;
mod fault;
mod node;
pub mod outside;
mod param;

pub use airwnd_derive::{Choice, Params, family};
pub use defaults::Defaults;
pub use error::Error;
pub use fault::{Fault, File, Files, Opened};
pub use node::{Node, Value};
pub use param::{Bounded, Fields, Param, range_text, read_kind, unknown_word, without_kind};

#[doc(hidden)]
pub use serde_json;

/// A declared parameter, as `airwnd explain` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamInfo {
    /// Key in a scenario.
    pub name: &'static str,
    /// Meaning, one sentence or more.
    pub meaning: String,
    /// Unit; "1" for a dimensionless number.
    pub unit: &'static str,
    /// Default as written in a scenario; `None`: a value is required.
    pub default: Option<serde_json::Value>,
    /// Minimum and maximum allowed value, both included.
    pub range: Option<(String, String)>,
    /// Source of the default or of the meaning.
    pub source: &'static str,
    /// Readers whom it concerns.
    pub level: Level,
}

/// Readers whom a parameter concerns, among those who use its section or algorithm. `explain`, completion and the
/// reference show the basic ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Parameters of a first study.
    Basic,
    /// Parameters that a specialist varies.
    Advanced,
    /// Details of an implementation, and special comparisons.
    Expert,
}

impl Level {
    /// All levels, those of most readers first.
    pub const ALL: [Level; 3] = [Level::Basic, Level::Advanced, Level::Expert];

    /// Word of the level: `basic`, `advanced` or `expert`.
    pub fn word(self) -> &'static str {
        match self {
            Level::Basic => "basic",
            Level::Advanced => "advanced",
            Level::Expert => "expert",
        }
    }
}

/// An algorithm, as `airwnd list` and `airwnd explain` show it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlgorithmInfo {
    /// Name that selects it in a scenario.
    pub name: String,
    /// First paragraph of the description.
    pub summary: String,
    /// Description after the first paragraph.
    pub details: String,
    /// Paper, RFC or specification that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
    /// Its quirks, which no scenario sets one by one.
    pub quirks: Vec<ParamInfo>,
}

/// A family of interchangeable algorithms.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyInfo {
    /// Name of the family, as in `airwnd list rwnd`.
    pub name: &'static str,
    /// First paragraph of the description.
    pub summary: String,
    /// Members, in order of declaration.
    pub members: Vec<AlgorithmInfo>,
    /// JSON Schema of a value that selects a member.
    pub schema: serde_json::Value,
}

/// A section of a scenario, as `airwnd explain` and the reference show it.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionInfo {
    /// Heading in TOML: `[mac]`, `[mac.olla]`, `[[site]]`; empty for the top level.
    pub heading: &'static str,
    /// First paragraph of the description.
    pub summary: String,
    /// Description after the first paragraph.
    pub details: String,
    /// Source of the section as a whole.
    pub source: &'static str,
    /// Its keys.
    pub params: Vec<ParamInfo>,
    /// Its quirks, which no scenario sets one by one.
    pub quirks: Vec<ParamInfo>,
}

impl SectionInfo {
    /// The section with this heading; its keys are the parameters of `P`.
    pub fn of<P: ParamSet>(heading: &'static str) -> SectionInfo {
        SectionInfo {
            heading,
            summary: P::summary(),
            details: P::details(),
            source: P::SOURCE,
            params: P::infos(),
            quirks: P::quirks(),
        }
    }
}

/// A struct of parameters. `#[derive(Params)]` implements it.
///
/// The derive macro has the short name because the parameter struct of an algorithm is also called `Params`.
pub trait ParamSet: Param {
    /// First paragraph of the doc comment.
    fn summary() -> String {
        split_doc(Self::DOC).0
    }
    /// The doc comment after its first paragraph.
    fn details() -> String {
        split_doc(Self::DOC).1
    }
    /// The doc comment.
    const DOC: &'static str;
    /// Source of the struct as a whole.
    const SOURCE: &'static str;
    /// The parameters, in order of declaration.
    fn infos() -> Vec<ParamInfo>;
    /// The quirks, in order of declaration.
    fn quirks() -> Vec<ParamInfo> {
        Vec::new()
    }
}

/// Splits a doc comment into its first paragraph, joined to one line, and the rest.
pub fn split_doc(doc: &str) -> (String, String) {
    let lines: Vec<&str> = doc.lines().map(str::trim).collect();
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let rest = lines.get(end + 1..).unwrap_or_default();
    (lines[..end].join(" "), rest.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_units::Bytes;

    /// The first.
    ///
    /// It has details.
    #[derive(Clone, Debug, PartialEq, Params)]
    #[params(source = "RFC 1")]
    pub struct First {
        /// Gain.
        #[param(default = 0.5, range = 0.0..=1.0, unit = "1", source = "RFC 1 §2")]
        pub gain: f64,
    }

    /// A section.
    #[derive(Clone, Debug, PartialEq, Params)]
    #[params(source = "none")]
    pub struct Section {
        /// Required.
        #[param(range = Bytes(1)..=Bytes(1000), unit = "B", source = "none")]
        pub limit: Bytes,
        /// Optional.
        #[param(default = None, unit = "text", source = "none")]
        pub note: Option<String>,
    }

    /// A struct with a block.
    #[derive(Clone, Debug, PartialEq, Params)]
    #[params(source = "none")]
    pub struct Whole {
        /// Own parameter before the block.
        #[param(default = 3, range = 1..=9, unit = "1", source = "none")]
        pub rounds: u32,
        /// The parameters of [`First`].
        #[param(flatten)]
        pub first: First,
        /// Own parameter after the block.
        #[param(default = false, unit = "true or false", source = "none")]
        pub last: bool,
    }

    #[test]
    fn a_former_name_of_a_minimum_or_maximum_is_refused_with_the_present_one() {
        assert_eq!(
            unknown_word("word", "least", &["min", "mean"]),
            "the word `least` is called `min`; allowed: `min`, `mean`"
        );
        assert!(
            unknown_word("key", "most_things", &["max_objects"]).starts_with("unknown key `most_things`")
        );
    }

    #[test]
    fn a_blocks_keys_are_at_the_level_of_the_enclosing_struct() {
        let read = |text: &str| Whole::read(&Node::from_toml(text, "s.toml").unwrap());
        let whole = read("gain = 0.25").unwrap();
        assert_eq!(whole, Whole { rounds: 3, first: First { gain: 0.25 }, last: false });
        assert_eq!(whole.to_json(), serde_json::json!({"rounds": 3, "gain": 0.25, "last": false}));
        assert_eq!(read("").unwrap(), Whole::default());
        let refusal = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(refusal("rounds = 2\ngain = 2.0"), "s.toml:2: gain: 2.0 is outside 0.0..1.0");
        assert_eq!(
            refusal("gian = 1.0"),
            "s.toml:1: unknown key `gian`; did you mean `gain`?; allowed: `rounds`, `gain`, `last`"
        );
        let names: Vec<&str> = Whole::infos().iter().map(|info| info.name).collect();
        assert_eq!(names, ["rounds", "gain", "last"]);
        assert_eq!(Whole::schema()["properties"]["gain"], First::schema()["properties"]["gain"]);
    }

    fn refusal(text: &str) -> String {
        Section::read(&Node::from_toml(text, "s.toml").unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn messages_name_file_line_key_and_rule() {
        assert_eq!(refusal("note = \"x\""), "s.toml:1: `limit` is missing");
        assert_eq!(
            refusal("limt = \"3B\""),
            "s.toml:1: unknown key `limt`; did you mean `limit`?; allowed: `limit`, `note`"
        );
        assert_eq!(refusal("limit = \"0B\""), "s.toml:1: limit: 0B is outside 1B..1kB");
        assert_eq!(
            refusal("\nlimit = 3"),
            "s.toml:2: limit: expected a number of bytes with its unit, as in \"64KiB\", found 3"
        );
        assert_eq!(
            refusal("limit = \"3B\"\nlimt = 3"),
            "s.toml:2: unknown key `limt`; did you mean `limit`?; allowed: `limit`, `note`"
        );
    }

    #[test]
    fn a_written_section_reads_back_unchanged() {
        let node = Node::from_toml("limit = \"30B\"", "s.toml").unwrap();
        let section = Section::read(&node).unwrap();
        assert_eq!(section.to_json(), serde_json::json!({"limit": "30B"}));
        let again = Node::from_json(&section.to_json().to_string(), "json").unwrap();
        assert_eq!(Section::read(&again).unwrap(), section);
        assert_eq!(Section::schema()["required"], serde_json::json!(["limit"]));
    }

    #[test]
    fn a_schema_states_ranges() {
        let gain = &First::schema()["properties"]["gain"];
        assert_eq!((&gain["minimum"], &gain["maximum"]), (&0.0.into(), &1.0.into()));
        assert_eq!(Section::schema()["properties"]["limit"]["x-range"], serde_json::json!(["1B", "1kB"]));
    }

    #[test]
    fn a_written_number_reads_back_exactly() {
        let gain = 2.250_258_041_734_406_7e-8;
        let node = Node::from_json(&serde_json::json!({"gain": gain}).to_string(), "json").unwrap();
        assert_eq!(First::read(&node).unwrap(), First { gain });
    }

    #[test]
    fn docs_split_after_the_first_paragraph() {
        assert_eq!(First::summary(), "The first.");
        assert_eq!(First::details(), "It has details.");
    }
}

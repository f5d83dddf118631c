//! What a parameter is: meaning, unit, default, range and source, stated once.
//!
//! Everything that a user can set is declared with one of three macros. From the declaration come the Rust
//! type with its defaults, the strict reader with its error messages, the resolved scenario, the JSON
//! Schema, `airwnd list`, `airwnd explain` and the reference pages.
//!
//! * [`params!`] declares a struct of parameters: a scenario section or an algorithm's settings.
//! * [`choice!`] declares a closed set of words.
//! * [`family!`] lists the algorithms of a family: **the one line that a new algorithm adds**.
//!
//! ```
//! use airwnd_catalog::{Node, Param, Params as _, params};
//! use airwnd_units::Span;
//! params! {
//!     /// A toy controller.
//!     pub struct Params ("RFC 0000 §1") {
//!         /// Weight of the newest sample.
//!         pub alpha: f64 = 0.125, unit "1", range 0.0..=1.0, source "RFC 0000 eq. 2";
//!         /// How often it updates.
//!         pub period: Span = Span::from_millis(30), unit "time", source "RFC 0000 §1.1";
//!     }
//! }
//! let node = Node::from_toml("alpha = 2.0", "toy.toml").unwrap();
//! let error = Params::read(&node).unwrap_err();
//! assert_eq!(error.to_string(), "toy.toml:1: alpha: 2.0 is outside 0.0..1.0");
//! assert_eq!(Params::default().period, Span::from_millis(30));
//! assert_eq!(Params::infos()[0].source, "RFC 0000 eq. 2");
//! ```

mod error;
mod macros;
mod node;
mod param;

pub use error::Error;
pub use node::{Node, Value};
pub use param::{Bounded, Fields, Param, kind_of, range_text};

#[doc(hidden)]
pub use macros::{join, read_block, read_kind, unknown_word, without_kind};

#[doc(hidden)]
pub use serde_json;

/// A declared parameter, as `airwnd explain` shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamInfo {
    /// The key in a scenario.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
    /// The unit, "1" for a pure number.
    pub unit: &'static str,
    /// The default as it would be written; `None` if a value is required.
    pub default: Option<serde_json::Value>,
    /// Least and greatest allowed value, both included.
    pub range: Option<(String, String)>,
    /// Where the default or the meaning comes from.
    pub source: &'static str,
}

/// An algorithm as `airwnd list` and `airwnd explain` show it.
#[derive(Clone, Debug, PartialEq)]
pub struct AlgorithmInfo {
    /// The word that selects it in a scenario.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// Everything after the first sentence.
    pub details: String,
    /// Paper, RFC or specification that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
}

/// A family of algorithms that can stand in for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyInfo {
    /// The family's word, as in `airwnd list rwnd`.
    pub name: &'static str,
    /// One sentence.
    pub summary: String,
    /// The members in the order of their list.
    pub members: Vec<AlgorithmInfo>,
}

/// A struct declared with [`params!`].
pub trait Params: Param {
    /// First sentence of the doc comment.
    fn summary() -> String {
        split_doc(Self::DOC).0
    }
    /// The doc comment after its first paragraph.
    fn details() -> String {
        split_doc(Self::DOC).1
    }
    /// The doc comment.
    const DOC: &'static str;
    /// Where the whole comes from.
    const SOURCE: &'static str;
    /// The parameters in the order of declaration.
    fn infos() -> Vec<ParamInfo>;
}

/// A doc comment's first paragraph on one line, and the rest.
pub fn split_doc(doc: &str) -> (String, String) {
    let lines: Vec<&str> = doc.lines().map(str::trim).collect();
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let rest = lines.get(end + 1..).unwrap_or_default();
    (lines[..end].join(" "), rest.join("\n"))
}

/// Adds a parameter's meaning, default and source to the schema of its type.
#[doc(hidden)]
pub fn describe(schema: &mut serde_json::Value, info: &ParamInfo) {
    let range = info.range.as_ref().map(|(low, high)| format!(" Range {low} to {high}.")).unwrap_or_default();
    let unit = if info.unit == "1" { String::new() } else { format!(" [{}]", info.unit) };
    schema["description"] = format!("{}{unit}{range} Source: {}.", info.meaning, info.source).into();
    if let Some(default) = info.default.as_ref().filter(|default| !default.is_null()) {
        schema["default"] = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_units::Bytes;

    params! {
        /// The first.
        ///
        /// It has details.
        pub struct First ("RFC 1") {
            /// How much.
            pub gain: f64 = 0.5, unit "1", range 0.0..=1.0, source "RFC 1 §2";
        }
    }

    params! {
        /// A section.
        pub section Section ("none") {
            /// Needed.
            pub limit: Bytes, unit "B", range Bytes(1)..=Bytes(1000), source "none";
            /// Not needed.
            pub note: Option<String> = None, unit "text", source "none";
        }
    }

    params! {
        /// A struct with a block.
        pub struct Whole ("none") {
            /// Its own.
            pub rounds: u32 = 3, unit "1", range 1..=9, source "none";
            flatten first: First;
        }
    }

    #[test]
    fn the_keys_of_a_block_stand_beside_the_others() {
        let read = |text: &str| Whole::read(&Node::from_toml(text, "s.toml").unwrap());
        let whole = read("gain = 0.25").unwrap();
        assert_eq!(whole, Whole { rounds: 3, first: First { gain: 0.25 } });
        assert_eq!(whole.to_json(), serde_json::json!({"rounds": 3, "gain": 0.25}));
        assert_eq!(read("").unwrap(), Whole::default());
        let complaint = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(complaint("rounds = 2\ngain = 2.0"), "s.toml:2: gain: 2.0 is outside 0.0..1.0");
        assert_eq!(
            complaint("gian = 1.0"),
            "s.toml:1: unknown key `gian`; did you mean `gain`?; allowed: `rounds`, `gain`"
        );
        let names: Vec<&str> = Whole::infos().iter().map(|info| info.name).collect();
        assert_eq!(names, ["rounds", "gain"]);
        assert_eq!(Whole::schema()["properties"]["gain"], First::schema()["properties"]["gain"]);
    }

    fn complaint(text: &str) -> String {
        Section::read(&Node::from_toml(text, "s.toml").unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn messages_name_file_line_key_and_rule() {
        assert_eq!(complaint("note = \"x\""), "s.toml:1: `limit` is missing");
        assert_eq!(
            complaint("limt = \"3B\""),
            "s.toml:1: unknown key `limt`; did you mean `limit`?; allowed: `limit`, `note`"
        );
        assert_eq!(complaint("limit = \"0B\""), "s.toml:1: limit: 0B is outside 1B..1kB");
        assert_eq!(
            complaint("\nlimit = 3"),
            "s.toml:2: limit: expected a number of bytes with its unit, as in \"64KiB\", found 3"
        );
        assert_eq!(
            complaint("limit = \"3B\"\nlimt = 3"),
            "s.toml:2: unknown key `limt`; did you mean `limit`?; allowed: `limit`, `note`"
        );
    }

    #[test]
    fn a_section_is_written_as_it_is_read() {
        let node = Node::from_toml("limit = \"30B\"", "s.toml").unwrap();
        let section = Section::read(&node).unwrap();
        assert_eq!(section.to_json(), serde_json::json!({"limit": "30B"}));
        let again = Node::from_json(&section.to_json().to_string(), "json").unwrap();
        assert_eq!(Section::read(&again).unwrap(), section);
        assert_eq!(Section::schema()["required"], serde_json::json!(["limit"]));
    }

    #[test]
    fn docs_split_after_the_first_paragraph() {
        assert_eq!(First::summary(), "The first.");
        assert_eq!(First::details(), "It has details.");
    }
}

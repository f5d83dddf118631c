//! Floating car data of SUMO: XML, read tag by tag, since files of a city have gigabytes.

use super::track::{Selection, Track};
use airwnd_catalog::csv::Mistake;
use std::io::BufRead;

/// Maximum length of a tag in bytes. One of SUMO has some hundred.
const LONGEST: usize = 1 << 16;
/// Elements of a time step that move.
const MOVING: [&str; 3] = ["vehicle", "person", "container"];
const ROOT: &str = "fcd-export";
const STEP: &str = "timestep";

/// Reads the points of a UE.
///
/// # Errors
/// Line and message of a mistake, or of a UE that is missing or not the only one.
pub(super) fn read(input: &mut dyn BufRead, id: Option<&str>) -> Result<Track, Mistake> {
    let mut tags = Tags { input, line: 1 };
    let mut selection = Selection::new(id);
    let mut track = Track::default();
    let mut open: Vec<String> = Vec::new();
    let mut time = 0.0;
    let mut is_over = false;
    while let Some(tag) = tags.next()? {
        let line = tags.line;
        if is_over || (open.is_empty() && (tag.kind == Kind::End || tag.name != ROOT)) {
            return Err((line, format!("expected one element `{ROOT}`, found `{}`", shown(&tag.name))));
        }
        if tag.kind == Kind::End {
            if open.pop().as_deref() != Some(&tag.name) {
                return Err((line, format!("`</{}>` ends another element", shown(&tag.name))));
            }
        } else {
            let name = tag.name.as_str();
            if open.len() == 1 && name == STEP {
                time = tag.number(line, "time")?;
            } else if MOVING.contains(&name) {
                if open.last().is_none_or(|parent| parent != STEP) {
                    return Err((line, format!("`{name}` is outside of `{STEP}`")));
                }
                if selection.takes(tag.text(line, "id")?) {
                    track.push(line, [time, tag.number(line, "x")?, tag.number(line, "y")?])?;
                }
            }
            if tag.kind == Kind::Begin {
                open.push(tag.name);
            }
        }
        is_over = open.is_empty();
        if open.len() > MOVING.len() {
            return Err((line, format!("elements are nested more than {} deep", MOVING.len())));
        }
    }
    if !is_over {
        return Err((
            tags.line,
            format!("the file ends within `{}`", open.last().map_or(ROOT, String::as_str)),
        ));
    }
    selection.check(tags.line)?;
    track.stay();
    Ok(track)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Begin,
    /// `<a/>`.
    Whole,
    End,
}

/// A tag, with its attributes in order.
struct Tag {
    kind: Kind,
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn text(&self, line: usize, name: &str) -> Result<&str, Mistake> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .ok_or_else(|| (line, format!("`{}` has no `{name}`", self.name)))
    }

    fn number(&self, line: usize, name: &str) -> Result<f64, Mistake> {
        let text = self.text(line, name)?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err((line, format!("`{}` of `{}` is not a number: `{}`", name, self.name, shown(text)))),
        }
    }
}

/// The tags of a document.
struct Tags<'i> {
    input: &'i mut dyn BufRead,
    /// Number of the current line.
    line: usize,
}

impl Tags<'_> {
    /// Returns the next tag; skips text, comments and processing instructions.
    fn next(&mut self) -> Result<Option<Tag>, Mistake> {
        loop {
            loop {
                match self.byte()? {
                    None => return Ok(None),
                    Some(b'<') => break,
                    Some(b'&') => return Err((self.line, "text outside of tags has an entity".into())),
                    Some(_) => {}
                }
            }
            let mut tag = Vec::new();
            let mut quote = None;
            loop {
                let Some(byte) = self.byte()? else {
                    return Err((self.line, "the file ends within a tag".into()));
                };
                match (quote, byte) {
                    (None, b'>') if !tag.starts_with(b"!--") || tag.ends_with(b"--") && tag.len() >= 5 => {
                        break;
                    }
                    (None, b'"' | b'\'') if !tag.starts_with(b"!--") => quote = Some(byte),
                    (Some(open), _) if open == byte => quote = None,
                    _ => {}
                }
                tag.push(byte);
                if tag.len() > LONGEST {
                    // A comment may be long: only its end matters.
                    if !tag.starts_with(b"!--") {
                        return Err((self.line, format!("a tag has more than {LONGEST} bytes")));
                    }
                    tag.drain(5..LONGEST - 1);
                }
            }
            let text = String::from_utf8(tag).map_err(|_| (self.line, "not UTF-8".to_string()))?;
            match text.as_bytes().first() {
                Some(b'?') => check_encoding(&text).map_err(|why| (self.line, why))?,
                Some(b'!') if text.starts_with("!--") => {}
                Some(b'!') => {
                    let why = "document types, entities and unparsed sections are not read".to_string();
                    return Err((self.line, why));
                }
                _ => return tag_of(&text).map(Some).map_err(|why| (self.line, why)),
            }
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, Mistake> {
        let rest = self.input.fill_buf().map_err(|why| (self.line, format!("cannot be read: {why}")))?;
        let first = rest.first().copied();
        if first.is_some() {
            self.input.consume(1);
        }
        self.line += usize::from(first == Some(b'\n'));
        Ok(first)
    }
}

fn check_encoding(declaration: &str) -> Result<(), String> {
    let Some((_, after)) = declaration.split_once("encoding=") else { return Ok(()) };
    let name: String = after.chars().skip(1).take_while(|letter| !matches!(letter, '"' | '\'')).collect();
    let allowed = ["utf-8", "us-ascii", "ascii"];
    if allowed.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    Err(format!("the encoding is `{}`; expected UTF-8", shown(&name)))
}

fn tag_of(text: &str) -> Result<Tag, String> {
    let (kind, inner) = match (text.strip_prefix('/'), text.strip_suffix('/')) {
        (Some(name), _) => (Kind::End, name),
        (None, Some(inner)) => (Kind::Whole, inner),
        (None, None) => (Kind::Begin, text),
    };
    let end = inner.find(char::is_whitespace).unwrap_or(inner.len());
    let (name, mut rest) = (&inner[..end], inner[end..].trim());
    if name.is_empty() || name.contains(['<', '"', '\'', '=']) {
        return Err(format!("`<{}>` is not a tag", shown(text)));
    }
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let wrong = || format!("`{}` is not an attribute, as in x=\"1.5\"", shown(rest));
        let (key, after) = rest.split_once('=').ok_or_else(wrong)?;
        let (key, after) = (key.trim(), after.trim_start());
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\'')).ok_or_else(wrong)?;
        let (value, left) = after[1..].split_once(quote).ok_or_else(wrong)?;
        if attributes.iter().any(|(known, _)| known == key) {
            return Err(format!("two attributes `{}`", shown(key)));
        }
        attributes.push((key.into(), unescaped(value)?));
        rest = left.trim_start();
    }
    Ok(Tag { kind, name: name.into(), attributes })
}

/// Replaces the entities that every document has.
fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut found = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once(';').unwrap_or((part, ""));
        let number = name.strip_prefix('#').and_then(|digits| match digits.strip_prefix('x') {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
            None => digits.parse().ok(),
        });
        let letter = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => number.and_then(char::from_u32),
        };
        found.push(letter.ok_or_else(|| format!("unknown entity `&{};`", shown(name)))?);
        found.push_str(rest);
    }
    Ok(found)
}

fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, id: Option<&str>) -> Result<Vec<[f64; 3]>, Mistake> {
        read(&mut text.as_bytes(), id).map(|track| track.rows)
    }

    const TWO: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- <vehicle> > -->
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="a>b">
    <timestep time="0.00">
        <vehicle id="v0" x="10.00" y="5.00" angle="90.00" type="car" speed="0.00" lane="e_0" slope="0.00"/>
        <person id='p&amp;&#49;' x="-1" y="2"></person>
    </timestep>
    <timestep time="0.50"/>
    <timestep time="1.00">
        <vehicle
            id="v0" x="12.50" y="5.00"/>
    </timestep>
</fcd-export>
"#;

    #[test]
    fn a_vehicle_or_person_is_selected() {
        assert_eq!(rows(TWO, Some("v0")), Ok(vec![[0.0, 10.0, 5.0], [1.0, 12.5, 5.0]]));
        // A vehicle that is there for a single step stays.
        assert_eq!(rows(TWO, Some("p&1")), Ok(vec![[0.0, -1.0, 2.0], [1.0, -1.0, 2.0]]));
        assert_eq!(rows(TWO, None), Err((14, "several UEs; select one by `id`: `v0`, `p&1`".into())));
        assert_eq!(rows(TWO, Some("v1")), Err((14, "no UE `v1`; the file has `v0`, `p&1`".into())));
    }

    #[test]
    fn mistakes_name_their_line() {
        let error = |inner: &str| rows(&format!("<fcd-export>\n{inner}\n</fcd-export>"), None).unwrap_err();
        assert_eq!(error(""), (3, "the file has no UEs".into()));
        assert_eq!(error("<timestep/>"), (2, "`timestep` has no `time`".into()));
        assert_eq!(error("<vehicle id=\"a\"/>"), (2, "`vehicle` is outside of `timestep`".into()));
        let step = |inner: &str| error(&format!("<timestep time=\"0\">\n{inner}\n</timestep>"));
        assert_eq!(step("<vehicle id=\"a\" x=\"1\"/>"), (3, "`vehicle` has no `y`".into()));
        let east = "`x` of `vehicle` is not a number: `east`";
        assert_eq!(step("<vehicle id=\"a\" x=\"east\" y=\"1\"/>"), (3, east.into()));
        assert_eq!(step("<vehicle id=a/>"), (3, "`id=a` is not an attribute, as in x=\"1.5\"".into()));
        assert_eq!(step("<vehicle id=\"a\" id=\"b\"/>"), (3, "two attributes `id`".into()));
        assert_eq!(step("</fcd-export>"), (3, "`</fcd-export>` ends another element".into()));
        let whole = |text: &str| rows(text, None).unwrap_err();
        assert_eq!(
            whole("<fcd-export>\n<timestep time=\"0\">"),
            (2, "the file ends within `timestep`".into())
        );
        assert_eq!(whole("<fcd-export>\n<timest"), (2, "the file ends within a tag".into()));
        assert_eq!(whole("<routes>"), (1, "expected one element `fcd-export`, found `routes`".into()));
        assert_eq!(
            whole("<fcd-export/>\n<fcd-export/>"),
            (2, "expected one element `fcd-export`, found `fcd-export`".into())
        );
        assert_eq!(
            whole("<?xml version=\"1.0\" encoding=\"UTF-16\"?>"),
            (1, "the encoding is `UTF-16`; expected UTF-8".into())
        );
    }

    /// Entities could name files, or grow without bound.
    #[test]
    fn entities_and_endless_texts_are_refused() {
        let refusal = |text: &str| rows(text, None).unwrap_err();
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbb\"><!ENTITY c \"&b;&b;\">]>\n<fcd-export/>";
        let document_type = "document types, entities and unparsed sections are not read";
        assert_eq!(refusal(bomb), (1, document_type.into()));
        let inside = "<fcd-export><timestep time=\"0\"><vehicle id=\"&c;\" x=\"1\" y=\"1\"/>";
        assert_eq!(refusal(inside), (1, "unknown entity `&c;`".into()));
        assert_eq!(refusal("<fcd-export>&c;"), (1, "text outside of tags has an entity".into()));
        let long = format!("<fcd-export a=\"{}\"/>", "x".repeat(LONGEST));
        assert_eq!(refusal(&long), (1, format!("a tag has more than {LONGEST} bytes")));
        let deep = "<fcd-export><a><a><a>";
        assert_eq!(refusal(deep), (1, "elements are nested more than 3 deep".into()));
        // A comment has no limit.
        let comment = format!("<!--{}-->{TWO}", "-x > ".repeat(LONGEST));
        assert_eq!(rows(&comment, Some("v0")).map(|rows| rows.len()), Ok(2));
    }
}

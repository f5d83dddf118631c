//! The reference pages, generated from the catalogue, the schema and `crates/lab/src/exceptions.toml` as Markdown.

use airwnd_catalog::{AlgorithmInfo, FamilyInfo, Level, ParamInfo, ParamSet, SectionInfo};
use airwnd_lab::columns::ColumnInfo;
use airwnd_lab::{
    CompatInfo, LIMIT_TOPICS, Limit, PresetInfo, PresetValue, QuirkInfo, TableInfo, catalogue, compats,
    limits, presets, schema, sections, tables,
};
use airwnd_tcp::{OtherQuirks, Settings, Stack};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

#[path = "marks.rs"]
pub mod marks;

/// Last line of each page.
const ORIGIN: &str =
    "Generated from the code by `cargo run -p airwnd-lab --example reference -- docs/reference`.\n";
/// Introduction of the page of each family.
const FAMILY: &str = "Each section describes one algorithm: rule, source and parameters, the basic ones first. `airwnd \
                      explain NAME --all` prints the same text.\n\n";

/// Returns the files that mark each exception.
pub fn marked_files() -> BTreeMap<String, BTreeSet<String>> {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for mark in marks::marks() {
        if let Some(exception) = mark.text.strip_prefix("exception ") {
            let (id, _) = exception.split_once(": ").unwrap_or((exception, ""));
            files.entry(id.to_string()).or_default().insert(mark.file);
        }
    }
    files
}

/// Returns the file name and the text of every page.
pub fn pages() -> Vec<(String, String)> {
    let families = catalogue();
    let mut pages = vec![
        ("README.md".to_string(), index(&families)),
        ("scenario.md".to_string(), scenario(&families)),
        ("tcp.md".to_string(), tcp()),
        ("presets.md".to_string(), presets_page()),
        ("results.md".to_string(), results()),
        ("limits.md".to_string(), limits_page()),
    ];
    pages.extend(families.iter().map(|family| (format!("{}.md", family.name), family_page(family))));
    pages
}

fn index(families: &[FamilyInfo]) -> String {
    let mut page = String::from(
        "# Reference\n\n\
         These pages list every key, algorithm, parameter and result column, with its unit, range, default and \
         source.\n\n\
         - [Scenario files](scenario.md): every section and key\n\
         - [TCP stacks](tcp.md): the stacks and their parameters\n\
         - [Presets](presets.md): values of ns-3 or of an earlier version for keys that a scenario does not write, and \
         quirks of other simulators\n\
         - [Results](results.md): every table of a run and its columns\n\
         - [Models and their limits](limits.md): differences of the results from standards, papers and ns-3, and their \
         size\n\
         - [Glossary](../glossary.md): the terms\n\n",
    );
    let counts = levels(families).map(|(level, number)| format!("{number} {}", level.word())).join(", ");
    write!(
        page,
        "A parameter has a level: what a first study of its section or algorithm sets is *basic*, what a specialist \
         varies *advanced*, and a detail of an implementation or a special comparison *expert* ({counts}). The pages \
         show the basic ones, and the others below a line that opens; so does `airwnd explain NAME`, with `--all` for \
         the others.\n\n\
         A *family* is a set of interchangeable algorithms. `airwnd list` and `airwnd explain NAME` print the same \
         texts.\n\n\
         | Family | Algorithms |\n|---|---|\n",
    )
    .unwrap();
    for FamilyInfo { name, summary, members, .. } in families {
        let member = |member: &AlgorithmInfo| format!("[`{0}`]({name}.md#{0})", member.name);
        let members: Vec<String> = members.iter().map(member).collect();
        let summary = summary.trim_end_matches('.');
        writeln!(page, "| [{summary}]({name}.md) | {} |", members.join(", ")).unwrap();
    }
    page + "\n" + ORIGIN
}

/// Returns the number of parameters of each level, in all families and sections.
fn levels(families: &[FamilyInfo]) -> [(Level, usize); 3] {
    let members = families.iter().flat_map(|family| &family.members);
    let params = members.flat_map(|member| &member.params).map(|param| param.level);
    let sections = sections();
    let keys = sections.iter().flat_map(|section| &section.params).map(|param| param.level);
    let all: Vec<Level> = params.chain(keys).collect();
    Level::ALL.map(|level| (level, all.iter().filter(|key_level| **key_level == level).count()))
}

fn family_page(family: &FamilyInfo) -> String {
    let (title, meaning) =
        family.summary.split_once(": ").unwrap_or((family.summary.trim_end_matches('.'), ""));
    let mut page = format!("# {title} (`{}`)\n\n", family.name);
    if !meaning.is_empty() {
        writeln!(page, "{}\n", sentence(meaning)).unwrap();
    }
    page += FAMILY;
    for member in &family.members {
        let AlgorithmInfo { name, summary, details, source, params, .. } = member;
        write!(page, "## {name}\n\n{summary}\n\n").unwrap();
        if !details.is_empty() {
            write!(page, "{details}\n\n").unwrap();
        }
        write!(page, "Source: {source}\n\n").unwrap();
        let head = "| Parameter | Default | Range | Unit | Meaning | Source |\n|---|---|---|---|---|---|\n";
        let row = |param: &ParamInfo| (param.level, parameter_row(param));
        page += &by_level(head, params.iter().map(row).collect());
    }
    page + ORIGIN
}

/// Formats the rows of a table: the basic ones, then the others, folded, with their numbers.
fn by_level(head: &str, rows: Vec<(Level, String)>) -> String {
    let text = |levels: &[Level]| -> String {
        let rows =
            levels.iter().flat_map(|level| rows.iter().filter(move |(row_level, _)| row_level == level));
        rows.map(|(_, row)| row.as_str()).collect()
    };
    let number = |level| rows.iter().filter(|(row_level, _)| *row_level == level).count();
    let basic = text(&[Level::Basic]);
    let mut page = if basic.is_empty() { String::new() } else { format!("{head}{basic}\n") };
    let others = [Level::Advanced, Level::Expert].map(|level| (number(level), level.word()));
    let counts: Vec<String> = others
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    if !counts.is_empty() {
        let counts = counts.join(", ");
        let more = if basic.is_empty() { "" } else { "More: " };
        let rows = text(&[Level::Advanced, Level::Expert]);
        write!(page, "<details>\n<summary>{more}{counts}</summary>\n\n{head}{rows}\n</details>\n\n").unwrap();
    }
    page
}

fn parameter_row(param: &ParamInfo) -> String {
    let ParamInfo { name, meaning, unit, default, range, source, level: _ } = param;
    let default = default.as_ref().map_or("required".to_string(), value);
    let range = range.as_ref().map_or(String::new(), |(low, high)| format!("{low} to {high}"));
    let unit = if *unit == "1" { "" } else { unit };
    format!("| `{name}` | {default} | {range} | {unit} | {} | {} |\n", cell(meaning), cell(source))
}

fn tcp() -> String {
    let infos = Settings::infos();
    let (stack, parameters) = infos.split_first().expect("a stack comes first");
    let columns: Vec<_> = Stack::ALL.iter().map(|stack| stack.config().entries()).collect();
    let mut page = format!(
        "# TCP stacks (`[tcp]`)\n\nThis page lists the parameters of the TCP endpoints and their values in each \
         stack. `stack` selects a column (default: {}); any other key of `[tcp]` overrides one row. [Models and their \
         limits](limits.md#other-limits) lists the deviations of a stack from the RFCs.\n\n",
        stack.default.as_ref().map_or(String::new(), value),
    );
    let stacks: Vec<String> = Stack::ALL.iter().map(|stack| format!("`{}`", stack.word())).collect();
    let head = format!(
        "| Parameter | {} | Range | Unit | Meaning | Source |\n|{}\n",
        stacks.join(" | "),
        "---|".repeat(Stack::ALL.len() + 5),
    );
    let mut rows = Vec::new();
    for (row, info) in parameters.iter().enumerate() {
        let values: Vec<String> = columns.iter().map(|entries| value(&entries[row].1)).collect();
        let name = info.name;
        let range = info.range.as_ref().map_or(String::new(), |(low, high)| format!("{low} to {high}"));
        let unit = if info.unit == "1" { "" } else { info.unit };
        let (meaning, source) = (cell(&info.meaning), cell(info.source));
        let values = values.join(" | ");
        let text = format!("| `{name}` | {values} | {range} | {unit} | {meaning} | {source} |\n");
        rows.push((info.level, text));
    }
    page += &by_level(&head, rows);
    page += "## Quirks\n\nWhat a stack does only because this TCP implementation does is no parameter. \
             [`compat_without`](presets.md#quirks) leaves single quirks out.\n\n| Quirk |";
    for stack in Stack::ALL {
        write!(page, " `{}` |", stack.word()).unwrap();
    }
    page += " Meaning | Source |\n|";
    page += &"---|".repeat(Stack::ALL.len() + 3);
    page.push('\n');
    let columns: Vec<_> = Stack::ALL.iter().map(|stack| stack.config().quirks.entries()).collect();
    for (row, info) in OtherQuirks::infos().iter().enumerate() {
        let values: Vec<String> = columns.iter().map(|entries| value(&entries[row].1)).collect();
        let (meaning, source) = (cell(&info.meaning), cell(info.source));
        writeln!(page, "| `{}` | {} | {meaning} | {source} |", info.name, values.join(" | ")).unwrap();
    }
    page + "\n" + ORIGIN
}

fn presets_page() -> String {
    let mut page = String::from(
        "# Presets\n\n\
         This page lists the values that each preset sets. A preset, such as `preset = \"ns3.44\"` at the top of a \
         scenario, replaces the defaults of all keys that the scenario does not write by the values of another \
         simulator or of an earlier version of airwnd. A value in a section applies to that section, and to each entry \
         of a repeated section. A value of an algorithm, such as `codel` of [`aqm`](aqm.md#codel), applies wherever \
         the algorithm is selected. If the scenario selects another algorithm or another TCP stack than the preset, \
         the preset's values for its own selection do not apply. `preset = \"none\"` selects airwnd's own defaults. \
         [How to compare with ns-3](../how-to/compare-with-ns3.md) shows how to use presets.\n\n",
    );
    for PresetInfo { name, summary, values } in presets() {
        write!(page, "## {name}\n\n{summary}\n\n").unwrap();
        page += "| Key | Value | airwnd's default | Source |\n|---|---|---|---|\n";
        for PresetValue { section, key, value: set, default, source } in values {
            let place = match section.split_once('/') {
                Some((family, kind)) => format!("[`{kind}`]({family}.md#{kind}): `{key}`"),
                None if section.is_empty() => format!("`{key}`"),
                None => format!("`{section}.{key}`"),
            };
            let default = value(default.get("kind").unwrap_or(&default));
            writeln!(page, "| {place} | {} | {default} | {} |", value(&set), cell(&source)).unwrap();
        }
        page.push('\n');
    }
    page += "## Quirks\n\n\
             A quirk is behaviour that exists only because another simulator has it. No key sets a single quirk: \
             `compat = \"ns3.44\"` at the top of a scenario sets those of ns-3 3.44, as its preset does, and \
             `compat_without = [\"sixteen_bits\"]` leaves some out. The quirks of TCP come with \
             [`tcp.stack`](tcp.md#quirks).\n\n";
    for CompatInfo { name, summary, quirks } in compats() {
        write!(page, "### compat = \"{name}\"\n\n{summary}\n\n").unwrap();
        page += "| Quirk | Value | Otherwise | Meaning | Source |\n|---|---|---|---|---|\n";
        for QuirkInfo { section, name, meaning, value: set, default, source } in quirks {
            let place = match section.split_once('/') {
                Some((family, kind)) => format!("[`{kind}`]({family}.md#{kind}): `{name}`"),
                None => format!("`{section}`: `{name}`"),
            };
            let (meaning, source) = (cell(&meaning), cell(&source));
            writeln!(page, "| {place} | {} | {} | {meaning} | {source} |", value(&set), value(&default))
                .unwrap();
        }
        page.push('\n');
    }
    page + ORIGIN
}

fn scenario(families: &[FamilyInfo]) -> String {
    let mut page = String::from(
        "# Scenario files\n\n\
         This page lists every section and key of a scenario. A scenario is a TOML file, or the same structure in \
         JSON or as a Python dictionary. Unknown keys, missing units and values out of range are errors that name \
         file, line, key and the allowed values.\n\n\
         - A quantity is a string with its unit: `\"20ms\"`, `\"64KiB\"`, `\"-96dBm\"`.\n\
         - A key of a family accepts the name of an algorithm, `\"drwa\"`, or a table with its parameters, `{kind = \
         \"drwa\", lambda = 2.0}`. Other parameters have their defaults.\n\
         - An optional key accepts `\"none\"`.\n\
         - `preset` [replaces the defaults](presets.md); `compat` selects [quirks](presets.md#quirks) of another simulator.\n\n\
         `airwnd check FILE --json` prints a scenario with every default; `airwnd schema` prints the JSON Schema.\n\n",
    );
    section(&mut page, families, "", &schema());
    page + ORIGIN
}

fn results() -> String {
    let mut page = String::from(
        "# Results\n\n\
         This page lists the tables of a run and their columns. A column has the same name in `airwnd run --json`, in \
         the data frames of [`airwnd.Run`](../python-api.md), in Parquet files, and as `TABLE.COLUMN` in the measures \
         of an [experiment](../how-to/reproduce-a-paper.md). `airwnd explain TABLE.COLUMN` prints one. In the JSON, \
         `run` is the top level, `totals` and `conservation` are objects, and the tables from `flows` to `connections` are \
         arrays of objects. The tables from `series` on are available as data frames only, those from \
         `radio_grants` on as files of a [trace](../how-to/trace-the-radio.md) only. A missing value is \
         null.\n\n",
    );
    for TableInfo { name, meaning, columns } in tables() {
        write!(page, "## `{name}`\n\n{meaning}\n\n| Column | Type | Unit | Meaning |\n|---|---|---|---|\n")
            .unwrap();
        for ColumnInfo { name, kind, unit, meaning, .. } in columns {
            let unit = if *unit == "1" { "" } else { unit };
            writeln!(page, "| `{name}` | {} | {unit} | {} |", kind.word(), cell(meaning)).unwrap();
        }
        page.push('\n');
    }
    page + ORIGIN
}

/// Appends the table of a section's keys, and the sections below it.
fn section(page: &mut String, families: &[FamilyInfo], path: &str, schema: &Json) {
    let heading = if path.is_empty() { "Top level".to_string() } else { format!("`{path}`") };
    let SectionInfo { summary, details, source, .. } = sections()
        .into_iter()
        .find(|section| section.heading == path)
        .unwrap_or_else(|| panic!("the section {path} is new: add its type to `sections`"));
    write!(page, "## {heading}\n\n{summary}\n\n").unwrap();
    if !details.is_empty() {
        write!(page, "{details}\n\n").unwrap();
    }
    write!(page, "Source: {source}\n\n").unwrap();
    let head = "| Key | Value | Default | Meaning | Source |\n|---|---|---|---|---|\n";
    let mut rows = Vec::new();
    let properties = schema["properties"].as_object().expect("a section has keys");
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let mut below = Vec::new();
    for (key, property) in properties {
        let (meaning, source) = split_source(property["description"].as_str().unwrap_or(""));
        let place = place_of(path, key, property);
        let inner = property.get("items").unwrap_or(value_of(property));
        if inner.get("properties").is_some() {
            below.push((place.clone(), inner));
        }
        let default = match property.get("default") {
            _ if required.contains(&key.as_str()) => "required".to_string(),
            Some(Json::Object(object)) if !object.contains_key("kind") => "see section".to_string(),
            Some(Json::Array(items)) if items.is_empty() => "none".to_string(),
            Some(default) => value(default.get("kind").unwrap_or(default)),
            None => String::new(),
        };
        let kind = kind_of(families, &place, property);
        let (meaning, source) = (cell(meaning), cell(source));
        let row = format!("| `{key}` | {kind} | {default} | {meaning} | {source} |\n");
        rows.push((level_of(property), row));
    }
    *page += &by_level(head, rows);
    for (place, inner) in below {
        if place == "[tcp]" {
            *page += "## `[tcp]`\n\nTCP at both endpoints. [TCP stacks](tcp.md) lists its keys and the values of each stack.\n\n";
        } else if place == "[flow.tcp]" {
            *page += "## `[flow.tcp]`\n\nTCP at both ends of the flows of a group, over `[tcp]`: the same keys ([TCP \
                      stacks](tcp.md)), none set by default. A `stack` replaces that of `[tcp]`; other keys that `[tcp]` \
                      sets still apply.\n\n";
        } else {
            section(page, families, &place, inner);
        }
    }
}

/// Returns the level of a key in the schema.
fn level_of(property: &Json) -> Level {
    let word = property["x-level"].as_str().expect("a key has a level");
    let level = Level::ALL.into_iter().find(|level| level.word() == word);
    level.unwrap_or_else(|| panic!("no level `{word}`"))
}

/// Returns the heading of a section: `[mac]`, `[mac.power_control]`, `[[site]]`.
fn place_of(path: &str, key: &str, property: &Json) -> String {
    let within = path.trim_matches(['[', ']']);
    let full = if within.is_empty() { key.to_string() } else { format!("{within}.{key}") };
    if property.get("items").is_some() { format!("[[{full}]]") } else { format!("[{full}]") }
}

/// Returns the schema of a key's value, without the alternative `none`.
fn value_of(property: &Json) -> &Json {
    match property["anyOf"].as_array().map(Vec::as_slice) {
        Some([value, none]) if none["const"] == "none" => value,
        _ => property,
    }
}

/// Returns the allowed values of a key.
fn kind_of(families: &[FamilyInfo], place: &str, property: &Json) -> String {
    let words = |words: &Json| {
        let words = words.as_array().into_iter().flatten().map(value);
        words.collect::<Vec<_>>().join(", ")
    };
    let property = value_of(property);
    if let Some(members) = property.get("anyOf") {
        let family = families.iter().find(|family| {
            let kinds = members[0]["enum"].as_array().into_iter().flatten();
            kinds.map(Json::as_str).eq(family.members.iter().map(|member| Some(member.name.as_str())))
        });
        let family = family.expect("a choice of algorithms is a family of the catalogue");
        return format!("[{}]({}.md)", family.name, family.name);
    }
    if let Some(choice) = property.get("enum") {
        return words(choice);
    }
    let inner = property.get("items").unwrap_or(property);
    if inner.get("properties").is_some() {
        let anchor: String = place.chars().filter(|c| !"[].".contains(*c)).collect();
        return format!("[`{place}`](#{anchor})");
    }
    let example = |schema: &Json| schema["examples"][0].as_str().map(|example| format!("`\"{example}\"`"));
    let json_type = |schema: &Json| schema["type"].as_str().unwrap_or("").to_string();
    match property.get("items") {
        Some(items) => match example(items) {
            Some(example) => format!("list of values such as {example}"),
            None => format!("list of {}s", json_type(items)),
        },
        None => example(property).map_or(json_type(property), |example| format!("e.g. {example}")),
    }
}

/// Splits the schema's description of a key into meaning and source.
fn split_source(description: &str) -> (&str, &str) {
    let (meaning, source) = description.rsplit_once(" Source: ").unwrap_or((description, ""));
    (meaning, source.trim_end_matches('.'))
}

fn limits_page() -> String {
    let (limits, files) = (limits(), marked_files());
    let entry = |page: &mut String, limit: &Limit| {
        let Limit { id, source, differs, why, affects, effect, .. } = limit;
        let code = files.get(id).into_iter().flatten();
        let code: Vec<String> = code.map(|file| format!("[{file}](../../{file})")).collect();
        write!(
            page,
            "### {id}\n\n{differs}\n\n\
             - **Affects:** {affects}\n- **Effect:** {effect}\n- **Why:** {why}\n\
             - **Differs from:** {source}\n- **Code:** {}\n\n",
            code.join(", "),
        )
        .unwrap();
    };
    let (first, others) = limits.split_at(limits.partition_point(|limit| limit.importance == 1));
    let mut page = format!(
        "# Models and their limits\n\n\
         This page lists where results differ from a standard, a paper or a reference program, and what is not \
         modelled. The {} limits that change results of ordinary scenarios by several per cent or more come first, \
         then a table of {} others by topic, the important ones of each first. `airwnd explain --limits` prints the \
         table, `airwnd explain --limits NAME` the entries of a topic or about a word, with source and reason. The \
         code marks its place with `//= exception <id>`. [Validation](../validation.md) shows how well results agree \
         with ns-3 and Linux.\n\n\
         ## Limits that change conclusions\n\n",
        first.len(),
        others.len(),
    );
    first.iter().for_each(|limit| entry(&mut page, limit));
    page += "## Other limits\n\n| Limit | Topic | Difference | Affects | Effect |\n|---|---|---|---|---|\n";
    for (topic, heading) in LIMIT_TOPICS {
        for Limit { id, differs, affects, effect, .. } in others.iter().filter(|limit| limit.topic == topic) {
            let texts = [differs, affects, effect].map(|text| cell(text)).join(" | ");
            writeln!(page, "| <a id=\"{id}\"></a>{id} | {heading} | {texts} |").unwrap();
        }
    }
    page + "\n" + ORIGIN
}

/// Formats a JSON value as in a scenario.
fn value(json: &Json) -> String {
    match json {
        Json::Null => "none".to_string(),
        Json::Object(table) => format!("`{}`", inline(table)),
        other => format!("`{other}`"),
    }
}

fn inline(table: &Map<String, Json>) -> String {
    let entries: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{{}}}", entries.join(", "))
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Capitalises the first letter of a clause.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

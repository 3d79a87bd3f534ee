//! The reference's pages in Markdown: one for each table of a scenario.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::reference::examples::Examples;
use crate::reference::key::{Key, definition, spaced, values};

/// The first line of every page.
const GENERATED: &str = "<!-- Generated from docs/scenario.schema.json: UPDATE_REFERENCE=1 cargo test -p scenario \
                         --test it reference -->";
/// The first line of the page of results.
const RESULTS: &str = "<!-- Generated from crates/measured/src/table.rs: UPDATE_REFERENCE=1 cargo test -p \
                       scenario --test it reference -->";

/// Every page by its file's name.
pub(crate) fn all(examples: &Examples) -> BTreeMap<String, String> {
    let schema = scenario::schema();
    let mut pages = BTreeMap::new();
    let mut top = format!("{GENERATED}\n\n# A scenario\n\n");
    top += "A scenario is a TOML file. These are its keys; each table has its own page. Editors complete and \
            check them\nwith `docs/scenario.schema.json`.\n\n";
    for (name, key) in schema["properties"].as_object().expect("keys") {
        let told = Key::new(key);
        let is_table = told.takes.starts_with("table") && name != "sweep";
        line(&mut top, "", name, &told, schema, examples);
        if is_table {
            let _ = writeln!(top, "  See [`{name}`]({name}.md).");
            pages.insert(format!("{name}.md"), page(name, key, examples));
        }
    }
    pages.insert("README.md".into(), top);
    pages.insert("units.md".into(), units());
    pages.insert("results.md".into(), format!("{RESULTS}\n\n{}", measured::reference()));
    pages
}

/// The keys that are not tables and have no example in their line.
pub(crate) fn without_example(text: &str) -> impl Iterator<Item = &str> {
    let keys = text.split("\n- `").skip(1);
    let tables = |key: &&str| {
        ["(table", "(array of: table", "(table or", "(a discipline"]
            .iter()
            .any(|kind| key.contains(kind))
    };
    keys.filter(move |key| !tables(key) && !key.contains("Example: `") && key.contains("` ("))
        .map(|key| key.lines().next().unwrap_or_default())
}

fn page(name: &str, key: &Value, examples: &Examples) -> String {
    let mut text = format!("{GENERATED}\n\n# {name}\n");
    let (kind, schema) = definition(key);
    let mut seen = Vec::new();
    match values(schema) {
        Some(each) => {
            let (kind, each) = definition(each);
            section(&mut text, &format!("{name}.NAME"), &kind, each, examples, &mut seen);
        }
        None => section(&mut text, name, &kind, schema, examples, &mut seen),
    }
    text
}

/// Writes a table's keys, then the tables in it that are not described yet.
fn section(
    text: &mut String,
    path: &str,
    kind: &str,
    schema: &Value,
    examples: &Examples,
    seen: &mut Vec<(String, String)>,
) {
    let _ = write!(text, "\n## `[{path}]`\n\n{}\n\n", said(schema));
    let named = |(known, _): &&(String, String)| !kind.is_empty() && known == kind;
    if let Some((_, there)) = seen.iter().find(named) {
        let _ = writeln!(text, "The keys are those of [`[{there}]`](#{}).", slug(there));
        return;
    }
    seen.push((kind.to_owned(), path.to_owned()));
    let keys = schema["properties"].as_object().expect("a table's keys");
    for (name, key) in keys {
        line(text, kind, name, &Key::new(key), schema, examples);
    }
    for (name, key) in keys {
        let key = Key::new(key);
        let (path, kind, inner) = match values(key.schema) {
            Some(each) => {
                let (kind, each) = definition(each);
                (format!("{path}.{name}.NAME"), kind, each)
            }
            None => (format!("{path}.{name}"), key.name, key.schema),
        };
        if inner["properties"].is_object() && kind != "Queue" && !kind.starts_with("Bounds") {
            section(text, &path, &kind, inner, examples, seen);
        }
    }
}

fn line(
    text: &mut String,
    kind: &str,
    name: &str,
    key: &Key<'_>,
    table: &Value,
    examples: &Examples,
) {
    let required =
        table["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let Key { takes, doc, default, .. } = key;
    let bounds = key.name.starts_with("Bounds");
    let takes = if bounds { bounded(key.schema) } else { takes.clone() };
    let _ = write!(text, "- `{name}` ({takes}");
    match default {
        _ if required => *text += "; required",
        Some(default) => drop(write!(text, "; default: {default}")),
        None => {}
    }
    let _ = write!(text, "): {doc}");
    let example = if bounds {
        Key::new(&key.schema["properties"]["min"])
            .example()
            .map(|least| format!("{{ min = {least} }}"))
    } else if key.takes.starts_with("table") || key.name == "Queue" {
        None
    } else {
        examples.of(kind, name).or_else(|| key.example())
    };
    if let Some(example) = example {
        let _ = write!(text, " Example: `{name} = {example}`");
    }
    text.push('\n');
}

fn bounded(schema: &Value) -> String {
    format!("`min` and `max`, each a {}", Key::new(&schema["properties"]["min"]).takes)
}

fn said(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The notation of quantities and other single values.
fn units() -> String {
    let mut text = format!("{GENERATED}\n\n# Units\n\n");
    text += "A rate, a size or a time is text with a number and a unit; a number without a unit is an error. `Mbit/s` is a \
             bit rate,\n`MB/s` a byte rate, and `KiB` is 1024 bytes where `kB` is 1000.\n\n";
    for (name, schema) in scenario::schema()["$defs"].as_object().expect("definitions") {
        let single =
            !schema["type"].is_null() && schema["type"] != "object" && schema["enum"].is_null();
        if single {
            let _ = writeln!(text, "- **{}**: {}", spaced(name), said(schema));
        }
    }
    text
}

/// The anchor of a heading in a link.
fn slug(path: &str) -> String {
    path.to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter))
        .collect()
}

//! Checks a document against the schema: reports every unknown key, missing key and wrong kind of value, each with
//! its place and the nearest correct name.
//!
//! The schema is the only definition of the language. Scalars of the wrong type are left to the reader of that
//! scalar, which knows the units.

use serde_json::Value as Schema;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Span};
use crate::nearest;
use crate::schema::schema;

/// Reports all reasons why `document` is not a scenario.
pub(crate) fn check(document: &DeTable<'_>, problems: &mut Problems) {
    let at = Place { span: 0..0, what: "the scenario".into() };
    table(document, &at, &[schema()], problems);
}

/// Reports all reasons why `document` is not a queue.
pub(crate) fn check_queue(document: &DeTable<'_>, problems: &mut Problems) {
    let at = Place { span: 0..0, what: "the queue".into() };
    table(document, &at, &alternatives(&schema()["$defs"]["Queue"]), problems);
}

/// The schemas of the value at a path of keys; empty if there is no such path.
fn shapes_at(path: &[&str]) -> Vec<&'static Schema> {
    path.iter().fold(vec![schema()], |shapes, key| {
        let below = shapes.into_iter().filter_map(|shape: &'static Schema| {
            let named = shape.get("properties").and_then(|all| all.get(key));
            named.or_else(|| shape.get("additionalProperties").filter(|any| any.is_object()))
        });
        below.flat_map(alternatives).collect()
    })
}

/// Whether the language has such a path.
pub(crate) fn has(path: &[&str]) -> bool {
    !shapes_at(path).is_empty()
}

/// The possible keys of the table at a path.
pub(crate) fn keys_below(path: &[&str]) -> Vec<&'static str> {
    properties(&shapes_at(path))
}

/// The required keys of the table at a path.
pub(crate) fn required(path: &[&str]) -> Vec<&'static str> {
    let [shape] = shapes_at(path)[..] else { return Vec::new() };
    let names = shape.get("required").and_then(Schema::as_array);
    names.into_iter().flatten().filter_map(Schema::as_str).collect()
}

/// Whether the value at a path is a choice that includes that word.
pub(crate) fn takes_word(path: &[&str], word: &str) -> bool {
    let is_listed = |shape: &Schema| {
        let listed = shape.get("enum").and_then(Schema::as_array);
        listed.into_iter().flatten().chain(shape.get("const")).any(|is| is == word)
    };
    shapes_at(path).into_iter().any(is_listed)
}

/// The place of a value: its key, and its name for messages.
struct Place {
    span: Span,
    what: String,
}

/// The alternatives of a schema, with references and nullability resolved.
fn alternatives(schema: &'static Schema) -> Vec<&'static Schema> {
    if let Some(reference) = schema.get("$ref").and_then(Schema::as_str) {
        let name = reference.trim_start_matches("#/$defs/");
        return crate::schema::schema()["$defs"].get(name).map(alternatives).unwrap_or_default();
    }
    match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Schema::as_array) {
        Some(several) => several.iter().flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

fn is(schema: &Schema, kind: &str) -> bool {
    match schema.get("type") {
        Some(Schema::String(one)) => one == kind,
        Some(Schema::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn is_scalar(schema: &Schema) -> bool {
    let kinds = ["string", "integer", "number", "boolean"];
    kinds.iter().any(|kind| is(schema, kind))
        || schema.get("const").is_some()
        || schema.get("enum").is_some()
}

fn value(value: &DeValue<'_>, at: &Place, schema: &'static Schema, problems: &mut Problems) {
    let shapes = alternatives(schema);
    let objects: Vec<_> = shapes.iter().copied().filter(|s| is(s, "object")).collect();
    let arrays = shapes.iter().copied().find(|s| is(s, "array"));
    match value {
        DeValue::Table(inner) if !objects.is_empty() => table(inner, at, &objects, problems),
        DeValue::Array(inner) if arrays.is_some() => {
            if let Some(schema) = arrays {
                array(inner, at, schema, problems);
            }
        }
        DeValue::Table(_) => {
            let help = "give one value, such as a quantity in quotes";
            problems.push(&at.span, format!("{} is not a table", at.what), help);
        }
        DeValue::Array(_) => {
            let help = "give one value; several belong in [sweep]";
            problems.push(&at.span, format!("{} is not an array", at.what), help);
        }
        _ if !shapes.iter().any(|s| is_scalar(s)) => {
            let (kind, help) = if objects.is_empty() {
                ("an array", "write the entries in brackets: [\"a\", \"b\"]")
            } else {
                ("a table", "write `{ key = value }`, or use a separate [header]")
            };
            problems.push(&at.span, format!("{} must be {kind}", at.what), help);
        }
        DeValue::String(text) => choice(text, at, &shapes, problems),
        _ => {}
    }
}

/// Checks a choice of words.
fn choice(text: &str, at: &Place, shapes: &[&'static Schema], problems: &mut Problems) {
    let constant = |s: &'static Schema| s.get("const").and_then(Schema::as_str);
    let listed = |s: &'static Schema| s.get("enum").and_then(Schema::as_array);
    let mut words: Vec<&str> = shapes.iter().filter_map(|s| constant(s)).collect();
    words.extend(shapes.iter().filter_map(|s| listed(s)).flatten().filter_map(Schema::as_str));
    if !words.is_empty() && !words.contains(&text) {
        let message = format!("{} has no choice `{text}`", at.what);
        problems.push(&at.span, message, nearest::suggest(text, words));
    }
}

fn array(
    items: &toml::de::DeArray<'_>,
    at: &Place,
    schema: &'static Schema,
    problems: &mut Problems,
) {
    let bound = |key| schema.get(key).and_then(Schema::as_u64);
    let count = items.len() as u64;
    if let (Some(least), Some(most)) = (bound("minItems"), bound("maxItems"))
        && !(least..=most).contains(&count)
    {
        let entries = if count == 1 { "entry" } else { "entries" };
        let message = format!("{} has {count} {entries}", at.what);
        problems.push(&at.span, message, format!("give exactly {least}"));
    }
    let Some(schema) = schema.get("items") else { return };
    for item in items.iter() {
        let at = Place { span: item.span(), what: format!("an entry of {}", at.what) };
        value(item.get_ref(), &at, schema, problems);
    }
}

/// Checks a table against all its possible shapes. Several shapes are a choice by key, such as the discipline of a
/// queue.
fn table(table: &DeTable<'_>, at: &Place, shapes: &[&'static Schema], problems: &mut Problems) {
    for (key, inner) in table.iter() {
        let name: &str = key.get_ref();
        let known = shapes.iter().find_map(|s| s.get("properties")?.get(name));
        let open =
            shapes.iter().find_map(|s| s.get("additionalProperties").filter(|a| a.is_object()));
        let place = |what| Place { span: place_of(key.span(), inner), what };
        match (known, open) {
            (Some(schema), _) => {
                value(inner.get_ref(), &place(format!("`{name}`")), schema, problems);
            }
            (None, Some(schema)) => {
                let at = Place { span: key.span(), what: format!("`{name}`") };
                value(inner.get_ref(), &at, schema, problems);
            }
            (None, None) => unknown(name, &key.span(), at, shapes, problems),
        }
    }
    one_choice(table, at, shapes, problems);
    missing(table, at, shapes, problems);
}

/// A scalar's own place is more precise than its key's.
fn place_of(key: Span, inner: &serde_spanned::Spanned<DeValue<'_>>) -> Span {
    match inner.get_ref() {
        DeValue::Table(_) => key,
        _ => inner.span(),
    }
}

fn properties(shapes: &[&'static Schema]) -> Vec<&'static str> {
    let objects = shapes.iter().filter_map(|s| s.get("properties")?.as_object());
    objects.flat_map(|o| o.keys().map(String::as_str)).collect()
}

fn unknown(
    name: &str,
    span: &Span,
    at: &Place,
    shapes: &[&'static Schema],
    problems: &mut Problems,
) {
    if shapes.iter().any(|s| s.get("additionalProperties") == Some(&Schema::Bool(true))) {
        return;
    }
    let known = properties(shapes);
    let help = of_direction(name, &known).unwrap_or_else(|| nearest::suggest(name, known));
    problems.push(span, format!("{} has no key `{name}`", at.what), help);
}

/// The help for a key such as `rate_up`: where a link has a value for one direction.
pub(crate) fn of_direction(name: &str, known: &[&str]) -> Option<String> {
    const DIRECTIONS: [&str; 12] = [
        "up",
        "down",
        "upload",
        "download",
        "uplink",
        "downlink",
        "upstream",
        "downstream",
        "forward",
        "reverse",
        "out",
        "in",
    ];
    let parts = name.split_once('_')?;
    let (key, _) = [parts, (parts.1, parts.0)]
        .into_iter()
        .find(|(key, way)| known.contains(key) && DIRECTIONS.contains(way))?;
    let help = format!("set one direction at its sending node: `at.NODE.{key}`");
    known.contains(&"at").then_some(help)
}

/// Checks that a table has exactly one of several shapes, each identified by its key.
fn one_choice(
    table: &DeTable<'_>,
    at: &Place,
    shapes: &[&'static Schema],
    problems: &mut Problems,
) {
    if shapes.len() < 2 {
        return;
    }
    let names = properties(shapes);
    let given: Vec<_> = table.iter().filter(|(k, _)| names.contains(&&**k.get_ref())).collect();
    match given.as_slice() {
        [] if table.is_empty() => {
            let help = format!("choose one of {}", nearest::list(&names));
            problems.push(&at.span, format!("{} is empty", at.what), help);
        }
        [(first, _), (second, _), ..] => {
            let message = format!("{} is already `{}`", at.what, first.get_ref());
            problems.push(&second.span(), message, "keep one of them");
        }
        _ => {}
    }
}

fn missing(table: &DeTable<'_>, at: &Place, shapes: &[&'static Schema], problems: &mut Problems) {
    let [schema] = shapes else { return };
    let required = schema.get("required").and_then(Schema::as_array);
    for name in required.into_iter().flatten().filter_map(Schema::as_str) {
        if !table.contains_key(name) {
            let help = help_for(name, schema);
            problems.push(&at.span, format!("{} lacks `{name}`", at.what), help);
        }
    }
}

/// The purpose of a key, from its description.
fn help_for(name: &str, schema: &'static Schema) -> String {
    let property = &schema["properties"][name];
    let description = property.get("description").and_then(Schema::as_str).unwrap_or_default();
    let kinds = alternatives(property);
    let kind = kinds.first().and_then(|k| k.get("description")).and_then(Schema::as_str);
    match kind {
        Some(kind) if kind != description => format!("add `{name} = …`: {description} {kind}"),
        _ => format!("add `{name} = …`: {description}"),
    }
}

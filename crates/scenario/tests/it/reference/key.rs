//! A key of the schema.

use serde_json::Value;

/// The definition that a `$ref` names, with its name; the schema itself if there is no `$ref`.
pub(crate) fn definition(schema: &Value) -> (String, &Value) {
    let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) else {
        return (String::new(), schema);
    };
    (name.to_owned(), &scenario::schema()["$defs"][name])
}

/// The schema of a value without null. A single definition is followed, through arrays too.
pub(crate) fn follow(schema: &Value) -> (String, &Value) {
    let choices = || schema["anyOf"].as_array().into_iter().flatten();
    let one = choices().find(|choice| choice["type"] != "null");
    match one {
        Some(choice) => follow(choice),
        None if schema["items"].is_object() => follow(&schema["items"]),
        None => definition(schema),
    }
}

/// The schema of the values of a table that has names as keys.
pub(crate) fn values(schema: &Value) -> Option<&Value> {
    Some(&schema["additionalProperties"]).filter(|each| each["$ref"].is_string())
}

/// A key: its type and description.
pub(crate) struct Key<'s> {
    /// The type of its value.
    pub(crate) takes: String,
    /// The description.
    pub(crate) doc: String,
    /// The default.
    pub(crate) default: Option<String>,
    /// The schema's definition of the value.
    pub(crate) name: String,
    pub(crate) schema: &'s Value,
}

impl<'s> Key<'s> {
    /// The key of that schema.
    pub(crate) fn new(schema: &'s Value) -> Self {
        let (name, inner) = follow(schema);
        let doc = schema["description"].as_str().or(inner["description"].as_str()).unwrap_or("");
        let (doc, default) = split(&doc.replace('\n', " "));
        Self { takes: takes(schema), doc, default, name, schema: inner }
    }

    /// An example from the schema itself: that of its kind, or the first word of a choice.
    pub(crate) fn example(&self) -> Option<String> {
        let quoted = |text: &str| {
            let (_, rest) = text.split_once('"')?;
            Some(format!("\"{}\"", rest.split_once('"')?.0))
        };
        let unquoted = |text: &str| {
            let word = text.rsplit_once(": ")?.1.split([',', ' ']).next()?.to_owned();
            word.parse::<f64>().is_ok().then_some(word)
        };
        let kind = self.schema["description"].as_str().unwrap_or_default();
        let bound = |end: &str| self.schema[end].as_u64();
        match self.takes.as_str() {
            takes if takes.starts_with("whole number") => {
                let (least, most) = (bound("minimum"), bound("maximum"));
                Some(10.clamp(least.unwrap_or(0), most.unwrap_or(u64::MAX)).to_string())
            }
            "true or false" => Some("true".into()),
            takes if takes.starts_with("`\"") => takes.split('`').nth(1).map(str::to_owned),
            _ => quoted(&self.doc).or_else(|| quoted(kind)).or_else(|| unquoted(kind)),
        }
    }
}

/// Splits off the default in a description: "Delay, one way; 0 unless given."
fn split(doc: &str) -> (String, Option<String>) {
    const UNLESS: &str = " unless given";
    let Some((before, after)) = doc.split_once(UNLESS) else {
        return (doc.to_owned(), None);
    };
    let cut = [before.rfind("; "), before.rfind(". ")].into_iter().flatten().max();
    let Some(cut) = cut else {
        return (doc.to_owned(), None);
    };
    let (doc_before, default) = (&before[..cut], before[cut + 2..].trim_end_matches(','));
    let (note, rest) = match after.split_once(')').filter(|_| after.starts_with(" (")) {
        Some((note, rest)) => (format!("{note})"), rest),
        None => (String::new(), after),
    };
    let default = Some(format!("{}{note}", default.replace("None", "none")));
    match rest.strip_prefix('.') {
        Some(rest) => (format!("{doc_before}.{rest}"), default),
        // The sentence continues after the default, so it stays as it is.
        None => (doc.to_owned(), default),
    }
}

fn takes(schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        let mut kinds: Vec<String> =
            choices.iter().filter(|choice| choice["type"] != "null").map(takes).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let (name, schema) = definition(schema);
    if name == "Queue" {
        return "a discipline of [the catalogue](../catalogue/README.md)".into();
    }
    if let Some(words) = words(schema) {
        return words;
    }
    if schema["items"].is_object() {
        let each = takes(&schema["items"]);
        return if schema["maxItems"] == 2 {
            format!("two of: {each}")
        } else {
            format!("array of: {each}")
        };
    }
    match kind(schema).as_str() {
        "object" if values(schema).is_some() => "tables by name".into(),
        "object" => "table".into(),
        "boolean" => "true or false".into(),
        "integer" => match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            // A 32-bit maximum is not a practical limit.
            (Some(least), Some(most)) if most < u32::MAX.into() => {
                format!("whole number, {least} to {most}")
            }
            (Some(least), _) => format!("whole number, at least {least}"),
            (None, _) => "whole number".into(),
        },
        _ if name.is_empty() => "text".into(),
        _ => format!("[{}](units.md)", spaced(&name)),
    }
}

/// A choice of words.
fn words(schema: &Value) -> Option<String> {
    let listed = schema["enum"].as_array().map(|words| words.iter().collect::<Vec<_>>());
    let each =
        || schema["oneOf"].as_array().map(|all| all.iter().map(|one| &one["const"]).collect());
    let words: Vec<&Value> = listed.or_else(each)?;
    let words: Vec<String> =
        words.iter().filter(|word| word.is_string()).map(|word| format!("`{word}`")).collect();
    Some(words.join(" or "))
}

/// The type, null left out.
fn kind(schema: &Value) -> String {
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().collect(),
        kind => vec![kind],
    };
    let kind = kinds.into_iter().find(|kind| *kind != "null");
    kind.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// "SizeTolerance" as "size tolerance".
pub(crate) fn spaced(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

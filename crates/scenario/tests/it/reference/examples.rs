//! An example for each key: values of scenarios that tests run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::reference::key::{definition, follow, values};

/// The maximum length of an example.
const LONGEST: usize = 60;
/// The folders with scenarios, from the root of the repository.
const FOLDERS: [&str; 10] = [
    "scenarios",
    "scenarios/disciplines",
    "scenarios/impairments",
    "scenarios/topologies",
    "scenarios/workloads",
    "papers/p0",
    "papers/p1",
    "papers/p2",
    "papers/p3",
    "papers/p4",
];

/// Examples for names, because those in scenarios are specific to them.
const NAMES: [(&str, &str); 11] = [
    ("algorithm", "cubic"),
    ("class", "call"),
    ("flow", "bulk"),
    ("from", "sender"),
    ("parent", "office"),
    ("release", "call"),
    ("restore_window", "exchange"),
    ("save_window", "exchange"),
    ("phase", "alltoall"),
    ("to", "receiver"),
    ("at", "r:wan"),
];

/// A value for each key, by the definition of the key.
#[derive(Default)]
pub(crate) struct Examples(BTreeMap<(String, String), String>);

impl Examples {
    /// Collects examples from every scenario of the repository.
    pub(crate) fn collect() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut examples = Self::default();
        for folder in FOLDERS {
            let entries = fs::read_dir(root.join(folder)).expect("a folder of scenarios");
            let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("one").path()).collect();
            files.retain(|file| file.extension().is_some_and(|name| name == "toml"));
            files.sort_unstable();
            for file in files {
                let text = fs::read_to_string(file).expect("a scenario");
                let table: toml::Table = toml::from_str(&text).expect("TOML");
                let Ok(value) = serde_json::to_value(&table) else {
                    continue;
                };
                examples.walk("", scenario::schema(), &value);
            }
        }
        examples
    }

    /// An example of `key` in the definition `within`.
    pub(crate) fn of(&self, within: &str, key: &str) -> Option<String> {
        let named = || NAMES.iter().find(|(name, _)| *name == key);
        let used = self.0.get(&(within.to_owned(), key.to_owned())).cloned();
        used.or_else(|| named().map(|(_, value)| format!("\"{value}\"")))
    }

    fn walk(&mut self, within: &str, schema: &Value, value: &Value) {
        let (Some(keys), Some(table)) = (schema["properties"].as_object(), value.as_object())
        else {
            return;
        };
        for (key, value) in table {
            let Some(child) = keys.get(key) else {
                continue;
            };
            let (name, child) = follow(child);
            if let Some(text) = written(value).filter(|text| text.len() <= LONGEST) {
                self.0.entry((within.to_owned(), key.clone())).or_insert(text);
            }
            for element in value.as_array().into_iter().flatten() {
                self.walk(&name, child, element);
            }
            self.walk(&name, child, value);
            let Some(each) = values(child) else {
                continue;
            };
            let (name, each) = definition(each);
            value.as_object().into_iter().flatten().for_each(|(_, value)| {
                self.walk(&name, each, value);
            });
        }
    }
}

/// The value as TOML; `None` for a table.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Array(elements) => {
            let elements: Option<Vec<String>> = elements.iter().map(written).collect();
            Some(format!("[{}]", elements?.join(", ")))
        }
        Value::Object(_) | Value::Null => None,
        value => Some(value.to_string()),
    }
}

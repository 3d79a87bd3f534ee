//! Where a scenario says something.

use std::fmt;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::Document;
use crate::aliases;
use crate::diagnostic::Problems;

/// The place of a key in a scenario or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the file or of the command-line option.
    pub name: String,
    /// The line of the key in the file, from 1.
    pub line: usize,
    /// The path of the key, with dots.
    pub path: String,
}

impl fmt::Display for Place {
    /// `file:line: path`, or `--set: path`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, line, path } = self;
        match name.starts_with("--") {
            true => write!(f, "{name}: {path}"),
            false => write!(f, "{name}:{line}: {path}"),
        }
    }
}

impl Document {
    /// The place of the key at `path`, such as `["flow", "bulk", "congestion"]`; `None` if neither the file nor the
    /// command line has it.
    pub fn place(&self, path: &[&str]) -> Option<Place> {
        let table = self.spelled_out();
        let mut found = Vec::new();
        self.find(table.get_ref(), path, None, &mut Vec::new(), &mut found);
        found.pop()
    }

    /// The places of the keys that match one of the patterns. A pattern is a path with dots, and `*` for any key:
    /// `host.*.processor`; after `=`, the beginning of the value: `flow.*.congestion=kernel:`.
    pub fn places(&self, patterns: &[impl AsRef<str>]) -> Vec<Place> {
        let table = self.spelled_out();
        let mut found = Vec::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let (path, value) = match pattern.split_once('=') {
                Some((path, value)) => (path, Some(value)),
                None => (pattern, None),
            };
            let path: Vec<&str> = path.split('.').collect();
            self.find(table.get_ref(), &path, value, &mut Vec::new(), &mut found);
        }
        found
    }

    /// The tables of the file with the changes of the command line, without abbreviations.
    fn spelled_out(&self) -> Spanned<DeTable<'_>> {
        let (mut table, _) = DeTable::parse_recoverable(self.source.slice(&(0..self.length)));
        aliases::spell_out(table.get_mut());
        // [`Self::plan`] reports the problems.
        let mut problems = Problems::default();
        self.overrides.iter().for_each(|change| self.apply(change, &mut table, &mut problems));
        aliases::spell_out(table.get_mut());
        table
    }

    /// Adds the places of the keys below `table` that match `path`, and whose value begins with `value`, if given.
    fn find<'t>(
        &self,
        table: &'t DeTable<'_>,
        path: &[&str],
        value: Option<&str>,
        above: &mut Vec<&'t str>,
        found: &mut Vec<Place>,
    ) {
        let Some((first, rest)) = path.split_first() else { return };
        for (key, inner) in
            table.iter().filter(|(key, _)| matches!(*first, "*") || key.get_ref() == first)
        {
            above.push(key.get_ref());
            match (inner.get_ref(), rest) {
                (inner, []) if value.is_none_or(|value| begins_with(inner, value)) => {
                    let (name, line) = self.source.line(&key.span());
                    found.push(Place { name, line, path: above.join(".") });
                }
                (DeValue::Table(inner), [_, ..]) => self.find(inner, rest, value, above, found),
                _ => {}
            }
            above.pop();
        }
    }
}

/// Whether a value is text that begins with `text`.
fn begins_with(value: &DeValue<'_>, text: &str) -> bool {
    matches!(value, DeValue::String(found) if found.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_match_patterns_in_the_file_and_on_the_command_line() {
        let text = "[host.a]\nprogram = \"true\"\n[host.b]\nkernel = \"linux-6.12\"\n\n[flow.one]\n\
                    congestion = \"kernel:bbr\"\n[flow.two]\ncongestion = \"cubic\"\n";
        let mut document = Document::parse("my.toml", text).expect("tables");
        let places = |document: &Document, patterns: &[&str]| -> Vec<String> {
            document.places(patterns).iter().map(ToString::to_string).collect()
        };
        assert_eq!(places(&document, &["host.*.program"]), ["my.toml:2: host.a.program"]);
        assert_eq!(places(&document, &["host.*"]), ["my.toml:1: host.a", "my.toml:3: host.b"]);
        let kernels = places(&document, &["flow.*.congestion=kernel:"]);
        assert_eq!(kernels, ["my.toml:7: flow.one.congestion"]);
        document.set("host.b.program=false").expect("a setting");
        assert_eq!(places(&document, &["host.b.program"]), ["--set: host.b.program"]);
        assert_eq!(places(&document, &["router", "flow.*.mpi"]), [""; 0]);
    }
}

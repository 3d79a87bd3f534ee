//! Files that a scenario's values name: `bytes = "cdf file:sizes.txt"` stands for `cdf` and the file's lines, and
//! `machine = "file:server.toml"` for the whole file.
//!
//! Who reads the scenario reads them, so that nothing here touches a file; a lock file holds what was in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use network::mpi::program::Recorded;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Span};

/// What is known of the files, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) texts: BTreeMap<String, Arc<str>>,
    pub(crate) traces: BTreeMap<String, Arc<Recorded>>,
}

/// The kind of value that is a trace of an MPI program: its file is no text, and stays one.
pub(crate) const TRACE: &str = "mpi";

/// The kind of value that is a table of netem's, which its mean and standard deviation follow.
pub(crate) const TABLE: &str = "distribution";

/// What a value begins with that names a file of a format of its own. Once the file was read, its text follows the name,
/// from the next line on.
pub(crate) const FILE: &str = "file:";

/// The kind of value and the file's name, if that is what a text is: `cdf` and `sizes.txt`, `distribution 10 ms 2 ms` and
/// `pareto.dist`; no kind for `file:server.toml`.
pub(crate) fn named(text: &str) -> Option<(&str, &str)> {
    if let Some(name) = text.trim().strip_prefix(FILE) {
        return (!name.contains('\n')).then_some(("", name.trim()));
    }
    let (kind, name) = text.trim().split_once(" file:").filter(|(_, name)| !name.contains('\n'))?;
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
    // A table says nothing of its mean and deviation: these stand before its name.
    let is_kind = is_word(kind) || kind.split(' ').next() == Some(TABLE);
    is_kind.then_some((kind, name.trim()))
}

/// Notes the files that are named anywhere in a table, each with the kind of value that it is.
pub(crate) fn note(table: &DeTable<'_>, names: &mut BTreeSet<(String, String)>) {
    for value in table.values() {
        note_value(value.get_ref(), names);
    }
}

/// The same of a value.
pub(crate) fn note_value(value: &DeValue<'_>, names: &mut BTreeSet<(String, String)>) {
    match value {
        DeValue::String(text) => {
            names.extend(named(text).map(|(kind, name)| (kind.to_owned(), name.to_owned())));
        }
        DeValue::Table(table) => note(table, names),
        DeValue::Array(items) => items.iter().for_each(|item| note_value(item.get_ref(), names)),
        _ => {}
    }
}

/// Puts what is in the files in the place of their names.
pub(crate) fn spell_out(table: &mut DeTable<'_>, files: &Files, problems: &mut Problems) {
    for (_, value) in table.iter_mut() {
        spell_out_value(value, files, problems);
    }
}

fn spell_out_value(value: &mut Spanned<DeValue<'_>>, files: &Files, problems: &mut Problems) {
    let span = value.span();
    match value.get_mut() {
        DeValue::String(text) => {
            if let Some(spelled_out) = contents(text, &span, files, problems) {
                *text = spelled_out.into();
            }
        }
        DeValue::Table(table) => spell_out(table, files, problems),
        DeValue::Array(items) => {
            items.iter_mut().for_each(|item| spell_out_value(item, files, problems));
        }
        _ => {}
    }
}

/// The kind of value, the file's name, and its text from the next line on.
fn contents(text: &str, span: &Span, files: &Files, problems: &mut Problems) -> Option<String> {
    let (kind, name) = named(text)?;
    if kind == TRACE {
        return None;
    }
    let Some(file) = files.texts.get(name) else {
        let help = "load the scenario from its own file, or write the contents in place of the file name: \"cdf \
                    1 kB 50 %, 1 MB 100 %\"";
        problems.push(
            span,
            format!("cannot load the file `{name}`: its contents were not provided"),
            help,
        );
        return None;
    };
    if kind.is_empty() {
        return Some(format!("{FILE}{name}\n{file}"));
    }
    Some(format!("{kind} {FILE}{name}\n{file}"))
}

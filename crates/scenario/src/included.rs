//! Files named in a scenario's values: `bytes = "cdf file:sizes.txt"` means `cdf` with the lines of the file, and
//! `machine = "file:server.toml"` the whole file.
//!
//! The caller reads the files, so that nothing here does I/O. A lock file contains their contents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use applications::mpi::program::Recorded;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Span};

/// The known files, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) texts: BTreeMap<String, Arc<str>>,
    pub(crate) traces: BTreeMap<String, Arc<Recorded>>,
}

/// The kind of value that is a trace of an MPI program. Its file is not text and is not inserted.
pub(crate) const TRACE: &str = "mpi";

/// The kind of value that is a netem table; mean and standard deviation follow.
pub(crate) const TABLE: &str = "distribution";

/// The prefix of a value that names a file with a format of its own. After reading, the file's text follows its name,
/// from the next line on.
pub(crate) const FILE: &str = "file:";

/// The kind of value and the file's name in a text: `cdf` and `sizes.txt`, `distribution 10 ms 2 ms` and
/// `pareto.dist`; the kind is empty for `file:server.toml`.
pub(crate) fn named(text: &str) -> Option<(&str, &str)> {
    if let Some(name) = text.trim().strip_prefix(FILE) {
        return (!name.contains('\n')).then_some(("", name.trim()));
    }
    let (kind, name) = text.trim().split_once(" file:").filter(|(_, name)| !name.contains('\n'))?;
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
    // A netem table does not contain its mean and deviation; they precede its name.
    let is_kind = is_word(kind) || kind.split(' ').next() == Some(TABLE);
    is_kind.then_some((kind, name.trim()))
}

/// Collects the files named anywhere in a table, each with its kind of value.
pub(crate) fn note(table: &DeTable<'_>, names: &mut BTreeSet<(String, String)>) {
    for value in table.values() {
        note_value(value.get_ref(), names);
    }
}

/// Collects the files named in a value.
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

/// Inserts the contents of the files behind their names.
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

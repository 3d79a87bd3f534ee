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
        let (mut table, _) = DeTable::parse_recoverable(self.source.slice(&(0..self.length)));
        aliases::spell_out(table.get_mut());
        // [`Self::plan`] reports the problems.
        let mut problems = Problems::default();
        self.overrides.iter().for_each(|change| self.apply(change, &mut table, &mut problems));
        aliases::spell_out(table.get_mut());
        let (last, parents) = path.split_last()?;
        let mut inner = table.get_ref();
        for key in parents {
            match inner.get(*key).map(Spanned::get_ref) {
                Some(DeValue::Table(next)) => inner = next,
                _ => return None,
            }
        }
        let (key, _) = inner.get_key_value(*last)?;
        let (name, line) = self.source.line(&key.span());
        Some(Place { name, line, path: path.join(".") })
    }
}

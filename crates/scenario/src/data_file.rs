//! Files of numbers from other programs, named in a value: `cdf file:sizes.txt`.
//!
//! A byte order mark, blank lines, comments after `#`, and titles above the first number are skipped. Columns are
//! separated by commas, semicolons or tabs, and by blanks in lines without any of these. Errors contain the file's
//! name and the line.

use crate::included::FILE;
use crate::quantity::Error;

/// A file's name and text.
#[derive(Clone, Copy)]
pub(crate) struct DataFile<'t> {
    name: &'t str,
    text: &'t str,
}

/// A non-empty line.
#[derive(Clone, Copy)]
pub(crate) struct Line<'t> {
    /// Its number, from 1.
    pub(crate) number: usize,
    pub(crate) text: &'t str,
}

impl<'t> DataFile<'t> {
    /// The file in a value after its contents were inserted, behind the kind of value.
    pub(crate) fn of(value: &'t str) -> Option<Self> {
        let file = value.trim_start().strip_prefix(FILE)?;
        let (name, text) = file.split_once('\n').unwrap_or((file, ""));
        Some(Self { name, text: text.strip_prefix('\u{feff}').unwrap_or(text) })
    }

    /// Its name.
    pub(crate) fn name(self) -> &'t str {
        self.name
    }

    /// Its lines from the first one that starts with a number.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'t>> {
        let lines = (1..).zip(self.text.lines()).map(|(number, line)| {
            let text = line.split('#').next().unwrap_or(line).trim();
            Line { number, text }
        });
        let lines = lines.filter(|line| !line.text.is_empty());
        lines.skip_while(|line| {
            !line.text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        })
    }

    /// An error in that line.
    pub(crate) fn error(self, line: usize, error: Error) -> Error {
        let message = format!("`{}`, line {line}: {}", self.name, error.message);
        Error::new(message, error.help)
    }
}

impl<'t> Line<'t> {
    /// Whether separators other than blanks are between its columns.
    pub(crate) fn is_separated(self) -> bool {
        self.text.contains(SEPARATORS)
    }

    /// Its columns; an empty one at the end is ignored.
    pub(crate) fn columns(self) -> Vec<&'t str> {
        if !self.is_separated() {
            return self.text.split_whitespace().collect();
        }
        let text = self.text.trim_end_matches(|c: char| SEPARATORS.contains(&c) || c == ' ');
        text.split(SEPARATORS).map(str::trim).collect()
    }
}

const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// A number in the notation of programs: `1000`, `.5`, `1e3`.
pub(crate) fn number(text: &str) -> Option<f64> {
    let starts = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    text.parse().ok().filter(|number: &f64| starts && number.is_finite())
}

/// The start of a text, for a message.
pub(crate) fn shortened(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

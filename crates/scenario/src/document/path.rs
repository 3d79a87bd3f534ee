//! Paths of keys and texts of values, as on the command line and in `[sweep]`.

use std::ops::Range;

use toml::de::DeValue;

use crate::aliases;
use crate::diagnostic::{Source, Span};

/// The maximum number of keys in a path, twice the depth of any table; it bounds recursion.
const KEYS_MAX: usize = 32;
/// The maximum number of runs in a sweep.
pub(crate) const RUNS_MAX: usize = 100_000;

/// A path with its values in a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) path: Vec<Segment>,
    pub(crate) values: Vec<Fragment>,
}

/// One key of a path, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) key: String,
    pub(crate) span: Span,
}

/// A value's text and place. A `bare` one is a string without quotes, as typed in a shell.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) span: Span,
    pub(crate) bare: bool,
}

impl Fragment {
    /// A generated value, part of `name`: a point of a range.
    pub(crate) fn written(name: &str, text: &str, source: &mut Source) -> Self {
        let start = source.append(name, text);
        fragment(text, 0..text.len(), start)
    }
}

/// The keys of the path in `path=value`, as [`Document::set`] reads it; `None` if it is unreadable.
pub fn assigned_path(assignment: &str) -> Option<Vec<String>> {
    let (path, _) = assignment.split_once('=')?;
    let mut path = segments(path, 0).ok()?;
    spell_out(&mut path);
    Some(path.into_iter().map(|segment| segment.key).collect())
}

pub(crate) fn keys(path: &[Segment]) -> Vec<&str> {
    path.iter().map(|segment| segment.key.as_str()).collect()
}

/// Expands aliases on the command line: `flow.bulk.cc` to `flow.bulk.congestion`, and those of disciplines.
pub(crate) fn spell_out(path: &mut [Segment]) {
    for index in 1..path.len() {
        if path[index - 1].key == "queue"
            && let Some(name) = aliases::discipline(&path[index].key)
        {
            path[index].key = name.into();
        }
    }
    if let [table, _, setting] = path
        && table.key == "flow"
        && setting.key == "cc"
    {
        setting.key = "congestion".into();
    }
}

/// Refuses paths that cannot vary: names of runs, and the sweep itself.
pub(crate) fn settable(path: &[Segment]) -> Result<(), (String, &'static str)> {
    match path[0].key.as_str() {
        table @ ("sweep" | "title") => {
            let help = "name a setting, such as emulator.gnet.buffer, flow.bulk.congestion or seed";
            Err((format!("`{table}` cannot be set or swept"), help))
        }
        _ => Ok(()),
    }
}

/// The keys of a dotted path; a key with a dot is in quotes.
pub(crate) fn segments(text: &str, start: usize) -> Result<Vec<Segment>, (String, &'static str)> {
    const HELP: &str = "separate keys by dots: emulator.gnet.buffer, host.\"s.1\".profile";
    let mut path = Vec::new();
    let mut rest = text.trim();
    let mut at = start + text.len() - text.trim_start().len();
    loop {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let (key, length) = match quoted {
            Some((key, _)) => (key, key.len() + 2),
            None => rest.split_once('.').map_or((rest, rest.len()), |(key, _)| (key, key.len())),
        };
        if key.trim().is_empty() {
            return Err((format!("invalid path `{text}`"), HELP));
        }
        if path.len() == KEYS_MAX {
            return Err((format!("a path of more than {KEYS_MAX} keys"), HELP));
        }
        path.push(Segment { key: key.trim().to_owned(), span: at..at + length });
        rest = &rest[length..];
        match rest.strip_prefix('.') {
            Some(after) => (rest, at) = (after, at + length + 1),
            None if rest.is_empty() => return Ok(path),
            None => return Err((format!("invalid path `{text}`"), HELP)),
        }
    }
}

/// The value at `piece` of `values`, which start at `offset` in the source.
pub(super) fn fragment(values: &str, piece: Range<usize>, offset: usize) -> Fragment {
    let text = &values[piece.clone()];
    let trimmed = text.trim();
    let start = offset + piece.start + (text.len() - text.trim_start().len());
    let bare = DeValue::parse(trimmed).is_err() || trimmed.contains('\n');
    Fragment { span: start..start + trimmed.len(), bare }
}

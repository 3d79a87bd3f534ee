//! The sweep of a scenario's `[sweep]`: paths with their values.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Source};
use crate::document::path::{Axis, Fragment, Segment, keys, segments, settable, spell_out};
use crate::range;

const HELP: &str = "give an array of values, [\"1 ms\", \"10 ms\"], or a range, \"1 ms..10 ms/4\"";

/// Reads the axes in file order: `"link.wan.delay" = [...]`, with or without the quotes.
pub(crate) fn read(
    document: &DeTable<'_>,
    source: &mut Source,
    problems: &mut Problems,
) -> Vec<Axis> {
    let mut reader = Reader { source, problems, axes: Vec::new() };
    match document.get("sweep").map(|sweep| (sweep.span(), sweep.get_ref())) {
        Some((_, DeValue::Table(sweep))) => reader.table(sweep, &[]),
        Some((span, _)) => reader.problems.push(&span, "`sweep` must be a table", "write [sweep]"),
        None => {}
    }
    reader.axes
}

struct Reader<'r> {
    /// The source, which receives the points of ranges.
    source: &'r mut Source,
    problems: &'r mut Problems,
    axes: Vec<Axis>,
}

impl Reader<'_> {
    /// Reads everything below the keys `above`.
    fn table(&mut self, table: &DeTable<'_>, above: &[Segment]) {
        for (key, value) in table.iter() {
            let mut path = above.to_vec();
            match segments(key.get_ref(), 0) {
                Ok(keys) => {
                    path.extend(keys.into_iter().map(|s| Segment { span: key.span(), ..s }))
                }
                Err((message, help)) => {
                    self.problems.push(&key.span(), message, help);
                    continue;
                }
            }
            if let DeValue::Table(inner) = value.get_ref() {
                self.table(inner, &path);
            } else if let Err((message, help)) = settable(&path) {
                self.problems.push(&key.span(), message, help);
            } else {
                spell_out(&mut path);
                self.axis(path, value);
            }
        }
    }

    fn axis(&mut self, path: Vec<Segment>, value: &Spanned<DeValue<'_>>) {
        let items: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            DeValue::String(text) if range::points(text) != Ok(None) => vec![value],
            _ => Vec::new(),
        };
        if items.is_empty() {
            let message = format!("`{}` has no values", keys(&path).join("."));
            return self.problems.push(&value.span(), message, HELP);
        }
        let values = items.into_iter().flat_map(|item| self.values(item)).collect();
        self.axes.push(Axis { path, values });
    }

    /// The points of a range, or the value itself.
    fn values(&mut self, item: &Spanned<DeValue<'_>>) -> Vec<Fragment> {
        if let DeValue::String(text) = item.get_ref() {
            match range::points(text) {
                Ok(None) => {}
                Ok(Some(points)) => {
                    let points = points.iter();
                    return points.map(|p| Fragment::written("sweep", p, self.source)).collect();
                }
                Err(error) => self.problems.push(&item.span(), error.message, &error.help),
            }
        }
        vec![Fragment { span: item.span(), bare: false }]
    }
}

//! Errors of a scenario, each with its place and a remedy.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use base::Diagnostic;
use base::Fault;

/// A byte range of the [`Source`]'s text.
pub(crate) type Span = Range<usize>;

/// The maximum number of reported problems. Further ones mostly follow from the first.
const DIAGNOSTICS_MAX: usize = 20;

/// The errors of a text that is not a scenario, in the order of the text; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Diagnostic>);

impl Errors {
    /// The problems; at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl From<Errors> for Fault {
    fn from(errors: Errors) -> Self {
        Self { message: errors.to_string(), diagnostics: errors.0, ..Self::usage("", "") }
    }
}

/// The file's text, followed by the text of every override: one address space for spans. All runs of a sweep share
/// it, because it has a part for each point of a range.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    parts: Arc<Vec<Part>>,
}

#[derive(Clone, Debug)]
struct Part {
    name: String,
    text: Arc<str>,
    start: usize,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let part = Part { name: name.to_owned(), text: text.into(), start: 0 };
        Self { parts: Arc::new(vec![part]) }
    }

    /// Adds the text of an override and returns the offset of its first byte.
    pub(crate) fn append(&mut self, name: &str, text: &str) -> usize {
        // One byte between parts, so that a span at a part's end stays within that part.
        let start = self.parts.last().map_or(0, |p| p.start + p.text.len() + 1);
        let part = Part { name: name.to_owned(), text: text.into(), start };
        Arc::make_mut(&mut self.parts).push(part);
        start
    }

    fn part(&self, at: usize) -> &Part {
        let after = self.parts.partition_point(|p| p.start <= at);
        &self.parts[after.saturating_sub(1)]
    }

    /// The text at a span within one part.
    pub(crate) fn slice(&self, span: &Span) -> &str {
        let part = self.part(span.start);
        part.text.get(span.start - part.start..span.end - part.start).unwrap_or_default()
    }

    /// The name of the part with the span, and the line of its start, from 1.
    pub(crate) fn line(&self, span: &Span) -> (String, usize) {
        let place = Problem { span: span.clone(), message: String::new(), help: String::new() };
        let Diagnostic { name, line, .. } = self.diagnose(place);
        (name, line)
    }

    fn diagnose(&self, problem: Problem) -> Diagnostic {
        let part = self.part(problem.span.start);
        let clamp = |at: usize| {
            let at = at.saturating_sub(part.start).min(part.text.len());
            (0..=at).rev().find(|&i| part.text.is_char_boundary(i)).unwrap_or(0)
        };
        let span = clamp(problem.span.start)..clamp(problem.span.end);
        let before = &part.text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Diagnostic {
            message: problem.message,
            help: problem.help,
            name: part.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            text: part.text.clone(),
            span,
        }
    }
}

#[derive(Clone, Debug)]
struct Problem {
    span: Span,
    message: String,
    help: String,
}

/// A message without its middle, if it quotes a very long text.
fn shortened(text: String) -> String {
    const LENGTH_MAX: usize = 1_000;
    const KEPT: usize = 120;
    if text.len() <= LENGTH_MAX {
        return text;
    }
    let cut = |at: usize| (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    format!("{} … {}", &text[..cut(KEPT)], &text[cut(text.len() - KEPT)..])
}

/// Problems found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem: its place, its message and the remedy.
    pub(crate) fn push(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (shortened(message.into()), shortened(help.into()));
        self.0.push(Problem { span: span.clone(), message, help });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` if there are no problems.
    pub(crate) fn into_result(mut self, source: &Source) -> Result<(), Errors> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0.sort_by_key(|p| p.span.start);
        self.0.dedup_by(|a, b| a.span == b.span && a.message == b.message);
        let found = self.0.into_iter().take(DIAGNOSTICS_MAX);
        Err(Errors(found.map(|p| source.diagnose(p)).collect()))
    }
}

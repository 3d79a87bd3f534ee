//! A scenario's lines as an error message shows them: very long lines are cut around the error.

use std::ops::Range;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A scenario's text; long lines are shown in part.
#[derive(Debug)]
pub(crate) struct Excerpt {
    name: String,
    text: String,
}

impl Excerpt {
    /// Creates the excerpt of a file.
    pub(crate) const fn new(name: String, text: String) -> Self {
        Self { name, text }
    }

    /// Longer lines are cut around the error.
    const LINE_MAX: usize = 400;
    /// Characters kept on either side of the error.
    const SIDE: usize = 60;

    /// The nearest character boundary at or before `at`.
    fn place(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        (0..=at).rev().find(|&i| self.text.is_char_boundary(i)).unwrap_or(0)
    }

    /// The line that contains the position.
    fn line(&self, at: usize) -> Range<usize> {
        let from = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        from..self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline)
    }

    /// The part of the error that is shown.
    pub(crate) fn shown(&self, span: &Range<usize>) -> Range<usize> {
        let line = self.line(self.place(span.start));
        match line.len() > Self::LINE_MAX {
            true => span.start..self.place(span.end.min(span.start + Self::SIDE)).max(span.start),
            false => span.clone(),
        }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = self.text.read_span(span, before, after)?;
        let longest = whole.data().split(|&byte| byte == b'\n').map(<[u8]>::len).max();
        let (data, shown, line, column) = match longest {
            Some(longest) if longest > Self::LINE_MAX => {
                let at = self.place(span.offset());
                let line = self.line(at);
                let from = self.place(at.saturating_sub(Self::SIDE)).max(line.start);
                let to = self.place(span.offset() + span.len() + Self::SIDE).min(line.end).max(at);
                let number = self.text[..line.start].matches('\n').count();
                (&self.text.as_bytes()[from..to], from..to, number, from - line.start)
            }
            _ => {
                let shown = whole.span();
                let shown = shown.offset()..shown.offset() + shown.len();
                (whole.data(), shown, whole.line(), whole.column())
            }
        };
        let lines = data.split(|&byte| byte == b'\n').count();
        let (name, span) = (self.name.clone(), SourceSpan::from(shown));
        Ok(Box::new(MietteSpanContents::new_named(name, data, span, line, column, lines)))
    }
}

//! Why a subcommand failed, and how that is reported.

use std::{fmt, io};

use base::{Diagnostic, ErrorKind};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde_json::{Value, json};

use crate::excerpt::Excerpt;
use crate::exit::Exit;
use crate::{output, sanitise};

pub(crate) use base::Fault as Failure;
pub(crate) use record::error::{file, folder, unwritten};

/// Prints it on stdout as a JSON document in the format of `suimon check --json`.
pub(crate) fn print_json(failure: &Failure) -> Result<Exit, Failure> {
    let errors = match failure.diagnostics.as_slice() {
        [] => vec![json!({ "message": failure.message, "help": failure.help })],
        problems => problems.iter().map(problem).collect(),
    };
    output::print_json(&json!({ "ok": false, "errors": errors }))?;
    Ok(exit(failure))
}

/// Prints it on stderr.
pub(crate) fn report(failure: &Failure) -> Exit {
    if !failure.diagnostics.is_empty() {
        output::picture(&pictures(&failure.diagnostics));
        return exit(failure);
    }
    let more = "\n  `suimon doctor` shows what this machine supports";
    output::note(&format!("error: {failure}{}", if failure.by_doctor { more } else { "" }));
    exit(failure)
}

const fn exit(failure: &Failure) -> Exit {
    match failure.kind {
        ErrorKind::Usage => Exit::Usage,
        ErrorKind::Lacking => Exit::Lacking,
    }
}

/// A problem of a scenario, with its location.
pub(crate) fn problem(diagnostic: &Diagnostic) -> Value {
    json!({
        "file": diagnostic.name,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}

/// Every problem with the source lines that it refers to.
fn pictures(problems: &[Diagnostic]) -> String {
    let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut text = String::new();
    for diagnostic in problems {
        // Writing to a string does not fail.
        let _ = handler.render_report(&mut text, &Picture::new(diagnostic));
    }
    text
}

/// A problem as miette wants it.
#[derive(Debug)]
struct Picture {
    message: String,
    help: String,
    span: std::ops::Range<usize>,
    source: Excerpt,
}

impl Picture {
    fn new(problem: &Diagnostic) -> Self {
        let [name, message, help] = [&problem.name, &problem.message, &problem.help]
            .map(|text| sanitise::text(text).into_owned());
        let source = Excerpt::new(name, sanitise::source(&problem.text).into_owned());
        Self { message, help, span: problem.span.clone(), source }
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Picture {}

impl miette::Diagnostic for Picture {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(None, self.source.shown(&self.span));
        Some(Box::new(std::iter::once(label)))
    }
}

//! Why a subcommand failed, and how that is reported.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use experiment::{Error, ErrorKind};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde_json::{Value, json};

use crate::excerpt::Excerpt;
use crate::exit::Exit;
use crate::{output, sanitise};

/// Why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The experiment could not be done.
    #[error(transparent)]
    Experiment(#[from] Error),
    /// A discipline refused its parameters.
    #[error(transparent)]
    Discipline(#[from] traffic::qdisc::Error),
    /// A file or stream cannot be written.
    #[error("{}: {source}\n  help: {}", path.display(), room(source))]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Errors of other crates become errors of the experiment.
macro_rules! experiment_error {
    ($($from:ty),*) => {
        $(impl From<$from> for Failure {
            fn from(error: $from) -> Self {
                Self::Experiment(error.into())
            }
        })*
    };
}

impl From<::cost::Error> for Failure {
    fn from(error: ::cost::Error) -> Self {
        match error {
            ::cost::Error::Load { message, help } => Self::usage(message, help),
            ::cost::Error::Discipline(error) => error.into(),
            ::cost::Error::Scenario(errors) => errors.into(),
        }
    }
}

experiment_error!(scenario::Errors, record::Error, guest::Error, simulate::Refusal, lab::Error);

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Experiment(Error::usage(message, help))
    }

    /// The machine lacks something.
    pub(crate) fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Experiment(Error::lacking(message, help))
    }

    /// A file could not be read.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Experiment(Error::file(path)(source))
    }

    /// A file could not be written.
    pub(crate) fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Unwritten { path: path.to_owned(), source }
    }

    /// A folder could not be read or made.
    pub(crate) fn folder(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Experiment(Error::folder(path)(source))
    }

    /// Prints it on stdout as a JSON document in the format of `suimon check --json`.
    pub(crate) fn print_json(&self) -> Result<Exit, Self> {
        let errors = match self {
            Self::Experiment(Error::Scenario(errors)) => {
                errors.diagnostics().iter().map(problem).collect()
            }
            other => {
                let (message, help) = other.parts();
                vec![json!({ "message": message, "help": help })]
            }
        };
        output::print_json(&json!({ "ok": false, "errors": errors }))?;
        Ok(self.exit())
    }

    /// The message and the help.
    fn parts(&self) -> (String, String) {
        match self {
            Self::Experiment(Error::Lacking { message, help } | Error::Usage { message, help }) => {
                (message.clone(), help.clone())
            }
            other => {
                // The last line of help is our own; the message may contain others.
                let text = other.to_string();
                let (message, help) = text.rsplit_once("\n  help: ").unwrap_or((&text, ""));
                (message.to_owned(), help.to_owned())
            }
        }
    }

    const fn exit(&self) -> Exit {
        match self {
            Self::Experiment(error) => match error.kind() {
                ErrorKind::Usage => Exit::Usage,
                ErrorKind::Lacking => Exit::Lacking,
            },
            Self::Discipline(_) => Exit::Usage,
            Self::Unwritten { .. } => Exit::Lacking,
        }
    }

    /// Prints it on stderr.
    pub(crate) fn report(&self) -> Exit {
        match self {
            Self::Experiment(Error::Scenario(errors)) => output::picture(&pictures(errors)),
            Self::Experiment(Error::Lab(_)) if self.exit() == Exit::Lacking => {
                output::note(&format!(
                    "error: {self}\n  `suimon doctor` shows what this machine supports"
                ));
            }
            other => output::note(&format!("error: {other}")),
        }
        self.exit()
    }
}

/// A problem of a scenario, with its location.
pub(crate) fn problem(diagnostic: &scenario::Diagnostic) -> Value {
    json!({
        "file": diagnostic.name,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}

/// What to do about a file that cannot be written.
fn room(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room there",
        _ => "name a file in a writable folder",
    }
}

/// Every problem with the source lines that it refers to.
fn pictures(errors: &scenario::Errors) -> String {
    let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut text = String::new();
    for diagnostic in errors.diagnostics() {
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
    fn new(problem: &scenario::Diagnostic) -> Self {
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
